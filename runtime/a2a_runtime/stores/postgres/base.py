"""What the roles of the Postgres store share: connections, the options, and the names of tasks."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.caller import TaskScope
from a2a_runtime.ids import IdGenerator
from a2a_runtime.stores import fragments as task_row
from a2a_runtime.stores import sql
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.changes import RecentTasks
from a2a_runtime.stores.models import LoggedEvent, StoredTask
from a2a_runtime.stores.postgres.pipeline import StatementPipeline
from a2a_runtime.stores.postgres.pool import Pool, PoolSettings

# What rows of the database mean.


@dataclass(frozen=True, slots=True)
class TaskNames:
    """What a task is called; it never changes."""

    scope: str
    wire_id: str
    context_id: str


@dataclass(frozen=True, slots=True)
class PostgresTaskHead:
    """What the rules ask of a task, and when its status was set."""

    state: State
    version: int
    epoch: int
    process: str | None
    status_at: int


def to_task_head(row: asyncpg.Record) -> PostgresTaskHead:
    """Read what the rules ask."""
    return PostgresTaskHead(State(row["state"]), row["version"], row["epoch"], row["process"], row["status_at"])


def to_logged_event(row: asyncpg.Record) -> LoggedEvent:
    """Read an event."""
    return LoggedEvent(row["seq"], row["body"], State(row["state"]))


def to_stored_task(row: asyncpg.Record) -> StoredTask:
    """Read a whole task."""
    chunks = zip(row["ids"], row["facts"], row["parts"], strict=True) if row["ids"] else ()
    return task_row.to_stored_task(row, row["bodies"] or (), chunks)


# The statements of the store, by their names in the ``.sql`` files beside this one.

_SECTIONS = sql.load(__package__ or "", "tasks.sql", "contexts.sql", "runs.sql", "pushes.sql", "counts.sql")
_INCLUDE = re.compile(r"\{(\w+)\}")


def _expand_includes(text: str) -> str:
    """Put other sections where a statement names them."""
    return _INCLUDE.sub(lambda name: _expand_includes(_SECTIONS[name[1]]), text)


SQL = {name: _expand_includes(text) for name, text in _SECTIONS.items()}


_MAX_CACHED_NAMES = 20_000
FULL_TASK = (None, True)  # all of the history, and the artifacts


class PostgresBase:
    """The state of a Postgres store. All that is true is in the database; the names of tasks are kept here because they never change."""

    def __init__(self, dsn: str, options: StoreOptions = DEFAULT_OPTIONS, pool: PoolSettings | None = None) -> None:
        self._options = options
        self._clock = options.clock
        self._ids = IdGenerator(options.clock)
        self._pool = Pool(dsn, pool, options.fail_point)
        self._inserts = StatementPipeline(self._pool, SQL["create_task"], options.fail_point)
        self._updates = StatementPipeline(self._pool, SQL["update_task"], options.fail_point)
        self._loads = StatementPipeline(self._pool, SQL["load_task"], width=2)
        self._recent_tasks = RecentTasks()
        self._names: dict[str, TaskNames] = {}
        self._unconfirmed: dict[str, set[UUID]] = {}
        self._server_offset_millis = 0

    def _server_millis(self) -> int:
        """Say what time it is for all processes alike: that of the server when this store was opened, and what has passed since.

        Leases are compared between machines, and a wall clock that is wrong by a minute must not take away the tasks of all the others.
        """
        return self._server_offset_millis + round(self._clock.monotonic() * 1000)

    @contextmanager
    def _track_unconfirmed(self, process: str | None, key: UUID) -> Generator[None]:
        """Take note of a task that a process may have got without being told; with its next beat it gives such tasks back, since nobody runs them."""
        try:
            yield
        except BaseException:
            if process is not None:
                self._unconfirmed.setdefault(process, set()).add(key)
            raise

    def _cache_names(self, key: str, names: TaskNames) -> TaskNames:
        if len(self._names) >= _MAX_CACHED_NAMES:
            del self._names[next(iter(self._names))]
        self._names[key] = names
        return names

    async def _get_names(self, scope: TaskScope, key: str) -> TaskNames:
        names = self._names.get(key)
        if names is None:
            await self._load_head(scope, key)
            names = self._names[key]
        if names.scope != scope.to_text():
            raise TaskNotFoundError
        return names

    async def _load_head(self, scope: TaskScope, key: str) -> PostgresTaskHead:
        row = await self._pool.fetchrow(SQL["head_of_task"], parse_key(key), scope.to_text())
        if row is None:
            raise TaskNotFoundError
        self._cache_names(key, TaskNames(scope.to_text(), row["wire_id"], row["context_id"]))
        return to_task_head(row)

    async def _require_key(self, scope: TaskScope, wire_id: str) -> UUID:
        row = await self._pool.fetchrow(SQL["find_task"], scope.to_text(), wire_id)
        if row is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        key: UUID = row["key"]
        return key

    async def _load_tasks(self, keys: Sequence[UUID]) -> dict[str, StoredTask]:
        found = await self._pool.fetch(SQL["load_tasks"], *FULL_TASK, keys)
        return {task.key: task for task in map(to_stored_task, found)}


def parse_key(key: str) -> UUID:
    """Read a key; what is none of ours belongs to no task."""
    try:
        return UUID(key)
    except ValueError as error:
        raise TaskNotFoundError from error
