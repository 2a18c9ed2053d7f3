"""The page with agents of every dialect and binding, ours and those of others: a card, a message,
its result, the exchanges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from browser.explorer import Explorer
from browser.servers import serve_command
from browser.show_agent import build_show_agent
from integration.outcome_agent import FAST_SETTINGS, serve_on_socket
from peers.sdk_agents import peer_agent
from playwright.sync_api import expect

from a2a_runtime.app import create_app
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.ports import find_free_port

SKILL = "Ask about a place"
TEXT = "Faro"
RESULT = "You asked: Faro"


@contextmanager
def serve_ours(dialect: str, *, over_grpc: bool = False) -> Iterator[str]:
    """Serve the travel agency in one dialect."""
    grpc = GrpcOptions(f"127.0.0.1:{find_free_port()}") if over_grpc else None
    only = (
        frozenset(("ask-place",)) if dialect == "mesh" else None
    )  # a surface of a mesh has one skill
    app = create_app(
        Surface(build_show_agent(), dialects=frozenset((dialect,)), only=only, grpc=grpc),
        settings=FAST_SETTINGS,
    )
    with serve_on_socket(app, 1) as client:
        yield str(client.base_url).rstrip("/")


def expect_a_result(
    explorer: Explorer,
    skill: str,
    text: str,
    result: str,
    *,
    binding: str | None = None,
    mode: str = "Streaming",
) -> None:
    """Send a text over a binding, and expect a result with its exchange."""
    form = explorer.show("Try")
    form.get_by_label("Skill", exact=True).select_option(label=skill)
    if binding is not None:
        form.get_by_text("Interface", exact=True).click()
        picker = form.get_by_label("Called over")
        picker.select_option(
            value=picker.locator("option", has_text=binding).first.get_attribute("value")
        )
    if form.get_by_role("radio", name=mode).count():
        form.get_by_role("radio", name=mode).check()
    form.get_by_role("textbox", name="Message", exact=True).fill(text)
    explorer.submit()
    expect(explorer.watch.locator(".artifact, .bubble.agent").first).to_contain_text(result)
    expect(explorer.watch.locator(".times")).to_contain_text("complete")
    wire = explorer.show("Wire")
    wire.locator(".wire-row").last.click()
    expect(wire.locator(".exchange")).to_contain_text("Answer")
    assert explorer.find_accessibility_problems() == []


@pytest.mark.parametrize(
    ("dialect", "binding"),
    [("0.3", "JSONRPC"), ("mesh", None), ("1.0", "HTTP+JSON")],
    ids=["0.3", "mesh", "rest"],
)
def test_the_page_speaks_with_each_dialect(
    explorer: Explorer, dialect: str, binding: str | None
) -> None:
    """Cards and tasks of each dialect are the same page."""
    # A card of a mesh does not say that it is one.
    with (
        serve_ours(dialect) as url,
        serve_command(url, dialect if dialect == "mesh" else None) as page,
    ):
        explorer.open(page)
        expect(explorer.page.get_by_role("heading", name="Wayfarer", level=2)).to_be_visible()
        expect_a_result(explorer, SKILL, TEXT, RESULT, binding=binding)


def test_calls_go_over_grpc(explorer: Explorer) -> None:
    """The interface of gRPC is one of those to choose; its calls are on the wire like requests."""
    with serve_ours("1.0", over_grpc=True) as url, serve_command(url) as page:
        explorer.open(page)
        expect_a_result(explorer, SKILL, TEXT, RESULT, binding="GRPC")
        expect(explorer.page.locator(".exchange")).to_contain_text("grpc")


SDKS = {"1.0": ("a2a-sdk-1.3.0", "server_1_0.py"), "0.3": ("a2a-sdk-0.3.26", "server_0_3.py")}


@pytest.mark.peer
@pytest.mark.parametrize("version", [*SDKS])
def test_the_page_speaks_with_the_official_sdk(explorer: Explorer, version: str) -> None:
    """Agents of others, made with the SDK of each version, stream and answer."""
    with peer_agent(*SDKS[version]) as url, serve_command(url) as page:
        explorer.open(page)
        expect_a_result(explorer, "Echo", "echo hello", "echo hello")


@pytest.mark.soak(share="front_ends")
@pytest.mark.peer
@pytest.mark.parametrize("mode", ["Streaming", "Blocking", "Immediate"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
@pytest.mark.parametrize("version", [*SDKS])
def test_every_way_to_an_agent_of_the_sdk(
    explorer: Explorer, version: str, binding: str, mode: str
) -> None:
    """Each mode over each binding that the card offers."""
    with peer_agent(*SDKS[version]) as url, serve_command(url) as page:
        explorer.open(page)
        expect_a_result(explorer, "Echo", "echo hello", "echo hello", binding=binding, mode=mode)
