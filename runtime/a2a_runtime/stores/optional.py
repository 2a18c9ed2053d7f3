"""Protocols of some stores, beside the port ``Store``: ``isinstance`` tells which a store has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class CountedOutbox(Protocol):
    """An outbox whose length metrics can tell."""

    async def count_deliveries(self) -> int:
        """Count the deliveries, due or not."""
        ...


@runtime_checkable
class ProbedStore(Protocol):
    """A store that may be out of reach while the process runs."""

    async def check(self) -> None:
        """Make one round trip; raise ``StoreUnavailableError``, or ``UnsupportedStoreError`` for a
        schema that does not fit this release.
        """
        ...


@runtime_checkable
class FileStore(Protocol):
    """A store in a file, which its first start creates."""

    path: Path


@runtime_checkable
class TimedStore(Protocol):
    """A store on a server, which has a clock of its own."""

    async def read_clock(self) -> float:
        """Read the time of the server, in seconds."""
        ...


@runtime_checkable
class MaintainedStore(Protocol):
    """A store that outlives its process: a file or a database, which an operator checks and
    shrinks.
    """

    async def open(self) -> None:
        """Prepare the store for its first call."""
        ...

    async def close(self) -> None:
        """Finish pending calls and release all resources."""
        ...

    async def find_damage(self) -> Sequence[str]:
        """Check the structure of the database, where it can be checked, and return what is
        wrong.
        """
        ...

    async def correct_totals(self) -> int:
        """Count all tasks, correct the kept totals of lists, and return how many were wrong.

        Writes go on meanwhile.
        """
        ...

    async def vacuum(self) -> None:
        """Return free space to the disk, or to the tables."""
        ...
