"""The areas Card and Try: all of a card, and messages made with forms, files and code to copy."""

from __future__ import annotations

import json
from typing import Any

from browser.explorer import Explorer
from browser.servers import Agency, serve_command
from integration.features.explorer.documents import (
    CARD_PATH,
    KEYS_PATH,
    build_full_card,
    serve_documents,
    sign_card,
)
from playwright.sync_api import Locator, Request, expect

from a2a_runtime.features.keys.signing import SigningKey


def read_request(request: Request) -> dict[str, Any]:
    """Read the canonical request that the page has sent."""
    sent: dict[str, Any] = json.loads(request.post_data or "")["request"]
    return sent


def send_and_read(explorer: Explorer) -> dict[str, Any]:
    """Send the message, and read the request of it."""
    with explorer.page.expect_request("**/SendStreamingMessage") as sent:
        explorer.submit()
    return read_request(sent.value)


def fill_trip(form: Locator) -> None:
    """Fill what a trip requires."""
    form.get_by_label("Destination").fill("Lisbon")
    form.get_by_role("textbox", name="Name", exact=True).fill("Ada")


def test_the_card_is_readable(explorer: Explorer, agency: Agency) -> None:
    """Card shows the agent, its skills with their schemas, interfaces, extensions and the
    document.
    """
    explorer.open(agency.page)
    card = explorer.page.get_by_role("tabpanel", name="Card")
    expect(card.get_by_role("heading", name="Wayfarer")).to_be_visible()
    expect(card.get_by_text("The card is valid")).to_be_visible()
    expect(card.get_by_role("link", name="Northwind Travel")).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
    skill = card.locator(".skill", has_text="plan-trip")
    skill.get_by_text("Input", exact=True).click()
    member = skill.locator(".schema-members > li", has_text="destination")
    expect(member).to_contain_text("2 to 80 characters")
    expect(member).to_contain_text("required")
    expect(card.get_by_role("table").first).to_contain_text("JSONRPC")
    expect(card.get_by_text("urn:a2a-gen:ext:resumption:1")).to_be_visible()
    card.get_by_text("The card as the agent sent it").click()
    expect(card.locator(".json-tree").last).to_contain_text("supportedInterfaces")
    card.get_by_role("button", name="Try Plan a trip").click()
    expect(explorer.page.get_by_label("Skill", exact=True)).to_have_value("0")


def test_a_form_makes_the_input(explorer: Explorer, agency: Agency) -> None:
    """Nested objects, a union by its tag, a list, an enum, defaults and optional members become one
    JSON value.
    """
    explorer.open(agency.page)
    form = explorer.choose_skill("Plan a trip")
    fill_trip(form)
    form.get_by_label("Days").fill("4")
    form.get_by_label("Style").select_option(label="packed")
    form.get_by_label("Transport").select_option(label="plane")
    form.get_by_label("Bags").fill("2")
    form.get_by_label("Birthday").fill("1815-12-10")
    form.get_by_role("button", name="Add traveller").click()
    form.get_by_role("textbox", name="Name", exact=True).nth(1).fill("Grace")
    form.get_by_role("button", name="Add budget").click()
    form.get_by_label("Amount").fill("950.5")
    form.get_by_label("Currency").select_option(label="GBP")
    sent = send_and_read(explorer)
    assert sent["metadata"] == {"skillId": "plan-trip"}
    assert sent["message"]["parts"][0]["data"] == {
        "destination": "Lisbon",
        "days": 4,
        "style": "packed",
        "transport": {"by": "plane", "bags": 2},
        "travellers": [{"name": "Ada", "birthday": "1815-12-10"}, {"name": "Grace"}],
        "budget": {"amount": 950.5, "currency": "GBP"},
    }
    explorer.expect_state("Completed")


def test_constraints_stand_at_the_field(explorer: Explorer, agency: Agency) -> None:
    """A wrong value is refused before it is sent, and one that only the agent refuses is shown at
    its field, too.
    """
    explorer.open(agency.page)
    form = explorer.choose_skill("Plan a trip")
    explorer.submit()
    destination = form.get_by_label("Destination")
    expect(destination).to_have_attribute("aria-invalid", "true")
    expect(destination).to_be_focused()
    expect(form.get_by_text("Must have at least 2 characters; it has 0")).to_be_visible()
    form.get_by_label("Days").fill("40")
    form.get_by_label("Contact").fill("nobody")
    fill_trip(form)
    explorer.submit()
    expect(form.get_by_text("Must be at most 21")).to_be_visible()
    form.get_by_label("Days").fill("2")
    explorer.submit()
    expect(form.get_by_label("Contact")).to_have_attribute("aria-invalid", "true")
    expect(form.locator(".field.wrong .field-error")).not_to_be_empty()
    expect(form.locator(".problem .notice")).to_contain_text("InvalidParamsError")


def test_a_value_may_be_written_as_json(explorer: Explorer, agency: Agency) -> None:
    """The form and its JSON are two views of one value."""
    explorer.open(agency.page)
    form = explorer.choose_skill("Plan a trip")
    fill_trip(form)
    form.get_by_role("button", name="Edit as JSON").click()
    field = form.get_by_label("Input as JSON")
    value = json.loads(field.input_value())
    assert value["transport"] == {"by": "train", "seat": "window", "night": False}
    field.fill(json.dumps({**value, "transport": {"by": "plane", "bags": 3}, "days": 5}))
    form.get_by_role("button", name="Edit as a form").click()
    expect(form.get_by_label("Transport")).to_have_value("1")
    expect(form.get_by_label("Bags")).to_have_value("3")
    expect(form.get_by_label("Days")).to_have_value("5")


_DROP = """(zone) => {
  const files = new DataTransfer();
  files.items.add(new File(["dropped"], "notes.txt", {type: "text/plain"}));
  zone.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


def test_files_and_metadata_go_along(explorer: Explorer, agency: Agency) -> None:
    """Files are dropped or chosen, metadata is an object; the agent gets all of them."""
    explorer.open(agency.page)
    form = explorer.choose_skill("Echo")
    form.get_by_role("textbox", name="Message", exact=True).fill("look")
    form.locator(".drop").evaluate(_DROP)
    form.locator(".drop input").set_input_files(
        {"name": "a.bin", "mimeType": "application/x-thing", "buffer": b"\0\1\2"}
    )
    expect(form.locator(".files li")).to_have_count(2)
    form.get_by_text("Metadata", exact=True).click()
    form.get_by_role("textbox", name="Metadata").fill('{"trace": 7}')
    sent = send_and_read(explorer)
    assert sent["metadata"] == {"trace": 7, "skillId": "echo-parts"}
    assert sent["message"]["parts"] == [
        {"text": "look"},
        {"raw": "ZHJvcHBlZA==", "filename": "notes.txt", "mediaType": "text/plain"},
        {"raw": "AAEC", "filename": "a.bin", "mediaType": "application/x-thing"},
    ]
    explorer.expect_state("Completed")
    expect(explorer.watch.get_by_text("dropped", exact=True)).to_be_visible()


def test_each_mode_has_its_way(explorer: Explorer, agency: Agency) -> None:
    """A blocking message waits for the result; an immediate one gets the task at once, and the page
    asks for it until it ends.
    """
    explorer.open(agency.page)
    form = explorer.choose_skill("Relay")
    form.get_by_role("textbox", name="Message", exact=True).fill("you")
    form.get_by_role("radio", name="Immediate").check()
    with explorer.page.expect_request("**/SendMessage") as sent:
        explorer.submit()
    assert read_request(sent.value)["configuration"] == {"returnImmediately": True}
    explorer.expect_state("Working")
    agency.relay.release()
    explorer.expect_state("Completed")
    expect(explorer.watch.locator(".artifact")).to_contain_text("leg 6")
    explorer.choose_skill("Ask about a place").get_by_role("radio", name="Blocking").check()
    explorer.send("Ask about a place", "Porto")
    expect(explorer.watch.locator(".artifact")).to_contain_text("You asked: Porto")


def test_the_request_stands_there_as_code(explorer: Explorer, agency: Agency) -> None:
    """The same request stands below the form as curl, Python, a command and JSON, and follows the
    form.
    """
    explorer.open(agency.page)
    form = explorer.choose_skill("Ask about a place")
    form.get_by_text("As code").click()
    form.get_by_role("textbox", name="Message", exact=True).fill("Porto?")
    code = form.get_by_role("tabpanel").locator("pre")
    expect(code).to_contain_text("Porto?")
    expect(code).to_contain_text("curl")
    for title, text in (
        ("Python", "A2AClient"),
        ("a2a-gen call", "a2a-gen stream"),
        ("JSON-RPC 1.0", '"jsonrpc"'),
    ):
        form.get_by_role("tab", name=title, exact=True).click()
        expect(code).to_contain_text(text)
    form.get_by_role("textbox", name="Message", exact=True).fill("Faro?")
    expect(code).to_contain_text("Faro?")


def test_all_works_with_the_keyboard(explorer: Explorer, agency: Agency) -> None:
    """Arrows move between areas, Enter opens, and Ctrl+Enter sends from a field."""
    explorer.open(agency.page)
    page = explorer.page
    page.get_by_role("link", name="Skip to the content").press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.get_by_role("tab", name="Card").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("tab", name="Try")).to_be_focused()
    explorer.choose_skill("Ask about a place").get_by_role(
        "textbox", name="Message", exact=True
    ).fill("Faro")
    page.keyboard.press("Control+Enter")
    explorer.expect_state("Completed")
    event = explorer.watch.locator(".event").first
    event.focus()
    page.keyboard.press("Enter")
    expect(event).to_be_focused()
    expect(explorer.watch.locator(".event-detail")).to_contain_text("TASK_STATE_SUBMITTED")


def test_signatures_are_verified(explorer: Explorer) -> None:
    """The head of the card says whose key signed it, and Signatures say which one; a card that was
    changed afterwards does not verify.
    """
    key = SigningKey.generate()
    with (
        serve_documents(documents := {KEYS_PATH: {"keys": [key.to_jwk()]}}) as (url, _),
        serve_command(url) as page,
    ):
        documents[CARD_PATH] = sign_card(build_full_card(url), url + KEYS_PATH, key)
        explorer.open(page)
        card = explorer.page.get_by_role("tabpanel", name="Card")
        expect(card.get_by_text("signed with its own key", exact=True)).to_be_visible()
        expect(
            card.get_by_text(
                f"valid ES256 key {key.key_id} — signed by a key that this agent itself publishes"
            )
        ).to_be_visible()
        documents[CARD_PATH] = {**documents[CARD_PATH], "description": "Changed."}
        explorer.page.reload()
        expect(card.get_by_text("signature invalid", exact=True)).to_be_visible()
        expect(card.get_by_text("does not verify", exact=True)).to_be_visible()
