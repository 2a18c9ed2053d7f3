"""State of a Postgres store: connections, pipelines, cached names of tasks; statements and their
parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import asyncpg

from a2a_contract.errors import TaskNotFoundError
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.features.postgres.pipeline import StatementPipeline
from a2a_runtime.features.postgres.pool import Connection, Pool, PoolSettings
from a2a_runtime.stores import fragments, sql
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.changes import RecentTasks
from a2a_runtime.stores.models import StoredTask, TaskHead
from a2a_runtime.stores.sql_statements import SqlTransaction
from a2a_runtime.stores.sql_store import SqlStore

T = TypeVar("T")

_INCLUDE = re.compile(r"\{(\w+)\}")
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_MAX_CACHED_NAMES = 20_000

JOB_NAME = "a2a_gen.run"
"""Name of the jobs of tasks in the tables of the engine, which other programs may use too."""
_FULL_TASK = (None, True)  # all of the history, and the artifacts


class Statement(NamedTuple):
    """A statement, and the names of its numbered parameters."""

    text: str
    parameters: Sequence[str]

    def arrange(self, values: dict[str, object]) -> list[object]:
        """Put the values of named parameters into the order of their numbers."""
        return [values[name] for name in self.parameters]


def _compile_statements(*files: str) -> dict[str, Statement]:
    """Load sections, expand ``{section}`` and ``{active_states}``, and number their ``:name``
    parameters; sections with ``$1`` stay as they are.
    """
    active_states = ", ".join(f"'{state}'" for state in sorted(lifecycle.ACTIVE))
    sections = {**sql.load(__package__ or "", *files), "active_states": active_states}

    def expand(text: str) -> str:
        return _INCLUDE.sub(lambda match: expand(sections[match[1]]), text)

    def compile_statement(text: str) -> Statement:
        names = list(dict.fromkeys(_PARAMETER.findall(text)))
        return Statement(_PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", text), names)

    return {name: compile_statement(expand(text)) for name, text in sections.items()}


STATEMENTS = _compile_statements(
    "tasks.sql", "lists.sql", "contexts.sql", "runs.sql", "pushes.sql", "counts.sql", "queue.sql"
)
SQL = {name: statement.text for name, statement in STATEMENTS.items()}


class TaskNames(NamedTuple):
    """The immutable names of a task."""

    scope: str
    ids: bytes
    has_webhooks: bool = False
    """A hint, which chooses the statement for a change."""


def to_stored_task(row: asyncpg.Record) -> StoredTask:
    """Build a task from a row with its messages and chunks."""
    chunks = zip(row["ids"], row["facts"], row["parts"], strict=True) if row["ids"] else ()
    return fragments.to_stored_task(row, row["bodies"] or (), chunks)


class PostgresTransaction:
    """Statements on one connection, committed together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, section: str, /, **parameters: object) -> Sequence[asyncpg.Record]:
        """Run a statement and return its rows."""
        statement = STATEMENTS[section]
        return await self._connection.fetch(statement.text, *statement.arrange(parameters))

    async def load_task(self, key: str) -> StoredTask:
        """Load a task that exists."""
        (row,) = await self._connection.fetch(SQL["load_tasks"], *_FULL_TASK, [key])
        return to_stored_task(row)


class PostgresBase(SqlStore):
    """Everything true is in the database.

    Only names of tasks are cached, because they never change.
    """

    def __init__(
        self, dsn: str, options: StoreOptions = DEFAULT_OPTIONS, pool: PoolSettings | None = None
    ) -> None:
        super().__init__(options)
        self._pool = Pool(dsn, pool, options.fail_point)
        self._inserts = StatementPipeline(self._pool, options.fail_point)
        self._updates = StatementPipeline(self._pool, options.fail_point)
        self._claims = StatementPipeline(self._pool, options.fail_point)
        self._loads = StatementPipeline(self._pool, width=2)
        self._recent_tasks = RecentTasks()
        self._names: dict[str, TaskNames] = {}

    async def _fetch(self, section: str, /, **parameters: object) -> Sequence[asyncpg.Record]:
        statement = STATEMENTS[section]
        return await self._pool.fetch(statement.text, *statement.arrange(parameters))

    _execute = _fetch

    async def _transact(self, work: Callable[[SqlTransaction], Coroutine[Any, Any, T]]) -> T:
        async with self._pool.transaction() as connection:
            return await work(PostgresTransaction(connection))

    async def _load_tasks(self, keys: Sequence[str]) -> dict[str, StoredTask]:
        rows = await self._pool.fetch(SQL["load_tasks"], *_FULL_TASK, keys) if keys else ()
        return {task.key: task for task in map(to_stored_task, rows)}

    def _cache_names(self, key: str, names: TaskNames) -> None:
        if len(self._names) >= _MAX_CACHED_NAMES:
            del self._names[next(iter(self._names))]
        self._names[key] = names

    async def _get_names(self, scope: TaskScope, key: str) -> TaskNames:
        names = self._names.get(key)
        if names is None:
            await self._load_head(scope, key)
            names = self._names[key]
        if names.scope != scope.to_text():
            raise TaskNotFoundError
        return names

    async def _load_head(self, scope: TaskScope, key: str) -> TaskHead:
        row = await self._pool.fetchrow(SQL["load_head"], parse_key(key), scope.to_text())
        if row is None:
            raise TaskNotFoundError
        self._cache_names(
            key, TaskNames(scope.to_text(), fragments.join_ids(row["wire_id"], row["context_id"]))
        )
        return fragments.to_task_head(row)


def parse_key(key: str) -> UUID:
    """Parse a key; raise ``TaskNotFoundError`` if it is not a UUID, since no task has it."""
    try:
        return UUID(key)
    except ValueError as error:
        raise TaskNotFoundError from error
