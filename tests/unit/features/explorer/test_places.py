"""Open requests of the explorer, shared among its visitors."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from a2a_contract.errors import RateLimitedError
from a2a_runtime.features.explorer.places import MAX_OPEN_REQUESTS, Places
from a2a_runtime.http.asgi import HttpRequest
from a2a_runtime.service.context import ProtocolBinding


async def _ignore(*_: Any) -> Any:  # noqa: ANN401 - of ASGI
    return {}


def build_request(host: str) -> HttpRequest:
    """Build a request of a visitor."""
    scope: Any = {
        "type": "http",
        "client": (host, 1),
        "headers": [],
        "path": "/",
        "method": "GET",
        "query_string": b"",
    }
    return HttpRequest(scope, _ignore, _ignore, ProtocolBinding.HTTP)


def test_one_visitor_leaves_as_many_places_as_they_take() -> None:
    """The addresses of an IPv6 network are one visitor; a place that is given back is free for
    both.
    """
    places = Places()
    crowd = ExitStack()
    other = ExitStack()
    for number in range(MAX_OPEN_REQUESTS // 2):
        crowd.enter_context(places.take(build_request(f"2001:db8::{number:x}")))
    with (
        pytest.raises(RateLimitedError, match="32 of your requests are open; close a stream"),
        places.take(build_request("2001:db8::ffff")),
    ):
        pass
    for _ in range(MAX_OPEN_REQUESTS // 4):
        other.enter_context(places.take(build_request("192.0.2.1")))
    with places.take(build_request("192.0.2.2")):
        pass
    crowd.close()
    for _ in range(MAX_OPEN_REQUESTS // 4):
        other.enter_context(places.take(build_request("192.0.2.1")))
    other.close()
    with places.take(build_request("2001:db8::ffff")):
        pass
