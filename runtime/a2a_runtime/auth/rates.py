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
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from a2a_contract.errors import RateLimitedError
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.stores.memory.counts import Counts as MemoryCounts
from a2a_runtime.stores.port import Tally
from a2a_runtime.stores.values import Count

ANY = "*"


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests in so many seconds."""

    requests: int
    seconds: float

    def __post_init__(self) -> None:
        if self.requests < 1 or self.seconds <= 0:
            raise ValueError("a rate lets at least one request in, in some time")


class TooOftenError(RateLimitedError):
    """The caller has asked too often; ``after`` says in how many seconds it is worth asking again."""

    def __init__(self, after: float) -> None:
        self.after = max(1, round(after + 0.5))
        super().__init__(f"Too many requests; ask again in {self.after} s", details={"retry_after": str(self.after)})


class Counts(Protocol):
    """Counts things for a while."""

    def add(self, key: str, seconds: float) -> Count | Awaitable[Count]:
        """Count one more, and forget the key so many seconds after it was counted for the first time."""
        ...


class LocalCounts(MemoryCounts):
    """Counts in this process."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock or SystemClock())


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """Counts in a store, together with all processes that share it."""

    store: Tally

    def add(self, key: str, seconds: float) -> Awaitable[Count]:
        """Count one more."""
        return self.store.count(key, seconds)


class Rates:
    """The rates of a surface; ``shared`` ones are counted in the store of the agent."""

    def __init__(self, rates: Mapping[str, Rate], counts: Counts | None = None, *, shared: bool = False) -> None:
        if shared and counts is not None:
            raise ValueError("shared rates are counted in the store of the agent; leave out counts, or shared=True")
        self.shared = shared
        self._rates, self._counts = rates, LocalCounts() if counts is None else counts
        self._knocks = self._counts if isinstance(self._counts, LocalCounts) else LocalCounts()
        self._all = _together(rates)

    def counted_in(self, store: Tally) -> Rates:
        """Give the same rates, counted in a store if they are shared."""
        return Rates(self._rates, SharedCounts(store)) if self.shared else self

    def knock(self, surface: str, caller: str) -> None:
        """Count a request of which nothing is known but who sends it, or raise that it is one too many, whatever it may ask."""
        if self._all is not None:
            count = self._knocks.add(digest_of(surface, caller), self._all.seconds)
            if count.number > self._all.requests:
                raise TooOftenError(count.left)

    async def spend(self, surface: str, caller: str, operation: str) -> None:
        """Count a request, or raise that it is one too many."""
        name = operation if operation in self._rates else ANY
        rate = self._rates.get(name)
        if rate is None:
            return
        found = self._counts.add(digest_of(surface, caller, name), rate.seconds)
        count = found if isinstance(found, Count) else await found
        if count.number > rate.requests:
            raise TooOftenError(count.left)


def _together(rates: Mapping[str, Rate]) -> Rate | None:
    """Find what only those exceed who exceed one of the rates too; nothing, if an operation without a rate may be asked for ever."""
    if ANY not in rates:
        return None
    longest = max(each.seconds for each in rates.values())
    return Rate(sum(each.requests * (math.ceil(longest / each.seconds) + 1) for each in rates.values()), longest)


def digest_of(*names: str) -> str:
    """Make a key of some names: short, and nothing that a client has said."""
    return blake2b("\0".join(names).encode(errors="surrogatepass"), digest_size=16).hexdigest()
