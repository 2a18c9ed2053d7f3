"""Servers of the browser tests: agents with the explorer in their app, and the explorer of the
command for agents elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import httpx
from browser.show_agent import Relay, build_show_agent
from integration.outcome_agent import FAST_SETTINGS, serve_on_socket

from a2a_runtime.app import create_app
from a2a_runtime.client.options import ClientOptions, Pin
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.standalone import StandaloneExplorer
from a2a_runtime.surface import Surface

TOKEN = "the-token-of-this-run"  # noqa: S105 - of a server of the tests
SETTINGS = replace(FAST_SETTINGS, explorer=True)


@dataclass(frozen=True)
class Agency:
    """An agent in an app with the explorer."""

    url: str
    client: httpx.Client
    relay: Relay

    @property
    def page(self) -> str:
        """The address of its explorer."""
        return f"{self.url}/explorer/"


@contextmanager
def serve_show_agent() -> Iterator[Agency]:
    """Serve the travel agency."""
    relay = Relay()
    with serve_on_socket(create_app(build_show_agent(relay), settings=SETTINGS), 1) as client:
        yield Agency(str(client.base_url).rstrip("/"), client, relay)
        relay.release()


@contextmanager
def serve_surfaces(*surfaces: Surface) -> Iterator[str]:
    """Serve surfaces with the explorer, and give the address of its page."""
    with serve_on_socket(create_app(*surfaces, settings=SETTINGS), 1) as client:
        yield f"{str(client.base_url).rstrip('/')}/explorer/"


@contextmanager
def serve_command(url: str, dialect: str | None = None) -> Iterator[str]:
    """Serve the explorer of the command for an agent at a URL, and give the address with its
    token.
    """
    options = ClientOptions(pin=Pin(dialect))
    explorer = StandaloneExplorer(
        [ExploredAgent(id="0", name=urlsplit(url).netloc, url=url, options=options)], TOKEN
    )
    with serve_on_socket(explorer, 1) as client:
        explorer.allow_port(client.base_url.port or 0)
        yield f"{str(client.base_url).rstrip('/')}/explorer/#token={TOKEN}"
