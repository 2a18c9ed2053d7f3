"""Every path of a surface under every HTTP method, on a real socket: all that is announced is taken, and every refusal is the protocol's."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pytest
from integration.serving import build_test_agent, build_test_app, serve_on_socket

from a2a_contract.paths import PATHS
from a2a_runtime.surface import Surface

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


class RawResponse(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


SendRequest = Callable[[str, str], RawResponse]


@pytest.fixture(scope="module")
def ask() -> Iterator[SendRequest]:
    """Somebody who asks for a path as it is written: an agent at the root, another one below /agents/b, and nothing of ours below /host."""
    with serve_on_socket(build_test_app(Surface(build_test_agent()), Surface(build_test_agent(), "/agents/b"))) as client:
        port = client.base_url.port

        def asked(method: str, path: str) -> RawResponse:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            try:
                connection.request(method, path)
                response = connection.getresponse()
                return RawResponse(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
            finally:
                connection.close()

        yield asked


ALL_PATHS = sorted({re.sub(r"\{[^}]*\}", "x", route.path) for routes in PATHS.values() for route in routes} | {"/", *CARDS})


@pytest.mark.parametrize("path", ALL_PATHS)
def test_a_path_takes_what_it_announces_and_nothing_else(ask: SendRequest, path: str) -> None:
    """OPTIONS tells the methods; each of them is more than refused, and every other one is refused with the same list."""
    options = ask("OPTIONS", path)
    assert (options.status, options.body) == (204, b"")
    allowed = options.headers["allow"].split(", ")
    for method in METHODS:
        answer = ask(method, path)
        if method in allowed:
            assert answer.status not in {405, 500, 501}, method
        else:
            assert (answer.status, answer.headers["allow"].split(", ")) == (405, allowed), method


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
def test_an_odd_path_is_answered_in_the_shape_of_the_protocol(ask: SendRequest, path: str, status: int) -> None:
    """Whatever a path looks like, it is a task that is not there or cannot be, or nothing; never a page of the framework, and never a redirect."""
    got = ask("GET", path)
    assert (got.status, got.headers["content-type"]) == (status, "application/json")
    if status != 200:
        assert json.loads(got.body)["error"]["code"] == status
    head = ask("HEAD", path)
    assert (head.status, head.body) == (status, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
