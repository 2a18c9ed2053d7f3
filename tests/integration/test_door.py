"""The short way past the router: what goes by it is answered as by the long one."""

from __future__ import annotations

import pytest
from integration.serving import build_test_agent
from litestar import Litestar
from litestar.testing import TestClient

from a2a_runtime.app import create_app
from a2a_runtime.http.middleware import ExactPathRouter
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

PATHS = [
    "/agent",
    "/agent/",
    "/agent/.well-known/agent-card.json",
    "/agent/.well-known/agent-card.json/",
    "/agent/tasks",
    "/agent/nothing",
    "/nothing",
]
CALL = {"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "none"}}
ORIGIN = "https://page.example"


def surface() -> Surface:
    """Put the agent at a path of its own."""
    return Surface(build_test_agent(), "/agent")


def answers(app: Litestar, path: str, root_path: str = "") -> list[tuple[int, bytes]]:
    """Ask in every way that there is."""
    with TestClient(app, root_path=root_path) as client:
        asked = [client.request(method, path, json=CALL if method == "POST" else None) for method in ("GET", "POST", "HEAD", "OPTIONS", "PUT")]
    return [(answer.status_code, answer.content) for answer in asked]


@pytest.mark.parametrize("root_path", ["", "/agent", "/proxy"])
@pytest.mark.parametrize("path", PATHS)
def test_the_short_way_and_the_long_one_lead_to_the_same_answers(path: str, root_path: str) -> None:
    """Whatever the spelling of a path, the method and what a proxy has cut off, an app with the door answers as one without it."""
    short, long = create_app(surface()), Litestar(plugins=[A2APlugin(surface())], logging_config=None)
    assert isinstance(short.asgi_handler, ExactPathRouter)
    assert not isinstance(long.asgi_handler, ExactPathRouter)
    assert answers(short, path, root_path) == answers(long, path, root_path)


def test_pages_that_may_call_are_told_so_also_at_the_endpoint() -> None:
    """What stands before the router goes on standing there."""
    app = create_app(surface(), settings=Settings(cors_origins=(ORIGIN,)))
    with TestClient(app) as client:
        answer = client.post("/agent", json=CALL, headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
