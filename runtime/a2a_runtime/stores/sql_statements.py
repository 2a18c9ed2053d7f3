"""Base of the stores that keep tasks in SQL: the primitives of a database, and the time that all
processes on it share.

    _fetch        one reading statement
    _execute      one writing statement, committed when it returns
    _transact     several statements that are committed together
    _load_tasks   whole tasks by their keys
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from a2a_contract.errors import TaskNotFoundError
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.fragments import TaskRow
from a2a_runtime.stores.models import (
    StoredTask,
)

T = TypeVar("T")


class SqlTransaction(Protocol):
    """Statements that are committed together.

    They may be run twice, so a transaction changes nothing but the database.
    """

    async def fetch(self, section: str, /, **parameters: object) -> Sequence[TaskRow]:
        """Run a statement and return its rows."""
        ...

    async def load_task(self, key: str) -> StoredTask:
        """Load a task that exists."""
        ...


class SqlStatements(ABC):
    """The primitives of a database."""

    def __init__(self, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._clock = options.clock
        self._ids = IdGenerator(options.clock)
        self._shared_offset_millis = self._offset_to(options.clock.millis())

    @abstractmethod
    async def _fetch(self, section: str, /, **parameters: object) -> Sequence[TaskRow]: ...

    @abstractmethod
    async def _execute(self, section: str, /, **parameters: object) -> Sequence[TaskRow]: ...

    @abstractmethod
    async def _transact(self, work: Callable[[SqlTransaction], Coroutine[Any, Any, T]]) -> T: ...

    @abstractmethod
    async def _load_tasks(self, keys: Sequence[str]) -> Mapping[str, StoredTask]: ...

    def _offset_to(self, millis: int) -> int:
        """Return what the monotonic clock lacks to a point in time."""
        return millis - round(self._clock.monotonic() * 1000)

    def _shared_millis(self) -> int:
        """Return the time of leases and counters, the same for all processes on the store.

        It goes on from the first moment by the monotonic clock: a wall clock that is set, or that
        jumps ahead when a machine wakes up, must not end the leases of processes that live.
        """
        return self._shared_offset_millis + round(self._clock.monotonic() * 1000)


async def lock_task(transaction: SqlTransaction, scope: TaskScope, wire_id: str) -> object:
    """Lock the row of a task, so that each of its events sees all configurations, and return its
    key.
    """
    rows = await transaction.fetch("lock_task", scope=scope.to_text(), wire_id=wire_id)
    if not rows:
        raise TaskNotFoundError(details={"task_id": wire_id})
    return rows[0]["key"]


def to_list(surfaces: Collection[str] | None) -> list[str] | None:
    """Return surfaces as a parameter of a statement; ``None``: all of them."""
    if surfaces is None:
        return None
    return [*surfaces]
