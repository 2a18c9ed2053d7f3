"""The area Watch: events and artifacts as they come, a cut connection, questions, and outputs of
any size.
"""

from __future__ import annotations

import re
from pathlib import Path

from browser.explorer import Explorer
from browser.servers import Agency
from browser.show_agent import CALENDAR
from playwright.sync_api import expect

MOVE = (
    "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', "
    "{bubbles: true})); }"
)


def plan_trip(explorer: Explorer) -> None:
    """Plan a trip, and wait for its end."""
    form = explorer.choose_skill("Plan a trip")
    form.get_by_label("Destination").fill("Lisbon")
    form.get_by_role("textbox", name="Name", exact=True).fill("Ada")
    explorer.submit()
    explorer.expect_state("Completed")


def test_artifacts_are_rendered(explorer: Explorer, agency: Agency) -> None:
    """Markdown is formatted, JSON is a tree, an image is shown, a file is downloaded as it is; each
    event has its time and cursor.
    """
    explorer.open(agency.page)
    plan_trip(explorer)
    watch = explorer.watch
    expect(watch.get_by_role("cell", name="Fado in a small house")).to_be_visible()
    expect(watch.get_by_role("link", name="Lisboa Card")).to_have_attribute(
        "href", "https://www.visitlisboa.com/"
    )
    expect(watch.locator(".json-key", has_text="stops").first).to_be_visible()
    picture = watch.get_by_role("img", name="Image lisbon.png")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 240
    with explorer.page.expect_download() as download:
        watch.locator(".file", has_text="trip.ics").get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "trip.ics"
    assert Path(download.value.path()).read_bytes() == CALENDAR.encode()
    expect(watch.locator(".event", has_text="Planning day 2")).to_contain_text("63 %")
    expect(watch.locator(".times")).to_contain_text("First event")
    assert (
        watch.locator(".event-cursor").all_inner_texts()
        == [f"#{number}" for number in range(1, 13)][-watch.locator(".event").count() :]
    )


def test_nothing_is_lost_when_the_connection_is_cut(explorer: Explorer, agency: Agency) -> None:
    """The button cuts the stream while the agent works; a resume gets every event after the cursor,
    each once.
    """
    explorer.open(agency.page)
    watch = explorer.send("Relay", "you")
    expect(watch.locator(".event", has_text="leg 3")).to_be_visible()
    watch.get_by_role("button", name="Cut the connection").click()
    expect(watch.get_by_text("The connection is cut after event #5")).to_be_visible()
    agency.relay.release()
    watch.get_by_role("button", name="Resume").click()
    explorer.expect_state("Completed")
    expect(watch.locator(".artifact")).to_contain_text("leg 6")
    cursors = watch.locator(".event-cursor")
    assert cursors.all_inner_texts() == [f"#{number}" for number in range(1, cursors.count() + 1)]
    assert watch.locator(".artifact .plain-text").inner_text().split("\n")[:6] == [
        "for you",
        *(f"leg {number}" for number in range(2, 7)),
    ]
    expect(watch.locator(".times")).to_contain_text("1 time")


def test_a_focused_event_keeps_its_focus_while_others_come(
    explorer: Explorer, agency: Agency
) -> None:
    """The rows are drawn again for each event; readers who use the keyboard stay where they are."""
    explorer.open(agency.page)
    watch = explorer.send("Relay", "you")
    expect(watch.locator(".event", has_text="leg 3")).to_be_visible()
    event = watch.locator(".event").nth(1)
    event.focus()
    agency.relay.release()
    explorer.expect_state("Completed")
    expect(event).to_be_focused()
    explorer.page.keyboard.press("Enter")
    expect(event).to_have_attribute("aria-expanded", "true")
    expect(event).to_be_focused()


def test_a_question_is_a_form(explorer: Explorer, agency: Agency) -> None:
    """The schema of the answer makes the form, and the events of the answer follow those of the
    question.
    """
    explorer.open(agency.page)
    form = explorer.choose_skill("Book a trip")
    form.get_by_label("Destination").fill("Porto")
    form.get_by_role("textbox", name="Name", exact=True).fill("Ada")
    explorer.submit()
    question = explorer.page.get_by_role("form", name="The agent asks")
    expect(question).to_contain_text("Shall I book Porto for 3 days?")
    question.get_by_role("button", name="Answer").click()
    expect(
        question.get_by_text("Must have at least 1 characters").or_(
            question.get_by_text("Enter some text")
        )
    ).to_be_visible()
    approved = question.get_by_label("Approved")
    expect(approved).to_have_value("")  # a person who only sends has not said No
    expect(approved).to_have_accessible_description(re.compile("Required"))
    approved.select_option(label="Yes")
    question.get_by_role("textbox", name="Name").fill("Ada")
    question.get_by_role("button", name="Answer").click()
    explorer.expect_state("Completed")
    expect(question).to_have_count(0)
    expect(explorer.watch.locator(".artifact")).to_contain_text("NW-2041")
    expect(explorer.watch.locator(".event", has_text="Needs your answer")).to_be_visible()


def test_an_authorization_has_its_link(explorer: Explorer, agency: Agency) -> None:
    """A task that needs an authorization shows the address, and goes on when the reader says so."""
    explorer.open(agency.page)
    watch = explorer.send("Pay", "now")
    expect(
        watch.get_by_role("link", name="https://bank.example/authorize?id=2041")
    ).to_have_attribute("target", "_blank")
    watch.get_by_role("button", name="I have authorized it, continue").click()
    explorer.expect_state("Completed")
    expect(watch.locator(".artifact")).to_contain_text("Paid.")


def test_ten_thousand_events_do_not_freeze_the_page(explorer: Explorer, agency: Agency) -> None:
    """All events are there, but only the visible ones are elements; time travel goes to any of
    them.
    """
    explorer.open(agency.page)
    watch = explorer.send("Count", "10000")
    explorer.expect_state("Completed")
    expect(watch.locator(".times")).to_contain_text("10,003")
    assert explorer.page.evaluate("document.querySelectorAll('*').length") < 3000
    events = watch.get_by_role("region", name="Events")
    events.evaluate("list => { list.scrollTop = 180000; }")
    expect(watch.locator(".event[data-at='5002']")).to_be_visible()
    assert watch.locator(".event").count() < 60
    watch.get_by_label("The task as it was").evaluate(MOVE, 103)
    expect(watch.locator(".artifact .plain-text")).to_contain_text("98 99 100")
    expect(watch.locator(".artifact .plain-text")).not_to_contain_text("102")
    watch.get_by_role("button", name="Now", exact=True).click()
    expect(watch.locator(".artifact .plain-text")).to_contain_text("9998 9999")


def test_five_megabytes_do_not_freeze_the_page(explorer: Explorer, agency: Agency) -> None:
    """A large artifact is shown piece by piece, and downloaded as a whole."""
    explorer.open(agency.page)
    watch = explorer.send("Heavy", "5")
    explorer.expect_state("Completed")
    text = watch.locator(".artifact .plain-text")
    assert text.evaluate("element => element.textContent.length") == 60_000
    watch.get_by_role("button", name="Show more").click()
    expect(watch.get_by_text("120,000 characters of 5,014,000 shown")).to_be_visible()
    with explorer.page.expect_download() as download:
        watch.get_by_role("button", name="Download all").click()
    assert Path(download.value.path()).stat().st_size == 5_014_000


def test_errors_are_explained(explorer: Explorer, agency: Agency) -> None:
    """A failed task shows its reason; a refused request its name, code, section and cure."""
    explorer.open(agency.page)
    watch = explorer.send("Fail", "please")
    explorer.expect_state("Failed")
    expect(watch.locator(".status-message")).to_contain_text("The road is closed.")
    explorer.page.evaluate("history.length")
    tasks = explorer.show("Tasks")
    tasks.locator(".task-row").first.click()
    expect(tasks.get_by_role("heading", name="Time travel")).to_be_visible()
    watch = explorer.send("Relay", "you")
    expect(watch.locator(".event", has_text="leg 3")).to_be_visible()
    watch.get_by_role("button", name="Cancel the task").click()
    explorer.expect_state("Canceled")
