"""Agents that want to harm the page, pages of other origins, and credentials: nothing of them runs,
calls or stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.explorer import Explorer
from browser.hostile_agent import serve_hostile_agent
from browser.servers import Agency, serve_command, serve_show_agent, serve_surfaces
from browser.show_agent import build_show_agent
from playwright.sync_api import expect

from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, Identity, digest_key
from a2a_runtime.surface import Surface

KEY = "key-of-the-visitor-1234567890"
_UNSAFE_LINKS = (
    "[...document.querySelectorAll('a')].map(a => a.getAttribute('href')).filter(h => "
    "!/^(https?:|#)/.test(h))"
)
_FOREIGN = (
    "document.querySelectorAll('#app script, #app iframe, #app object, #app form[action], #app "
    "img[src^=http]').length"
)


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    """The explorer of the command for an agent that is hostile."""
    with serve_hostile_agent() as url, serve_command(url) as page:
        yield page


def make_visible(*pieces: str | int) -> str:
    """Write a text as the page shows it: characters that would hide or reorder something have their
    numbers.
    """
    return "".join(
        each if isinstance(each, str) else f"\u2039U+{each:04X}\u203a" for each in pieces
    )


def expect_unharmed(explorer: Explorer) -> None:
    """Expect that nothing of the agent runs, loads or leads elsewhere."""
    assert explorer.page.evaluate("[window.harmed, {}.harmed].every(each => each === undefined)")
    assert explorer.page.evaluate(_UNSAFE_LINKS) == []
    assert explorer.page.evaluate(_FOREIGN) == 0


def test_a_hostile_card_harms_nothing(explorer: Explorer, hostile: str) -> None:
    """Markup is text, addresses of scripts are no links, marks that reorder text are visible; the
    token leaves the address bar.
    """
    explorer.open(hostile)
    page = explorer.page
    assert "token" not in page.url
    page.reload()  # the tab still has it
    card = page.get_by_role("tabpanel", name="Card")
    expect(card.get_by_role("heading", level=2).first).to_contain_text(
        "<script>window.harmed = 1</script>"
    )
    expect(card.get_by_role("heading", level=2).first).to_contain_text(
        make_visible("safe", 0x202E, "txt.exe")
    )
    for summary in card.locator("details:not([open]) > summary").all()[-12:]:
        summary.click()
    expect_unharmed(explorer)
    for area in ("Try", "Sign in"):
        explorer.show(area)
        expect_unharmed(explorer)
    assert explorer.find_accessibility_problems() == []


def test_hostile_artifacts_harm_nothing(explorer: Explorer, hostile: str) -> None:
    """Texts, Markdown, JSON, files and addresses of an artifact run nothing and break nothing."""
    explorer.open(hostile)
    form = explorer.show("Try")
    form.get_by_role("textbox", name="Message", exact=True).fill("hello")
    explorer.submit()
    explorer.expect_state("Completed")
    watch = explorer.watch
    expect(
        watch.get_by_text(
            make_visible("safe", 0x202E, "txt.exe", 0x2066, 0x1B, "[31mred", 7, 0)
        ).first
    ).to_be_visible()
    expect(watch.get_by_text("This image cannot be shown.")).to_be_visible()
    expect(watch.get_by_role("img", name="Image a.svg")).to_be_visible()
    expect(watch.get_by_text("not a web address").first).to_be_visible()
    with explorer.page.expect_download() as download:
        watch.locator(".file", has_text="text/html").get_by_role("button", name="Download").click()
    assert "/" not in download.value.suggested_filename
    expect_unharmed(explorer)
    wire = explorer.show("Wire")
    wire.locator(".wire-row").last.click()
    expect(wire.locator(".exchange")).to_contain_text("x-evil")
    expect_unharmed(explorer)


_CALL = """([url, headers]) =>
  fetch(url, {headers, mode: headers ? "cors" : "no-cors"})
    .then(reply => reply.text(), () => "refused")"""


def test_a_page_of_another_origin_cannot_call(explorer: Explorer, agency: Agency) -> None:
    """Another page gets no answer of the API, with or without its header, and cannot show the
    explorer in a frame.
    """
    with serve_show_agent() as other:
        page = explorer.page
        page.goto(f"{other.url}/.well-known/agent-card.json")
        agents = f"{agency.url}/explorer/api/agents"
        assert page.evaluate(_CALL, [agents, {"X-A2A-Explorer": ""}]) == "refused"
        assert page.evaluate(_CALL, [agents, None]) == "refused"
        page.evaluate(
            (
                "url => { const frame = document.createElement('iframe'); frame.src = url; "
                "document.body.append(frame); }"
            ),
            agency.page,
        )
        page.wait_for_function("window.frames.length === 1")
        assert not any(
            "A2A explorer" in frame.title()
            for frame in page.frames[1:]
            if frame.url.startswith("http")
        )
    assert [each for each in explorer.problems if not each.startswith("console:")] == []
    explorer.problems.clear()  # the browser says what it has refused


@pytest.fixture(scope="module")
def guarded_explorer() -> Iterator[str]:
    """The explorer of an agent that wants an API key."""
    gate = AuthGate(ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}))
    with serve_surfaces(Surface(build_show_agent(), gate=gate)) as page:
        yield page


def test_credentials_stay_in_memory(explorer: Explorer, guarded_explorer: str) -> None:
    """A key from the sign-in goes with each request, is masked on the wire, and is forgotten by a
    reload.
    """
    explorer.open(guarded_explorer)
    explorer.send("Ask about a place", "Faro")
    notice = explorer.page.locator(".try .notice.bad")
    expect(notice).to_contain_text("Sign in with one of the schemes of the card.")
    panel = explorer.show("Sign in")
    panel.get_by_role("textbox", name="Key").fill(KEY)
    panel.get_by_role("button", name="Use this key").click()
    expect(panel.get_by_text("Signed in with 1 scheme")).to_be_visible()
    explorer.send("Ask about a place", "Faro")
    explorer.expect_state("Completed")
    wire = explorer.show("Wire")
    wire.locator(".wire-row").last.click()
    expect(wire.locator(".exchange")).to_contain_text("SendStreamingMessage")
    assert KEY not in explorer.page.content()
    assert (
        explorer.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
        == '[{},{},""]'
    )
    explorer.page.reload()
    expect(explorer.show("Sign in").get_by_text("You are not signed in")).to_be_visible()
