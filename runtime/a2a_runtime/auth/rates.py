"""How often a caller may ask: so many requests of a kind in so many seconds.

    Rates({"SendMessage": Rate(10, 60), ANY: Rate(600, 60)})                             in this process
    Rates({…}, SharedCounts(RedisStore.with_client(url="redis://…")))                    with all replicas, in a store of Litestar

Callers who have proved nothing are counted by the address that they come from. An operation that has no rate of its own counts for ``ANY``.
Windows are fixed: whoever asks at the end of one and at the begin of the next may ask twice as much in a short time, and never more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from a2a_contract.errors import RateLimitedError
from a2a_runtime.clock import Clock, SystemClock

ANY = "*"
_CALLERS = 100_000


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

    def add(self, key: str, seconds: float) -> int | Awaitable[int]:
        """Count one more, forget the key after some seconds, and say how many there are."""
        ...


class LocalCounts:
    """Counts in memory, for so many callers at once that nobody can fill it."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def add(self, key: str, seconds: float) -> int:  # noqa: ARG002 - the oldest go first
        """Count."""
        count = self._counts[key] = self._counts.pop(key, 0) + 1
        if len(self._counts) > _CALLERS:
            self._counts.popitem(last=False)
        return count


class BytesStore(Protocol):
    """As much of a store of Litestar as is needed."""

    async def get(self, key: str) -> bytes | None:
        """Read a value."""
        ...

    async def set(self, key: str, value: str | bytes, expires_in: int) -> None:
        """Write a value that is forgotten after some seconds."""
        ...


class SharedCounts:
    """Counts in a store that several processes share; requests at the very same moment may be counted as one."""

    def __init__(self, store: BytesStore) -> None:
        self._store = store

    async def add(self, key: str, seconds: float) -> int:
        """Count."""
        count = int(await self._store.get(key) or 0) + 1
        await self._store.set(key, str(count), round(seconds) + 1)
        return count


class Rates:
    """The rates of a surface."""

    def __init__(self, rates: Mapping[str, Rate], counts: Counts | None = None, clock: Clock | None = None) -> None:
        self._rates, self._counts, self._clock = rates, counts or LocalCounts(), clock or SystemClock()

    async def spend(self, surface: str, caller: str, operation: str) -> None:
        """Count a request, or raise that it is one too many."""
        name = operation if operation in self._rates else ANY
        rate = self._rates.get(name)
        if rate is None:
            return
        window, passed = divmod(self._clock.millis() / 1000, rate.seconds)
        text = "\0".join((surface, caller, name, str(window)))
        found = self._counts.add(f"a2a-rate-{blake2b(text.encode(), digest_size=16).hexdigest()}", rate.seconds)
        if (found if isinstance(found, int) else await found) > rate.requests:
            raise TooOftenError(rate.seconds - passed)
