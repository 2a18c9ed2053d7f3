"""The SQLite store beyond the contract: its file, lock, threads and migrations."""

# ruff: noqa: ASYNC240 - nothing else runs in these tests during file access

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.errors import StoreInUseError, StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import TaskChange, TaskQuery
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.stores.sqlite import connection as migrations
from a2a_runtime.stores.sqlite.connection import SQL, connect
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    create_task,
    end_task,
    get_artifact_texts,
    load_task,
    replace_artifact,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Provide a path for the file."""
    return tmp_path / "tasks.db"


@asynccontextmanager
async def open_store(
    path: Path, options: StoreOptions | None = None, *, attach: bool = False
) -> AsyncIterator[SqliteStore]:
    """Open a file and close it in the end."""
    store = SqliteStore(path, options or StoreOptions(clock=FakeClock()), attach=attach)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.mark.parametrize(("mode", "number"), [(None, 2), ("full", 2), ("normal", 1)])
async def test_commits_wait_for_the_disk_as_the_setting_says(
    path: Path, mode: str | None, number: int
) -> None:
    """Commits wait for the disk by default; the setting changes it."""
    options = StoreOptions() if mode is None else StoreOptions(sqlite_synchronous=mode)
    async with open_store(path, options) as store:
        assert (
            await store._write(lambda db: db.execute("PRAGMA synchronous").fetchone()[0]) == number
        )


def test_modes_that_could_damage_the_file_are_refused(path: Path) -> None:
    """The error lists the modes that the store has."""
    with pytest.raises(
        UnsupportedStoreError,
        match=r"^sqlite_synchronous: 'off' is no mode of the store; use 'full' or 'normal'$",
    ):
        SqliteStore(path, StoreOptions(sqlite_synchronous="off"))


async def test_tasks_are_there_after_reopening(path: Path) -> None:
    """The file contains tasks and events."""
    async with open_store(path) as store:
        task = await create_task(store)
        await store.update_task(SCOPE, task.key, TaskChange(chunks=[replace_artifact("a", "x")]))
    async with open_store(path) as store:
        now = await load_task(store, task)
        assert get_artifact_texts(now) == {"a": ["x"]}
        assert len(await store.read_events(task.key, 0)) == 2


@pytest.mark.parametrize("point", ["begun", "before commit", "after commit"])
async def test_the_writer_survives_any_exception(path: Path, point: str) -> None:
    """Callers of the batch get an error, and the next ones are served."""
    faults = [RuntimeError("no database error")]

    def fail(name: str) -> None:
        if name == point and faults:
            raise faults.pop()

    store = SqliteStore(path, StoreOptions(fail_point=fail))
    await store.open()
    async with asyncio.timeout(10):
        with pytest.raises(StoreUnavailableError, match="no database error"):
            await create_task(store)
        await create_task(store)
        assert (await store.list_tasks(SCOPE, TaskQuery())).total_size == (
            2 if point == "after commit" else 1
        )
    await store.close()


@pytest.mark.parametrize("companion", ["", "-wal"])
async def test_a_deleted_or_replaced_file_is_noticed_at_once(path: Path, companion: str) -> None:
    """Reads and writes are refused until the file is back: they would be lost with the file."""
    file = path.with_name(path.name + companion)
    elsewhere = path.with_name("elsewhere")
    async with open_store(path) as store:
        task = await create_task(store)
        content = file.read_bytes()
        file.rename(elsewhere)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="deleted or replaced"):
                await create_task(store)
            with pytest.raises(StoreUnavailableError, match="deleted or replaced"):
                await store.load_task(SCOPE, task.wire_id)
            file.write_bytes(content)
        elsewhere.rename(file)
        await load_task(store, task)
        await create_task(store)


async def test_the_files_are_readable_for_their_owner_only(path: Path) -> None:
    """Only the owner may read the files, because tasks contain texts of users."""
    async with open_store(path) as store:
        await create_task(store)
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(
        ["tasks.db", "tasks.db-wal", "tasks.db-shm", "tasks.db.lock"], "0o600"
    )


async def test_an_outage_is_two_lines_of_the_log(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One when it begins and one when it has ended for a while, however many calls fail."""
    elsewhere = path.with_name("elsewhere")
    async with open_store(path) as store:
        path.rename(elsewhere)
        for _ in range(20):
            with pytest.raises(StoreUnavailableError):
                await create_task(store)
        elsewhere.rename(path)
        await create_task(store)
        assert [record.message.count("unavailable") for record in caplog.records] == [1]
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 1.5)
        for _ in range(3):
            await create_task(store)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "available again after" in caplog.messages[1]


async def test_tasks_of_the_previous_process_are_orphans_at_once(path: Path) -> None:
    """The holder of the lock is the only process, and ends all leases."""
    async with open_store(path) as store:
        await store.register("p-1")
        task = await create_task(store)
        assert await store.claim(task.key, "p-1") is not None
    async with open_store(path) as store:
        assert list(await store.find_orphans()) == [task.key]


async def test_a_second_process_is_refused_unless_it_attaches(path: Path) -> None:
    """The lock ends with its store; an attached store keeps the leases."""
    async with open_store(path) as store:
        await store.register("p-1")
        task = await create_task(store)
        await store.claim(task.key, "p-1")
        with pytest.raises(StoreInUseError, match=r"tasks\.db"):
            await SqliteStore(path).open()
        async with open_store(path, attach=True) as attached:
            assert (await load_task(attached, task)).process == "p-1"
        assert list(await store.find_orphans()) == []
    async with open_store(path):
        pass


async def test_a_store_must_be_open(path: Path) -> None:
    """Calls before ``open`` and after ``close`` are errors."""
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailableError, match="is not open"):
        await store.delete_expired()
    with pytest.raises(StoreUnavailableError, match="is not open"):
        await store.list_scopes()
    await store.open()
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailableError, match="is closed"):
        await store.delete_expired()


async def test_closing_finishes_queued_calls(path: Path) -> None:
    """Calls before ``close`` return, and are durable."""
    store = SqliteStore(path)
    await store.open()
    calls = [asyncio.create_task(create_task(store)) for _ in range(300)]
    await asyncio.sleep(0)
    await store.close()
    keys = {task.key for task in await asyncio.gather(*calls)}
    async with open_store(path) as again:
        assert (await again.list_tasks(SCOPE, TaskQuery())).total_size == len(keys) == 300


async def test_a_cancelled_call_is_atomic(path: Path) -> None:
    """A cancelled caller leaves no half task, and the store goes on."""
    async with open_store(path) as store:
        for delay in (0, 0.0005, 0.002):
            call = asyncio.create_task(create_task(store))
            await asyncio.sleep(delay)
            call.cancel()
        done = await create_task(store)
        page = await store.list_tasks(SCOPE, TaskQuery())
        assert done.key in {task.key for task in page.tasks}
        for task in page.tasks:
            assert len(await store.read_events(task.key, 0)) == 1


async def test_a_full_disk_is_an_error_with_a_fix_and_loses_nothing(path: Path) -> None:
    """Writes fail until there is space again; acknowledged writes can still be read."""
    async with open_store(path) as store:
        task = await create_task(store)
        assert store._writer is not None
        await store._writer.run(lambda db: db.execute("PRAGMA max_page_count = 60").fetchall())
        big = TaskChange(chunks=[replace_artifact("big", "x" * 500_000)])
        results = await asyncio.gather(
            *[store.update_task(SCOPE, task.key, big) for _ in range(4)], return_exceptions=True
        )
        assert {type(each) for each in results} == {StoreUnavailableError}
        assert all("tasks.db" in str(each) and "free disk space" in str(each) for each in results)
        assert (await load_task(store, task)).version == 1
        await store._writer.run(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchall())
        assert (await store.update_task(SCOPE, task.key, big)).version == 2
        assert (await end_task(store, task)).last_seq == 3


async def test_a_foreign_file_is_refused(path: Path) -> None:
    """A text file and a database of another program stay unchanged."""
    path.write_text(
        "This is a shopping list, and it is quite long: " + "milk, " * 100, encoding="utf-8"
    )
    before = path.read_bytes()
    with pytest.raises(StoreUnavailableError, match="not an SQLite database"):
        await SqliteStore(path).open()
    assert path.read_bytes() == before
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE shopping (item TEXT)")
    with pytest.raises(UnsupportedStoreError, match="another program"):
        await SqliteStore(path).open()
    with closing(sqlite3.connect(path)) as connection:
        assert [name for (name,) in connection.execute("SELECT name FROM sqlite_schema")] == [
            "shopping"
        ]


async def test_a_damaged_file_is_an_error_with_a_fix(path: Path) -> None:
    """Invalid pages are a store error, not a crash and not a wrong result."""
    async with open_store(path) as store:
        for _ in range(200):
            await create_task(store)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreUnavailableError, match="damaged"):
        async with open_store(path) as store:
            await store.list_tasks(SCOPE, TaskQuery())


async def test_a_missing_folder_is_an_error_with_a_fix(tmp_path: Path) -> None:
    """The store creates a file, but no folder."""
    with pytest.raises(StoreUnavailableError, match="create it"):
        await SqliteStore(tmp_path / "nowhere" / "tasks.db").open()


async def test_a_file_of_a_newer_release_is_refused(path: Path) -> None:
    """A file with an unknown schema stays unchanged."""
    async with open_store(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(UnsupportedStoreError, match="newer release"):
        await SqliteStore(path).open()


def test_an_upgrade_is_repeatable(path: Path) -> None:
    """The second one finds the latest version."""
    latest = migrations.load_migrations()[-1].version
    for _ in range(2):
        with closing(connect(path)) as connection:
            assert migrations.upgrade(connection, path) == latest


def test_a_failed_migration_changes_nothing(path: Path) -> None:
    """Version and tables stay as they were."""
    latest = migrations.load_migrations()[-1]
    broken = migrations.Migration(
        latest.version + 1, ["CREATE TABLE half (x TEXT);", "CREATE TABLE tasks (x TEXT);"]
    )
    with closing(connect(path)) as connection:
        migrations.upgrade(connection, path)
        with pytest.raises(StoreUnavailableError):
            migrations.upgrade(connection, path, [*migrations.load_migrations(), broken])
        assert (
            connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").fetchone()[
                0
            ]
            == 0
        )
        assert connection.execute("PRAGMA user_version").fetchone()[0] == latest.version


def test_migrations_are_numbered_without_gaps() -> None:
    """Each file of the folder is a migration, and its name begins with its number."""
    versions = [migration.version for migration in migrations.load_migrations()]
    assert versions == list(range(1, len(versions) + 1))
    assert all(migration.statements for migration in migrations.load_migrations())


async def test_the_pages_of_deleted_tasks_are_used_again(path: Path) -> None:
    """A file grows to what is kept at the same time, however many tasks pass through it."""
    sizes: list[int] = []
    async with open_store(path) as store:
        for _ in range(4):
            for task in await asyncio.gather(*[create_task(store) for _ in range(150)]):
                await store.update_task(
                    SCOPE,
                    task.key,
                    TaskChange(state=State.COMPLETED, chunks=[replace_artifact("a", "x" * 5_000)]),
                )
            assert store._reader is not None
            sizes.append(
                await store._reader.run(
                    lambda db: int(db.execute("PRAGMA page_count").fetchone()[0])
                )
            )
            await store.delete_scope(SCOPE)
    assert max(sizes) < sizes[0] * 1.1


async def test_a_call_that_fails_after_a_write_is_undone_alone(path: Path) -> None:
    """Calls share a commit, not their failures."""

    async def put(store: SqliteStore, n: int) -> int:
        def call(db: sqlite3.Connection) -> int:
            row = {
                "scope": SCOPE.to_text(),
                "context_id": f"c-{n}",
                "data": b"{}",
                "now": 1 << 60,
                "skills": "[]",
                "hidden": "[]",
            }
            db.execute(SQL["put_context"], row)
            if n % 5 == 0:
                raise ValueError(n)
            return n

        assert store._writer is not None
        return await store._writer.run(call)

    async with open_store(path) as store:
        results = await asyncio.gather(*[put(store, n) for n in range(100)], return_exceptions=True)
        assert [each for each in results if isinstance(each, int)] == [
            n for n in range(100) if n % 5
        ]
        assert {type(each) for each in results if not isinstance(each, int)} == {ValueError}
        assert [await store.load_context(SCOPE, f"c-{n}") is not None for n in range(100)] == [
            n % 5 != 0 for n in range(100)
        ]
