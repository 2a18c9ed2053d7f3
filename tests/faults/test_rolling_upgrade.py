"""The schema is upgraded while processes of the release before write: nothing of theirs fails,
waits for the upgrade, or is lost.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from a2a_contract.lifecycle import INITIAL, State
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres import REQUIRED_VERSION, PostgresStore, schema, upgrade
from a2a_runtime.stores import changes, sql
from a2a_runtime.stores.fragments import encode_task_event
from a2a_runtime.stores.models import TaskChange, TaskQuery
from a2a_runtime.testing.embedded_postgres import DatabaseFactory
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_new_task,
    get_artifact_texts,
    replace_artifact,
)

pytestmark = pytest.mark.anyio

_OLD = sql.parse(
    (Path(__file__).with_name("schema_5.sql")).read_text(encoding="utf-8"), "schema_5.sql"
)
_CLOCK = SystemClock()
_IDS = IdGenerator(_CLOCK)
_TIMEOUT_SECONDS = 60
_WRITERS = 3
_TASKS = 10
"""Tasks that each writer has to finish in each phase."""
_CHUNKS = 3


_LOCK = "UPDATE a2a_tasks SET crashes = 0 WHERE false"
"""Takes the lock of a writer on the table, and none on a row."""


_INVALID = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"


@dataclass
class OldWriter:
    """A process of the release before: it creates tasks and writes them to their ends, with the
    statements of its time.
    """

    url: str
    finished: list[str] = field(default_factory=list[str])
    stopping: bool = False

    async def run(self) -> None:
        """Write until it is stopped."""
        connection = await asyncpg.connect(self.url)
        try:
            while not self.stopping:
                self.finished.append(await self._write_task(connection))
        finally:
            await connection.close()

    def stop(self) -> None:
        """Stop after the task in progress."""
        self.stopping = True

    async def _write_task(self, connection: asyncpg.Connection) -> str:
        rows = changes.build_new_rows(build_new_task(), _IDS.new(), _IDS, _CLOCK.millis())
        base = (
            UUID(rows.key),
            SCOPE.to_text(),
            rows.wire_id,
            "c-1",
            "echo",
            "1.0",
            INITIAL,
            rows.status,
            rows.created_millis,
            rows.metadata,
        )
        created = await connection.fetchrow(
            _OLD["create_task"],
            *base,
            "old",
            rows.message,
            encode_task_event(rows.encode_task()),
            *(None,) * 11,
        )
        assert created["tasks"] == 1
        steps = [
            TaskChange(state=State.WORKING),
            TaskChange(chunks=(replace_artifact("log", "0"),)),
        ]
        steps += [
            TaskChange(chunks=(append_artifact("log", str(number)),))
            for number in range(1, _CHUNKS)
        ]
        for change in (*steps, TaskChange(state=State.COMPLETED)):
            await self._update(connection, rows, change)
        return rows.wire_id

    async def _update(
        self, connection: asyncpg.Connection, rows: changes.NewTaskRows, change: TaskChange
    ) -> None:
        at = _CLOCK.millis()
        new = changes.build_change_rows(change, rows.ids, at)
        state = change.state
        events = new.encode_events()
        updated = await connection.fetchrow(
            _OLD["update_task"],
            UUID(rows.key),
            SCOPE.to_text(),
            state,
            new.status,
            at,
            None,
            None,
            1,
            state is State.COMPLETED,
            None if state is None else state is State.WORKING,
            False,  # noqa: FBT003 - a parameter of SQL
            None,
            [each.artifact_id for each in new.chunks],
            [each.replaces for each in new.chunks],
            [each.chunk.facts for each in new.chunks],
            [each.chunk.parts for each in new.chunks],
            None,
            [body for body, _ in events],
            [each for _, each in events],
            *(None,) * 7,
        )
        assert updated["version"] is not None

    async def finish_more(self, count: int = _TASKS) -> None:
        """Wait until it has finished some more tasks."""
        wanted = len(self.finished) + count
        while len(self.finished) < wanted:  # noqa: ASYNC110 - a condition of several tasks
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("version", [5, 6])
async def test_writers_of_the_release_before_go_on(
    postgres_databases: DatabaseFactory, version: int
) -> None:
    """Also while the upgrade waits for an open transaction: it builds indexes without a lock, and
    gives up its place in the queue for one.
    """
    url = await postgres_databases.create_empty()
    await upgrade(url, version)
    writers = [OldWriter(url) for _ in range(_WRITERS)]
    async with (
        asyncio.timeout(_TIMEOUT_SECONDS),
        asyncio.TaskGroup() as group,
        AsyncExitStack() as stack,
    ):
        for writer in writers:
            group.create_task(writer.run())
            stack.callback(writer.stop)
        await asyncio.gather(*(writer.finish_more() for writer in writers))
        blocker = await asyncpg.connect(url)
        async with blocker.transaction():
            await blocker.execute(_LOCK)
            upgrading = group.create_task(upgrade(url))
            await _wait_for_the_upgrade(blocker)
            await asyncio.gather(*(writer.finish_more() for writer in writers))
            assert not upgrading.done()
        await blocker.close()
        assert await upgrading == list(range(version + 1, REQUIRED_VERSION + 1))
        await asyncio.gather(*(writer.finish_more() for writer in writers))
    await _check_all(url, {wire_id for writer in writers for wire_id in writer.finished})


async def _wait_for_the_upgrade(connection: asyncpg.Connection) -> int:
    """Wait until another connection waits for a lock, and return the process of that connection."""
    while True:
        pid: int | None = await connection.fetchval(
            "SELECT min(pid) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"
        )
        if pid is not None:
            return pid
        await asyncio.sleep(0.01)


async def _check_all(url: str, acknowledged: set[str]) -> None:
    """Check with this release that every task is there as its writer has left it, in lists too."""
    store = PostgresStore(url)
    await store.open()
    try:
        await store.correct_totals()
        assert (await store.list_tasks(SCOPE, TaskQuery(state=State.COMPLETED))).total_size == len(
            acknowledged
        )
        for wire_id in acknowledged:
            task = await store.load_task(SCOPE, wire_id)
            assert task is not None
            events = await store.read_events(task.key, 0)
            assert get_artifact_texts(task) == {"log": [str(number) for number in range(_CHUNKS)]}
            assert ([event.seq for event in events], events[-1].state) == (
                list(range(1, _CHUNKS + 4)),
                State.COMPLETED,
            )
    finally:
        await store.close()


async def test_an_upgrade_that_was_interrupted_is_continued(
    postgres_databases: DatabaseFactory,
) -> None:
    """The next one goes on with the version that is not complete, and builds anew what is half
    built.
    """
    url = await postgres_databases.create_empty()
    await upgrade(url, 5)
    blocker = await asyncpg.connect(url)
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        async with blocker.transaction():
            await blocker.execute(_LOCK)
            upgrading = asyncio.create_task(upgrade(url))
            pid = await _wait_for_the_upgrade(blocker)
            assert await blocker.fetchval(_INVALID) == 1
            await blocker.execute("SELECT pg_terminate_backend($1)", pid)
            with pytest.raises(StoreUnavailableError):
                await upgrading
        assert await schema.read_version(url) == 5
        assert await upgrade(url) == list(range(6, REQUIRED_VERSION + 1))
        assert await blocker.fetchval(_INVALID) == 0
        await blocker.close()
