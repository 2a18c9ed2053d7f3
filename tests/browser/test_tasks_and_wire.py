"""The areas Tasks and Wire: what the agent keeps, as it was at any time, and every request with its
answer.
"""

from __future__ import annotations

from uuid import uuid4

import pytest
from browser.explorer import Explorer
from browser.servers import Agency
from playwright.sync_api import expect

MOVE = (
    "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', "
    "{bubbles: true})); }"
)


def send_directly(agency: Agency, text: str, skill: str, context: str | None = None) -> None:
    """Send a message past the page."""
    message = {
        "messageId": str(uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": text}],
        **({"contextId": context} if context else {}),
    }
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": message, "metadata": {"skillId": skill}},
    }
    reply = (
        agency.client.post("/", json=call, headers={"A2A-Version": "1.0"}).raise_for_status().json()
    )
    assert "result" in reply, reply


@pytest.fixture(scope="module", autouse=True)
def many_tasks(agency: Agency) -> None:
    """More tasks than a page has, two of them in one conversation."""
    for number in range(22):
        send_directly(agency, f"Question {number}", "ask-place")
    send_directly(agency, "It breaks", "fail", "trip-1")
    send_directly(agency, "It goes on", "ask-place", "trip-1")


def test_tasks_are_listed_in_pages(explorer: Explorer, agency: Agency) -> None:
    """Pages, a filter by state, and conversations."""
    explorer.open(agency.page)
    tasks = explorer.show("Tasks")
    rows = tasks.locator(".task-row")
    expect(rows).to_have_count(20)
    tasks.get_by_role("button", name="Next page").click()
    expect(tasks.get_by_role("button", name="Previous page")).to_be_visible()
    tasks.get_by_label("State").select_option(label="Failed")
    expect(rows).to_have_count(1)
    tasks.get_by_label("State").select_option(label="Any state")
    tasks.get_by_label("Conversation", exact=True).fill("trip-1")
    tasks.get_by_label("Conversation", exact=True).press("Enter")
    expect(rows).to_have_count(2)
    tasks.get_by_label("Group by conversation").check()
    expect(tasks.locator(".group")).to_have_count(1)
    rows.first.click()
    detail = tasks.locator(".task-detail")
    expect(detail.locator(".bubble.user")).to_contain_text("It goes on")
    detail.get_by_role("button", name="Run again").click()
    expect(explorer.page.get_by_role("textbox", name="Message", exact=True)).to_have_value(
        "It goes on"
    )


def test_time_travel_shows_the_task_as_it_was(explorer: Explorer, agency: Agency) -> None:
    """A task that the page has not seen is read again from its first event, and each moment of it
    can be looked at.
    """
    send_directly(agency, "5", "count")
    explorer.open(agency.page)
    tasks = explorer.show("Tasks")
    tasks.locator(".task-row").first.click()
    detail = tasks.locator(".task-detail")
    detail.get_by_role("button", name="Read all events from the first").click()
    slider = detail.get_by_label("The task as it was")
    expect(slider).to_have_attribute("max", "8")
    slider.evaluate(MOVE, 4)
    expect(detail.locator(".artifact .plain-text")).to_have_text("0 1 ")
    expect(detail.locator(".state")).to_have_text("Working")
    slider.evaluate(MOVE, 8)
    expect(detail.locator(".artifact .plain-text")).to_have_text("0 1 2 3 4 ")
    expect(detail.locator(".state")).to_have_text("Completed")


def test_every_exchange_is_on_the_wire(explorer: Explorer, agency: Agency) -> None:
    """Requests to the agent are shown with headers and bodies; an error has its words, its code and
    the section of the specification.
    """
    explorer.open(agency.page)
    explorer.send("Ask about a place", "Faro")
    explorer.expect_state("Completed")
    wire = explorer.show("Wire")
    wire.get_by_label("Filter").fill("post")
    row = wire.locator(".wire-row")
    expect(row).to_have_count(1)
    row.click()
    detail = wire.locator(".exchange")
    expect(detail.get_by_role("region", name="Request")).to_contain_text("SendStreamingMessage")
    expect(detail.get_by_role("region", name="Answer").locator("pre")).to_contain_text(
        "You asked: Faro"
    )
    expect(detail.get_by_text("a2a-version")).to_be_visible()


def test_a_refusal_is_explained(explorer: Explorer, agency: Agency) -> None:
    """The error of an agent has its name, its code and what to do."""
    explorer.open(agency.page)
    explorer.show("Tasks")
    explorer.page.route(
        "**/operations/GetTask",
        lambda route: route.continue_(post_data={"request": {"id": "unknown"}}),
    )
    explorer.page.locator(".task-row").first.click()
    notice = explorer.page.locator(".task-place .notice")
    expect(notice).to_contain_text("TaskNotFoundError")
    expect(notice).to_contain_text("-32001")
    expect(notice).to_contain_text("Specification")
    expect(notice).to_contain_text("Check the id")
