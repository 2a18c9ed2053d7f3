"""Every path of a surface with every HTTP method, on a real socket."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pytest
from integration.outcome_agent import build_test_agent, build_test_app, serve_on_socket

from a2a_contract.paths import PATHS
from a2a_runtime.surface import Surface

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


class RawResponse(NamedTuple):
    """A response as it was received."""

    status: int
    headers: Mapping[str, str]
    body: bytes


SendRequest = Callable[[str, str], RawResponse]


@pytest.fixture(scope="module")
def send_request() -> Iterator[SendRequest]:
    """A function that requests a path as it is written, from an agent at the root and another one
    below /agents/b.
    """
    with serve_on_socket(
        build_test_app(Surface(build_test_agent()), Surface(build_test_agent(), "/agents/b"))
    ) as client:
        port = client.base_url.port

        def send(method: str, path: str) -> RawResponse:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            try:
                connection.request(method, path)
                response = connection.getresponse()
                return RawResponse(
                    response.status,
                    {name.lower(): value for name, value in response.getheaders()},
                    response.read(),
                )
            finally:
                connection.close()

        yield send


ALL_PATHS = sorted(
    {re.sub(r"\{[^}]*\}", "x", route.path) for routes in PATHS.values() for route in routes}
    | {"/", *CARDS}
)


@pytest.mark.parametrize("path", ALL_PATHS)
def test_options_lists_the_allowed_methods(send_request: SendRequest, path: str) -> None:
    """Every listed method is allowed, and every other one is refused with the same list."""
    options = send_request("OPTIONS", path)
    assert (options.status, options.body) == (204, b"")
    allowed = options.headers["allow"].split(", ")
    for method in METHODS:
        response = send_request(method, path)
        if method in allowed:
            assert response.status not in {405, 500, 501}, method
        else:
            assert (response.status, response.headers["allow"].split(", ")) == (405, allowed), (
                method
            )


UNUSUAL_PATHS: dict[str, tuple[str, int]] = {
    "slash at the end": ("/tasks/", 200),
    "slash twice": ("//tasks", 200),
    "slash twice inside": ("/agents/b//tasks", 200),
    "card with a slash": ("/.well-known/agent-card.json/", 200),
    "escaped slash in an id": ("/tasks/a%2Fb", 404),
    "escaped slash in an id of 0.3": ("/v1/tasks/a%2Fb/c", 404),
    "escaped letters": ("/%74asks", 200),
    "no character": ("/tasks/%ff", 404),
    "half an escape": ("/tasks/%2", 404),
    "zero": ("/tasks/%00", 400),
    "dots": ("/agents/b/../../etc/passwd", 404),
    "escaped dots": ("/agents/b/%2e%2e%2fx", 404),
    "an unknown verb": ("/message:nope", 404),
    "nothing": ("/agents/b/nothing/at/all", 404),
    "long": (f"/tasks/{'x' * 5000}", 404),
}


@pytest.mark.parametrize(("path", "status"), UNUSUAL_PATHS.values(), ids=UNUSUAL_PATHS.keys())
def test_an_unusual_path_gets_a_protocol_response(
    send_request: SendRequest, path: str, status: int
) -> None:
    """An unknown task, an invalid one or no route: never a page of the framework, and never a
    redirect.
    """
    got = send_request("GET", path)
    assert (got.status, got.headers["content-type"]) == (status, "application/json")
    if status != 200:
        assert json.loads(got.body)["error"]["code"] == status
    head = send_request("HEAD", path)
    assert (head.status, head.body) == (status, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
