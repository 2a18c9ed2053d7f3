"""Open requests of the explorer, shared among its visitors: one of them takes at most as many
places as are left for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from a2a_contract.errors import RateLimitedError
from a2a_runtime.base.caller import to_network
from a2a_runtime.http.asgi import HttpRequest

MAX_OPEN_REQUESTS = 64


class Places:
    """Counts the open requests, by the addresses of their visitors."""

    def __init__(self) -> None:
        self._taken = Counter[str]()

    @contextmanager
    def take(self, request: HttpRequest) -> Generator[None, None, None]:
        """Take a place while a request is open; ``RateLimitedError`` if the visitor has half of
        what was free, or none is left.
        """
        visitor = _find_visitor(request)
        if self._taken[visitor] >= MAX_OPEN_REQUESTS - self._taken.total():
            raise RateLimitedError(
                f"Explorer: {self._taken[visitor]} of your requests are open; close a "
                "stream, and try again"
            )
        self._taken[visitor] += 1
        try:
            yield
        finally:
            self._taken[visitor] -= 1
            if not self._taken[visitor]:
                del self._taken[visitor]


def _find_visitor(request: HttpRequest) -> str:
    """Find the address of a visitor; an IPv6 address counts as its network."""
    address = request.client_address
    if address:
        return to_network(address)
    return ""
