"""The exact-path router: its responses are those of Litestar's router."""

from __future__ import annotations

import pytest
from integration.outcome_agent import build_test_agent
from litestar import Litestar
from litestar.testing import TestClient

from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
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
    """Mount an agent at a path."""
    return Surface(build_test_agent(), "/agent", gate=OpenGate())


def collect_responses(app: Litestar, path: str, root_path: str = "") -> list[tuple[int, bytes]]:
    """Send a request with each method."""
    with TestClient(app, root_path=root_path) as client:
        responses = [client.request(method, path, json=CALL if method == "POST" else None) for method in ("GET", "POST", "HEAD", "OPTIONS", "PUT")]
    return [(each.status_code, each.content) for each in responses]


@pytest.mark.parametrize("root_path", ["", "/agent", "/proxy"])
@pytest.mark.parametrize("path", PATHS)
def test_both_routers_respond_alike(path: str, root_path: str) -> None:
    """For every spelling of a path, every method and every root path, responses with and without the shortcut are the same."""
    exact, full = create_app(surface()), Litestar(plugins=[A2APlugin(surface())], logging_config=None)
    assert isinstance(exact.asgi_handler, ExactPathRouter)
    assert not isinstance(full.asgi_handler, ExactPathRouter)
    assert collect_responses(exact, path, root_path) == collect_responses(full, path, root_path)


def test_cors_headers_are_sent_at_the_endpoint_too() -> None:
    """With CORS there is no shortcut, since it would skip the middleware."""
    app = create_app(surface(), settings=Settings(cors_origins=(ORIGIN,)))
    with TestClient(app) as client:
        response = client.post("/agent", json=CALL, headers={"Origin": ORIGIN})
    assert response.headers["access-control-allow-origin"] == ORIGIN
