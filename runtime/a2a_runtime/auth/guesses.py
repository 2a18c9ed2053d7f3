"""Who guesses keys and passwords is slowed down: wrong proofs are counted by where they come from, and by whom they name.

    Guesses()                                                10 a minute for one name, 50 for all names, from one address
    Guesses(of_name=Rate(5, 300), of_address=Rate(20, 300))
    Guesses(of_name=None, of_address=None)                   as many as anybody likes

Only addresses that guess have to wait: nobody can shut out somebody who calls from elsewhere. Many may share an address, behind a proxy that does not
tell the server whom it speaks for: of them, whoever was let in with the same proof before still is, and a client that shows the same wrong key again
and again makes no new guess. Of an IPv6 address the network counts (/64), since whoever has one address has them all.

Counted in this process: with several replicas there are as many times as many guesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address, ip_address

from a2a_runtime.auth.credentials import Credentials
from a2a_runtime.auth.identity import RefusedError
from a2a_runtime.auth.rates import Rate, digest_of
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.stores.memory.counts import Counts

_REMEMBERED = 10_000
_HOST_BITS = 64


class GuessedTooOftenError(RefusedError):
    """A proof that is not even looked at, because too many wrong ones came from the same address; ``after`` says how many seconds that lasts."""

    def __init__(self, after: float) -> None:
        super().__init__("Too many wrong proofs")
        self.after = after


class Guesses:
    """Counts wrong proofs. A proof is known again by a mark, from which nobody can tell what it was."""

    def __init__(self, of_name: Rate | None = Rate(10, 60), of_address: Rate | None = Rate(50, 60), clock: Clock | None = None) -> None:  # noqa: B008 - frozen
        self._of_name, self._of_address, self._clock = of_name, of_address, clock or SystemClock()
        self._counts = Counts(self._clock)
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
