"""Rate limits per caller and operation, and a limit on failed authentication attempts.

    RateLimiter({"SendMessage": RateLimit(10, 60), ANY_OPERATION: RateLimit(600, 60)})
        counted in this process
    RateLimiter({"SendMessage": RateLimit(10, 60)}, shared=True)
        counted in the agent's store, by all processes together
    RateLimiter({"SendMessage": RateLimit(10, 60)}, count)
        counted by a function of your own, e.g. one INCR in Redis

An operation without a limit counts for ``ANY_OPERATION``. Anonymous callers are counted by their
address. Before a body is read, each process also counts all requests of a caller, and rejects those
beyond the sum of all limits unread.

A window begins with the first request of a caller. At the boundary of two windows a caller can send
up to twice the limit within one window's time.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

from a2a_contract.errors import RateLimitedError
from a2a_runtime.auth.authentication import Credentials, InvalidCredentialsError
from a2a_runtime.base.caller import to_network
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.base.counters import CounterStore, MemoryCounter, WindowCount

ANY_OPERATION = "*"
_MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A number of requests per window."""

    requests: int
    seconds: float

    def __post_init__(self) -> None:
        if self.requests < 1 or self.seconds <= 0:
            raise ValueError(
                f"RateLimit: {self.requests} requests in {self.seconds} s are not allowed; "
                "both numbers must be positive"
            )


class TooManyRequestsError(RateLimitedError):
    """The caller exceeded a rate limit."""

    def __init__(self, seconds: float) -> None:
        self.retry_after_seconds = max(1, round(seconds + 0.5))
        super().__init__(
            f"Too many requests; retry after {self.retry_after_seconds} s",
            details={"retry_after": str(self.retry_after_seconds)},
        )


class TooManyFailedAttemptsError(InvalidCredentialsError):
    """Credentials that are not checked, because too many invalid ones came from the same
    address.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__("Too many failed attempts")
        self.retry_after_seconds = seconds


Count: TypeAlias = Callable[[str, float], WindowCount | Awaitable[WindowCount]]
"""Adds one to the count of a key within a window of some seconds; the first one of a key starts its
window.
"""


class RateLimiter:
    """The rate limits of a surface; ``shared`` ones are counted in the agent's store."""

    def __init__(
        self,
        limits: Mapping[str, RateLimit],
        count: Count | None = None,
        *,
        shared: bool = False,
        clock: Clock | None = None,
    ) -> None:
        if shared and count is not None:
            raise ValueError(
                "RateLimiter: shared limits are counted in the store; leave out count or "
                "shared=True"
            )
        self.shared = shared
        self._limits = limits
        self._request_counter = MemoryCounter(clock or SystemClock())
        self._count = count or self._request_counter.add
        self._combined_limit = _combine_limits(limits)

    def with_store(self, store: CounterStore) -> RateLimiter:
        """Return a limiter that counts in a store, if the limits are shared."""
        if self.shared:
            return RateLimiter(self._limits, store.count)
        return self

    def check_request(self, surface: str, caller: str) -> None:
        """Count a request whose operation is not known yet against the sum of all limits."""
        if self._combined_limit is not None:
            count = self._request_counter.add(
                build_counter_key(surface, caller), self._combined_limit.seconds
            )
            if count.number > self._combined_limit.requests:
                raise TooManyRequestsError(count.seconds_left)

    async def check_operation(self, surface: str, caller: str, operation: str) -> None:
        """Count a request against the limit of its operation."""
        name = operation if operation in self._limits else ANY_OPERATION
        limit = self._limits.get(name)
        if limit is None:
            return
        added = self._count(build_counter_key(surface, caller, name), limit.seconds)
        count = added if isinstance(added, WindowCount) else await added
        if count.number > limit.requests:
            raise TooManyRequestsError(count.seconds_left)


def _combine_limits(limits: Mapping[str, RateLimit]) -> RateLimit | None:
    """Find a limit that only a caller exceeds who exceeds one of the given ones; none if an
    operation is unlimited.
    """
    if ANY_OPERATION not in limits:
        return None
    longest = max(each.seconds for each in limits.values())
    return RateLimit(
        sum(each.requests * (math.ceil(longest / each.seconds) + 1) for each in limits.values()),
        longest,
    )


def build_counter_key(*names: str) -> str:
    """Hash some names: the key is short, and no text of a client is stored."""
    return blake2b("\0".join(names).encode(errors="surrogatepass"), digest_size=16).hexdigest()


class FailedAttemptLimiter:
    """Blocks an address after too many invalid API keys or passwords, per name and in total.

        FailedAttemptLimiter()
            10 per minute and name, 50 per minute for all names
        FailedAttemptLimiter(per_name=RateLimit(5, 300), per_address=RateLimit(20, 300))
        FailedAttemptLimiter(per_name=None, per_address=None)
            no limit

    Only the address that fails is blocked, so no caller can lock out one at another address.
    Callers behind one proxy may share an address: valid credentials that were accepted from it
    before are still accepted, and the same invalid ones count once. An IPv6 address counts as its
    /64 network, because its owner has all addresses of it.

    Credentials are remembered by a ``fingerprint`` that does not reveal them. Attempts are counted
    in this process: N replicas allow N times as many.
    """

    def __init__(
        self,
        per_name: RateLimit | None = RateLimit(10, 60),
        per_address: RateLimit | None = RateLimit(50, 60),
        clock: Clock | None = None,
    ) -> None:
        self._per_name = per_name
        self._per_address = per_address
        self._clock = clock or SystemClock()
        self._counter = MemoryCounter(self._clock)
        self._accepted: dict[tuple[str, bytes], None] = {}
        self._rejected: dict[tuple[str, bytes], None] = {}
        self._longest_window_seconds = max(
            (each.seconds for each in (per_name, per_address) if each), default=0.0
        )
        self._counting_until = float("-inf")

    def check(self, headers: Mapping[str, str], name: str, fingerprint: bytes) -> None:
        """Raise ``TooManyFailedAttemptsError`` if the address of a request is blocked."""
        # the common case first: no attempt failed lately
        if self._clock.monotonic() >= self._counting_until:
            return
        host = _get_client_host(headers)
        if (host, fingerprint) in self._accepted:
            return
        for limit, key in self._select_limits(host, name):
            count = self._counter.get(key)
            if count.number >= limit.requests:
                raise TooManyFailedAttemptsError(count.seconds_left)

    def record_success(self, headers: Mapping[str, str], fingerprint: bytes) -> None:
        """Remember accepted credentials."""
        _remember(self._accepted, (_get_client_host(headers), fingerprint))

    def record_failure(self, headers: Mapping[str, str], name: str, fingerprint: bytes) -> None:
        """Count rejected credentials, unless they are the same as before."""
        host = _get_client_host(headers)
        if (host, fingerprint) in self._rejected:
            return
        _remember(self._rejected, (host, fingerprint))
        for limit, key in self._select_limits(host, name):
            self._counter.add(key, limit.seconds)
        self._counting_until = self._clock.monotonic() + self._longest_window_seconds

    def _select_limits(self, host: str, name: str) -> Iterator[tuple[RateLimit, str]]:
        network = to_network(host)
        if self._per_name is not None:
            yield self._per_name, build_counter_key(network, "name", name)
        if self._per_address is not None:
            yield self._per_address, build_counter_key(network)


def _get_client_host(headers: Mapping[str, str]) -> str:
    if isinstance(headers, Credentials):
        return headers.client_host
    return ""


def _remember(entries: dict[tuple[str, bytes], None], entry: tuple[str, bytes]) -> None:
    entries[entry] = None
    if len(entries) > _MAX_REMEMBERED:
        del entries[next(iter(entries))]
