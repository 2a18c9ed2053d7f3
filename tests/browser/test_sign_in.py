"""Sign-in in a window of the issuer, and the choice between the agents of an app."""

from __future__ import annotations

import pytest
from browser.explorer import Explorer
from browser.servers import serve_command, serve_surfaces
from browser.show_agent import build_show_agent
from integration.features.explorer.documents import build_card, serve_documents
from integration.features.explorer.issuer import (
    ACCESS_TOKEN,
    DISCOVERY,
    Issuer,
    build_foreign_discovery,
    build_schemes,
)
from integration.outcome_agent import build_test_agent, serve_on_socket
from playwright.sync_api import expect

from a2a_runtime.surface import Surface


@pytest.mark.parametrize("kind", ["oauth2", "openIdConnect"])
def test_an_issuer_signs_in_with_its_window(explorer: Explorer, kind: str) -> None:
    """The window closes by itself, the page says how long the token is valid, and the next request
    has it.
    """
    with (
        serve_on_socket(Issuer().build_app()) as issuer,
        serve_documents(documents := {}) as (url, requests),
    ):
        schemes = build_schemes(kind, str(issuer.base_url).rstrip("/"))
        documents["/.well-known/agent-card.json"] = build_card(url, securitySchemes=schemes)
        with serve_command(url) as address:
            explorer.open(address)
            panel = explorer.show("Sign in")
            panel.get_by_role("textbox", name="Client id").fill("explorer")
            with explorer.page.expect_popup() as window:
                panel.get_by_role("button", name="Sign in in a window").click()
            expect(panel.get_by_text("token, valid for 5 min")).to_be_visible()
            if not window.value.is_closed():
                window.value.wait_for_event("close")
            explorer.show("Try").get_by_role("textbox", name="Message", exact=True).fill("hi")
            explorer.submit()
            expect(
                explorer.page.locator(".notice.bad").first
            ).to_be_visible()  # the server of documents is no agent
    assert requests[-1][1]["authorization"] == f"Bearer {ACCESS_TOKEN}"


def test_an_issuer_that_refuses(explorer: Explorer) -> None:
    """Its words stand below the form."""
    with serve_documents(documents := {}) as (url, _):
        documents[DISCOVERY] = build_foreign_discovery(url)
        documents["/.well-known/agent-card.json"] = build_card(
            url, securitySchemes=build_schemes("openIdConnect", url)
        )
        with serve_command(url) as address:
            explorer.open(address)
            panel = explorer.show("Sign in")
            panel.get_by_role("textbox", name="Client id").fill("explorer")
            panel.get_by_role("button", name="Sign in in a window").click()
            expect(panel.get_by_text("not that of the issuer")).to_be_visible()


def test_the_agents_of_an_app_are_chosen(explorer: Explorer) -> None:
    """The menu of an app has every agent, and each choice shows the card of that agent."""
    with serve_surfaces(
        Surface(build_show_agent(), "/travel"), Surface(build_test_agent(), "/other")
    ) as address:
        explorer.open(address)
        picker = explorer.page.get_by_label("Agent", exact=True)
        first = explorer.page.locator("h1, h2").first.inner_text()
        picker.select_option(index=1)
        expect(explorer.page.locator("h1, h2").first).not_to_have_text(first)
