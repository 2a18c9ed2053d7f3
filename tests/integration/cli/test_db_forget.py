"""`a2a-gen db forget`: nothing of a person is left in a store, not in the bytes of a file, not in a
row of a database.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.cli.db import command
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import create_store
from a2a_runtime.stores.models import IdempotencyKey, TaskChange
from a2a_runtime.stores.sqlite.file_lock import FileLock
from a2a_runtime.testing.store_contract.case import (
    build_message,
    build_new_task,
    clean_up,
    create_task,
    replace_artifact,
)

OWNER = "ada-lovelace"
SECRET = "analytical-engine"  # noqa: S105 - a word that is looked for
KEPT = "flying-machine"
SURFACES = ("/agent", "/other")


async def fill(store: Store, owner: str, mark: str) -> None:
    """Store everything that a caller leaves: tasks in several states, conversations, webhooks and
    their deliveries, totals.
    """
    for surface in SURFACES:
        scope = TaskScope(surface, f"tenant-of-{owner}", owner)
        config = TaskPushNotificationConfig(
            id="hook", url=f"https://example.org/{mark}", token=f"token-{mark}"
        )
        key = IdempotencyKey(f"key-{mark}", b"hash")
        running = await create_task(
            store,
            build_new_task(
                text=f"{mark} " * 500,
                context_id=f"c-{mark}",
                push_config=config,
                idempotency_key=key,
            ),
            scope,
        )
        question = build_message(f"question {mark}", "m-2")
        await store.update_task(
            scope,
            running.key,
            TaskChange(state=State.INPUT_REQUIRED, status_message=question, messages=[question]),
        )
        ended = await create_task(store, build_new_task(text=mark, context_id=f"c-{mark}"), scope)
        await store.update_task(
            scope, ended.key, TaskChange(chunks=[replace_artifact("a", mark * 2000)])
        )
        await store.update_task(scope, ended.key, TaskChange(chunks=[replace_artifact("a", mark)]))
        await store.update_task(scope, ended.key, TaskChange(state=State.COMPLETED))
        await store.update_context(scope, f"c-{mark}", {"note": mark})
        deleted = await create_task(store, build_new_task(text=f"{mark} " * 2000), scope)
        await store.delete_task(scope, deleted.wire_id)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store with two persons, whose cleanup has moved what outlives its tasks."""
    store_url = (
        f"sqlite:///{tmp_path / 'tasks.db'}"
        if request.param == "sqlite"
        else str(request.getfixturevalue("postgres_url"))
    )

    async def fill_store() -> None:
        store = create_store(store_url, StoreOptions(retention_seconds=0))
        await store.open()
        for owner, mark in ((OWNER, SECRET), ("leonardo", KEPT)):
            await fill(store, owner, mark)
        await clean_up(store)
        await store.close()

    asyncio.run(fill_store())
    if request.param == "sqlite":
        leave_free_pages(tmp_path / "tasks.db")
    return store_url


def leave_free_pages(path: Path) -> None:
    """Delete rows as builds of SQLite do that leave their bytes in free pages; others overwrite
    them at once.
    """
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("CREATE TABLE earlier (body TEXT)")
        db.executemany("INSERT INTO earlier VALUES (?)", [(f"earlier {SECRET} " * 400,)] * 20)
        db.execute("DROP TABLE earlier")
    assert f"earlier {SECRET}".encode() in path.read_bytes()


def forget(url: str, *words: str, typed: str = "") -> Result:
    """Run the command."""
    return CliRunner().invoke(command, ["forget", "--store", url, *words], input=typed)


def read_everything(url: str) -> bytes:
    """Read the bytes of a file and its companions, or every row of a database."""
    if url.startswith("sqlite"):
        folder = Path(url.removeprefix("sqlite:///")).parent
        return b"".join(file.read_bytes() for file in folder.iterdir())

    async def read() -> bytes:
        connection = await asyncpg.connect(url)
        tables = await connection.fetch(
            "SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'"
        )
        rows: list[str] = []
        for table in tables:
            rows += [
                row[0]
                for row in await connection.fetch(f"SELECT t::text FROM {table['name']} AS t")  # noqa: S608 - names of our own tables
            ]
        await connection.close()
        return "\n".join(rows).encode()

    return asyncio.run(read())


def has(everything: bytes, word: str) -> bool:
    """Tell whether a word occurs, as text or as the hexadecimal digits of a column of bytes."""
    return word.encode() in everything or word.encode().hex().encode() in everything


def test_nothing_of_a_person_is_left(url: str) -> None:
    """Neither the name, nor the tenant, nor a text, address or token; those of another person are
    all there.
    """
    before = read_everything(url)
    assert all(has(before, word) for word in (OWNER, SECRET, KEPT, f"tenant-of-{OWNER}"))
    done = forget(url, "--owner", OWNER, "--yes")
    assert (done.exit_code, done.stderr) == (0, f"erased {OWNER}: 2 tasks in 2 scopes\n")
    after = read_everything(url)
    assert not any(has(after, word) for word in (OWNER, SECRET, f"tenant-of-{OWNER}"))
    assert has(after, KEPT)
    listed = CliRunner().invoke(command, ["tasks", "list", "--store", url]).stdout
    assert len(listed.splitlines()) == 2
    assert CliRunner().invoke(command, ["check", "--store", url]).stdout == "totals: right\n"


def test_a_filter_narrows_what_is_erased(url: str) -> None:
    """The other surface of the person stays."""
    assert "in 1 scope\n" in forget(url, "--owner", OWNER, "--surface", SURFACES[0], "--yes").stderr
    assert has(read_everything(url), SECRET)


def test_it_asks_before(url: str) -> None:
    """Without an answer nothing is erased, and without a caller nothing is question."""
    refused = forget(url, "--owner", OWNER, typed="n\n")
    assert refused.exit_code == 1
    assert f"Erase everything of '{OWNER}' in " in refused.stderr
    assert has(read_everything(url), SECRET)
    assert "--owner: not given" in forget(url, "--yes").stderr


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_an_agent_on_the_file_is_in_the_message(url: str) -> None:
    """The rows are deleted, and the message says how the bytes go."""
    path = Path(url.removeprefix("sqlite:///"))
    lock = FileLock(path)
    lock.acquire()
    done = forget(url, "--owner", OWNER, "--yes")
    lock.release()
    assert (done.exit_code, "stop the agent and run a2a-gen db vacuum" in done.stderr) == (2, True)
    assert CliRunner().invoke(command, ["vacuum", "--store", url]).exit_code == 0
    assert not has(read_everything(url), SECRET)
