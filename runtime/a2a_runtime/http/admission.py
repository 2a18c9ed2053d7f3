"""Admission control: the concurrency and rate limits of one surface, before a request costs
anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from a2a_contract.binding import Operation
from a2a_contract.errors import RateLimitedError, UnavailableError
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.counters import CounterStore
from a2a_runtime.http.asgi import HttpRequest
from a2a_runtime.surface import Surface


class AdmissionControl:
    """Concurrency and rate limits of one surface."""

    def __init__(self, surface: Surface, counters: CounterStore | None = None) -> None:
        self._storage_key = surface.storage_key
        self._max_concurrent = surface.limits.concurrency
        self._rate_limiter = surface.rate_limiter
        if self._rate_limiter is not None and counters is not None:
            self._rate_limiter = self._rate_limiter.with_store(counters)
        self._active = 0

    @classmethod
    def build(
        cls, surface: Surface, counters: CounterStore | None = None
    ) -> AdmissionControl | None:
        """Build the admission control of a surface, if it has limits."""
        if surface.rate_limiter is None and surface.limits.concurrency is None:
            return None
        return cls(surface, counters)

    def enter(self, request: HttpRequest, caller: Caller) -> None:
        """Admit a request before its body is read: check the combined rate limit of its caller, and
        take a slot.
        """
        if self._rate_limiter is not None:
            self._rate_limiter.check_request(self._storage_key, rate_limit_key(request, caller))
        if self._max_concurrent is not None:
            if self._active >= self._max_concurrent:
                raise UnavailableError
            self._active += 1
            request.has_slot = True

    def leave(self, request: HttpRequest) -> None:
        """Release the slot of a request."""
        if request.has_slot:
            request.has_slot = False
            self._active -= 1

    async def check_operation(
        self, request: HttpRequest, operation: Operation, caller: Caller
    ) -> None:
        """Check the rate limit of one operation."""
        if self._rate_limiter is not None:
            await self._rate_limiter.check_operation(
                self._storage_key, rate_limit_key(request, caller), operation.name
            )


class CallerStreams:
    """Open streams of each caller of one surface."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._counts: Counter[str] = Counter()

    @contextmanager
    def hold(self, key: str) -> Generator[None, None, None]:
        """Count a stream while it is open; refuse one beyond the limit."""
        if self._counts[key] >= self.limit:
            raise RateLimitedError(f"There are {self.limit} open streams of this caller; close one")
        self._counts[key] += 1
        try:
            yield
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]


def rate_limit_key(request: HttpRequest, caller: Caller) -> str:
    """Name whom the limits of a request count for: its caller, or the network of an anonymous
    one.
    """
    return caller.limit_key(request.client_address)
