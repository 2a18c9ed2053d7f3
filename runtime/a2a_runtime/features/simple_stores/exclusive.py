"""One process at a time on a storage: a record with a lease, as the data of a context that no
client can name.

A storage without contexts cannot tell; then it is up to the operator. A record is left by a process
that died: it is taken over at once if that process ran on this machine and is gone, else as soon as
its lease has expired.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from secrets import token_hex

from pydantic import TypeAdapter, ValidationError

from a2a_runtime.base.clock import Clock
from a2a_runtime.errors import StoreInUseError
from a2a_runtime.features.simple_stores.reserved import PREFIX

PROCESS_CONTEXT = f"{PREFIX}process"

_TOKEN = token_hex(8)
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process that uses a storage; ``token`` tells apart processes that had the same id one after
    the other.
    """

    host: str
    pid: int
    token: str
    until: int  # milliseconds since 1970

    @property
    def is_gone(self) -> bool:
        """Return whether the process ran on this machine and does not any more."""
        if self.host != socket.gethostname() or self.token == _TOKEN:
            return False
        if self.pid == os.getpid():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


_RECORD = TypeAdapter(ProcessRecord)


class ProcessLease:
    """The record of this process."""

    def __init__(
        self,
        clock: Clock,
        lease_seconds: float,
        load: Callable[[], Awaitable[object]],
        save: Callable[[object], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._load = load
        self._save = save

    async def acquire(self) -> None:
        """Write the record; raise ``StoreInUseError`` if another process is alive, and wait for the
        end of its lease to find out.
        """
        first = found = await self._read()
        while found is not None and not found.is_gone and found.until > self._clock.millis():
            if first is None or found.token == _TOKEN or found.until > first.until:
                raise StoreInUseError(
                    f"storage: process {found.pid} on {found.host} uses it; run one process, "
                    "or use Postgres, which many can share"
                )
            await self._clock.sleep(_POLL_SECONDS)
            found = await self._read()
        await self.renew()

    async def renew(self) -> None:
        """Prolong the lease."""
        until = self._clock.millis() + round(self._lease_seconds * 1000)
        await self._save(
            _RECORD.dump_python(ProcessRecord(socket.gethostname(), os.getpid(), _TOKEN, until))
        )

    async def release(self) -> None:
        """Remove the record."""
        await self._save({})

    async def _read(self) -> ProcessRecord | None:
        try:
            return _RECORD.validate_python(await self._load())
        except ValidationError:
            return None
