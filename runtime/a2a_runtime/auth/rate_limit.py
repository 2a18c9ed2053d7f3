"""How often a caller may ask: so many requests of a kind in so many seconds.

    Rates({"SendMessage": Rate(10, 60), ANY: Rate(600, 60)})                     counted in this process
    Rates({"SendMessage": Rate(10, 60)}, shared=True)                            counted in the agent's store, by all processes together
    Rates({"SendMessage": Rate(10, 60)}, counts)                                 counted by something of your own: one INCR in Redis, say

Before a body is read, each process also counts who sends it: whoever has asked more than all rates together allow is refused unread.
Callers who have proved nothing are counted by the address that they come from. An operation that has no rate of its own counts for ``ANY``.
A window begins with a caller's first request: whoever asks at the end of one and at the begin of the next may ask twice as much in a short time, and
never more.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from a2a_contract.errors import RateLimitedError
from a2a_runtime.auth.authentication import Credentials, InvalidCredentialsError
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.counters import CounterStore, WindowCount
from a2a_runtime.counters import MemoryCounter as MemoryCounts

ANY_OPERATION = "*"


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many requests in so many seconds."""

    requests: int
    seconds: float

    def __post_init__(self) -> None:
        if self.requests < 1 or self.seconds <= 0:
            raise ValueError("a rate lets at least one request in, in some time")


class TooManyRequestsError(RateLimitedError):
    """The caller has asked too often; ``after`` says in how many seconds it is worth asking again."""

    def __init__(self, seconds: float) -> None:
        self.retry_after_seconds = max(1, round(seconds + 0.5))
        super().__init__(f"Too many requests; ask again in {self.retry_after_seconds} s", details={"retry_after": str(self.retry_after_seconds)})


class WindowCounter(Protocol):
    """Counts things for a while."""

    def add(self, key: str, seconds: float) -> WindowCount | Awaitable[WindowCount]:
        """Count one more, and forget the key so many seconds after it was counted for the first time."""
        ...


class LocalCounter(MemoryCounts):
    """Counts in this process."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock or SystemClock())


@dataclass(frozen=True, slots=True)
class SharedCounter:
    """Counts in a store, together with all processes that share it."""

    store: CounterStore

    def add(self, key: str, seconds: float) -> Awaitable[WindowCount]:
        """Count one more."""
        return self.store.count(key, seconds)


class RateLimiter:
    """The rates of a surface; ``shared`` ones are counted in the store of the agent."""

    def __init__(self, limits: Mapping[str, RateLimit], counter: WindowCounter | None = None, *, shared: bool = False) -> None:
        if shared and counter is not None:
            raise ValueError("shared rates are counted in the store of the agent; leave out counts, or shared=True")
        self.shared = shared
        self._limits, self._counter = limits, LocalCounter() if counter is None else counter
        self._request_counter = self._counter if isinstance(self._counter, LocalCounter) else LocalCounter()
        self._combined_limit = _combine_limits(limits)

    def with_store(self, store: CounterStore) -> RateLimiter:
        """Give the same rates, counted in a store if they are shared."""
        return RateLimiter(self._limits, SharedCounter(store)) if self.shared else self

    def check_request(self, surface: str, caller: str) -> None:
        """Count a request of which nothing is known but who sends it, or raise that it is one too many, whatever it may ask."""
        if self._combined_limit is not None:
            count = self._request_counter.add(build_counter_key(surface, caller), self._combined_limit.seconds)
            if count.number > self._combined_limit.requests:
                raise TooManyRequestsError(count.seconds_left)

    async def check_operation(self, surface: str, caller: str, operation: str) -> None:
        """Count a request, or raise that it is one too many."""
        name = operation if operation in self._limits else ANY_OPERATION
        rate = self._limits.get(name)
        if rate is None:
            return
        found = self._counter.add(build_counter_key(surface, caller, name), rate.seconds)
        count = found if isinstance(found, WindowCount) else await found
        if count.number > rate.requests:
            raise TooManyRequestsError(count.seconds_left)


def _combine_limits(limits: Mapping[str, RateLimit]) -> RateLimit | None:
    """Find what only those exceed who exceed one of the rates too; nothing, if an operation without a rate may be asked for ever."""
    if ANY_OPERATION not in limits:
        return None
    longest = max(each.seconds for each in limits.values())
    return RateLimit(sum(each.requests * (math.ceil(longest / each.seconds) + 1) for each in limits.values()), longest)


def build_counter_key(*names: str) -> str:
    """Make a key of some names: short, and nothing that a client has said."""
    return blake2b("\0".join(names).encode(errors="surrogatepass"), digest_size=16).hexdigest()


# Who guesses keys and passwords is slowed down: wrong proofs are counted by where they come from, and by whom they name.
#
#     Guesses()                                                10 a minute for one name, 50 for all names, from one address
#     Guesses(of_name=Rate(5, 300), of_address=Rate(20, 300))
#     Guesses(of_name=None, of_address=None)                   as many as anybody likes
#
# Only addresses that guess have to wait: nobody can shut out somebody who calls from elsewhere. Many may share an address, behind a proxy that does
# not
# tell the server whom it speaks for: of them, whoever was let in with the same proof before still is, and a client that shows the same wrong key
# again
# and again makes no new guess. Of an IPv6 address the network counts (/64), since whoever has one address has them all.
#
# Counted in this process: with several replicas there are as many times as many guesses.
#

_MAX_REMEMBERED = 10_000
_IPV6_HOST_BITS = 64


class TooManyFailedAttemptsError(InvalidCredentialsError):
    """A proof that is not even looked at, because too many wrong ones came from the same address; ``after`` says how many seconds that lasts."""

    def __init__(self, seconds: float) -> None:
        super().__init__("Too many wrong proofs")
        self.retry_after_seconds = seconds


class FailedAttemptLimiter:
    """Counts wrong proofs. A proof is known again by a mark, from which nobody can tell what it was."""

    def __init__(
        self, per_name: RateLimit | None = RateLimit(10, 60), per_address: RateLimit | None = RateLimit(50, 60), clock: Clock | None = None
    ) -> None:
        self._per_name, self._per_address, self._clock = per_name, per_address, clock or SystemClock()
        self._counter = MemoryCounts(self._clock)
        self._accepted: dict[tuple[str, bytes], None] = {}
        self._rejected: dict[tuple[str, bytes], None] = {}
        self._longest_window_seconds = max((each.seconds for each in (per_name, per_address) if each), default=0.0)
        self._counting_until = float("-inf")

    def check(self, headers: Mapping[str, str], name: str, fingerprint: bytes) -> None:
        """Refuse a proof that comes from where too many were wrong."""
        if self._clock.monotonic() >= self._counting_until:  # nobody has guessed lately
            return
        client = _get_client_host(headers)
        if (client, fingerprint) in self._accepted:
            return
        for rate, key in self._select_limits(client, name):
            count = self._counter.get(key)
            if count.number >= rate.requests:
                raise TooManyFailedAttemptsError(count.seconds_left)

    def record_success(self, headers: Mapping[str, str], fingerprint: bytes) -> None:
        """Remember who was let in."""
        _remember(self._accepted, (_get_client_host(headers), fingerprint))

    def record_failure(self, headers: Mapping[str, str], name: str, fingerprint: bytes) -> None:
        """Count a guess, if it is a new one."""
        client = _get_client_host(headers)
        if (client, fingerprint) in self._rejected:
            return
        _remember(self._rejected, (client, fingerprint))
        for rate, key in self._select_limits(client, name):
            self._counter.add(key, rate.seconds)
        self._counting_until = self._clock.monotonic() + self._longest_window_seconds

    def _select_limits(self, host: str, name: str) -> Iterator[tuple[RateLimit, str]]:
        where = _to_network(host)
        if self._per_name is not None:
            yield self._per_name, build_counter_key(where, "name", name)
        if self._per_address is not None:
            yield self._per_address, build_counter_key(where)


def _get_client_host(headers: Mapping[str, str]) -> str:
    return headers.client_host if isinstance(headers, Credentials) else ""


def _to_network(host: str) -> str:
    """Name what one caller has at least: an address of version 4, a network of version 6."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    return str(address.ipv4_mapped or int(address) >> _IPV6_HOST_BITS)


def _remember(entries: dict[tuple[str, bytes], None], entry: tuple[str, bytes]) -> None:
    entries[entry] = None
    if len(entries) > _MAX_REMEMBERED:
        del entries[next(iter(entries))]
