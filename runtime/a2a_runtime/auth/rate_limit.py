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
from a2a_runtime.auth.authentication import Credentials, RefusedError
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.counters import Count, Tally
from a2a_runtime.counters import Counts as MemoryCounts

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

_REMEMBERED = 10_000
_HOST_BITS = 64


class GuessedTooOftenError(RefusedError):
    """A proof that is not even looked at, because too many wrong ones came from the same address; ``after`` says how many seconds that lasts."""

    def __init__(self, after: float) -> None:
        super().__init__("Too many wrong proofs")
        self.after = after


class Guesses:
    """Counts wrong proofs. A proof is known again by a mark, from which nobody can tell what it was."""

    def __init__(self, of_name: Rate | None = Rate(10, 60), of_address: Rate | None = Rate(50, 60), clock: Clock | None = None) -> None:
        self._of_name, self._of_address, self._clock = of_name, of_address, clock or SystemClock()
        self._counts = MemoryCounts(self._clock)
        self._right: dict[tuple[str, bytes], None] = {}
        self._wrong: dict[tuple[str, bytes], None] = {}
        self._seconds = max((each.seconds for each in (of_name, of_address) if each), default=0.0)
        self._quiet_after = float("-inf")

    def check(self, headers: Mapping[str, str], name: str, mark: bytes) -> None:
        """Refuse a proof that comes from where too many were wrong."""
        if self._clock.monotonic() >= self._quiet_after:  # nobody has guessed lately
            return
        client = _client(headers)
        if (client, mark) in self._right:
            return
        for rate, key in self._counted(client, name):
            count = self._counts.get(key)
            if count.number >= rate.requests:
                raise GuessedTooOftenError(count.left)

    def was_right(self, headers: Mapping[str, str], mark: bytes) -> None:
        """Remember who was let in."""
        _remember(self._right, (_client(headers), mark))

    def was_wrong(self, headers: Mapping[str, str], name: str, mark: bytes) -> None:
        """Count a guess, if it is a new one."""
        client = _client(headers)
        if (client, mark) in self._wrong:
            return
        _remember(self._wrong, (client, mark))
        for rate, key in self._counted(client, name):
            self._counts.add(key, rate.seconds)
        self._quiet_after = self._clock.monotonic() + self._seconds

    def _counted(self, client: str, name: str) -> Iterator[tuple[Rate, str]]:
        where = _network(client)
        if self._of_name is not None:
            yield self._of_name, digest_of(where, "name", name)
        if self._of_address is not None:
            yield self._of_address, digest_of(where)


def _client(headers: Mapping[str, str]) -> str:
    return headers.client if isinstance(headers, Credentials) else ""


def _network(client: str) -> str:
    """Name what one caller has at least: an address of version 4, a network of version 6."""
    try:
        address = ip_address(client)
    except ValueError:
        return client
    if not isinstance(address, IPv6Address):
        return client
    return str(address.ipv4_mapped or int(address) >> _HOST_BITS)


def _remember(known: dict[tuple[str, bytes], None], what: tuple[str, bytes]) -> None:
    known[what] = None
    if len(known) > _REMEMBERED:
        del known[next(iter(known))]
