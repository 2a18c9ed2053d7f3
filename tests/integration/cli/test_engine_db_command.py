"""``a2a-gen db`` on the store of an agent."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from a2a_runtime.base.caller import Caller
from a2a_runtime.cli.db import command
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.stores.factory import create_store
from a2a_runtime.stores.models import TaskQuery
from a2a_runtime.stores.sqlite.file_lock import FileLock
from a2a_runtime.testing.agent import run_agent


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Provide a store with tasks of two callers."""
    store_url = (
        f"sqlite:///{tmp_path / 'tasks.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )

    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    async def fill() -> None:
        for owner, texts in (("ada", ["one", "two"]), ("eve", ["three"])):
            async with run_agent(
                echo, store=create_store(store_url), caller=Caller(owner, "acme")
            ) as one:
                for text in texts:
                    await one.send(text, context_id=f"c-{text}")

    asyncio.run(fill())
    return store_url


def run_command(url: str, *words: str) -> Result:
    """Run ``a2a-gen db``."""
    at = 1 if words[0] in {"tasks", "contexts"} else 0
    return CliRunner().invoke(command, [*words[: at + 1], "--store", url, *words[at + 1 :]])


def list_tasks(url: str, *options: str) -> list[list[str]]:
    """List tasks."""
    result = run_command(url, "tasks", "list", *options)
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_tasks_are_listed_by_caller_and_state(url: str) -> None:
    """The tasks of all callers are listed with state, skill, time and caller; options filter
    them.
    """
    assert [row[1:3] + row[4:] for row in list_tasks(url, "--owner", "eve")] == [
        ["completed", "echo", "/agent", "acme", "eve"]
    ]
    assert len(list_tasks(url)) == 3
    assert len(list_tasks(url, "--limit", "2")) == 2
    assert len(list_tasks(url, "--context", "c-two")) == 1
    assert list_tasks(url, "--state", "failed") == []


def test_a_task_is_printed_as_json(url: str) -> None:
    """The JSON is that of the protocol; an unknown task is an error."""
    ((task_id, *_),) = list_tasks(url, "--owner", "eve")
    assert json.loads(run_command(url, "tasks", "show", task_id).stdout)["artifacts"][0][
        "parts"
    ] == [{"text": "three"}]
    missing = run_command(url, "tasks", "show", "unknown")
    assert (missing.exit_code, missing.stderr) == (
        1,
        "Error: store: nothing found; check --owner, --tenant and --surface\n",
    )


def test_tasks_and_conversations_are_deleted(url: str) -> None:
    """The command deletes by id, by conversation, or everything of a caller."""
    ((task_id, *_),) = list_tasks(url, "--owner", "eve")
    assert run_command(url, "tasks", "delete", task_id).stderr == "deleted 1\n"
    assert run_command(url, "contexts", "delete", "c-one").stderr == "deleted 1\n"
    assert len(list_tasks(url)) == 1
    assert run_command(url, "tasks", "delete", "--owner", "ada", "--all").stderr == "deleted 1\n"
    assert list_tasks(url) == []


def test_wrong_totals_are_corrected(url: str) -> None:
    """As after a deployment in which a process of the version before ran beside a new one."""
    assert run_command(url, "check").stdout == "totals: right\n"
    asyncio.run(_spoil_totals(url))
    assert _read_total(url) == 7
    assert run_command(url, "check").stdout == "totals: 1 corrected\n"
    assert run_command(url, "check").stdout == "totals: right\n"
    assert _read_total(url) == 2


def test_a_store_is_shrunk(url: str) -> None:
    """A file gives the space of deleted tasks back, unless an agent runs on it."""
    run_command(url, "tasks", "delete", "--owner", "ada", "--all")
    assert run_command(url, "vacuum").exit_code == 0
    assert len(list_tasks(url)) == 1
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
        lock = FileLock(path)
        lock.acquire()
        refused = run_command(url, "vacuum")
        lock.release()
        assert (refused.exit_code, "stop it" in refused.stderr) == (2, True)


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    """A page of the file has been overwritten."""
    url = f"sqlite:///{tmp_path / 'tasks.db'}"
    assert run_command(url, "upgrade").exit_code == 0
    with closing(sqlite3.connect(tmp_path / "tasks.db")) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'outbox'").fetchone()
    with (tmp_path / "tasks.db").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    found = run_command(url, "check")
    assert (found.exit_code, "damaged" in found.stderr) == (2, True)


def test_a_store_in_memory_needs_no_maintenance() -> None:
    """The command refuses a store in memory, which ends with its process."""
    assert "ends with its process" in run_command("memory", "check").stderr


async def _spoil_totals(url: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db, db:
            db.execute("UPDATE task_totals SET number = number + 5 WHERE scope LIKE '%ada%'")
        return
    connection = await asyncpg.connect(url)
    await connection.execute(
        "INSERT INTO a2a_task_deltas SELECT scope, state, 5 FROM a2a_tasks WHERE scope LIKE "
        "'%ada%' LIMIT 1"
    )
    await connection.close()


def _read_total(url: str) -> int:
    async def read() -> int:
        store = create_store(url, attach=True)
        await store.open()
        (scope,) = [scope for scope in await store.list_scopes() if scope.owner == "ada"]
        page = await store.list_tasks(scope, TaskQuery())
        await store.close()
        return page.total_size

    return asyncio.run(read())


@pytest.mark.parametrize(
    "words",
    [["delete"], ["delete", "x", "--all"], ["delete", "--all"], ["list", "--state", "lost"]],
    ids=" ".join,
)
def test_invalid_usage_is_refused(url: str, words: list[str]) -> None:
    """A deletion without ids or without a caller is an error, and so is an unknown state."""
    assert run_command(url, "tasks", *words).exit_code == 2


def test_an_upgrade_is_repeatable(url: str) -> None:
    """A store that is up to date stays unchanged."""
    assert run_command(url, "upgrade").stdout == "up to date\n"


def test_an_empty_database_is_upgraded(postgres_databases) -> None:  # noqa: ANN001 - a fixture
    """The command creates the schema; before that, the error of other commands names it."""
    empty = asyncio.run(postgres_databases.create_empty())
    refused = run_command(empty, "tasks", "list")
    assert (refused.exit_code, "a2a-gen db upgrade" in refused.stderr) == (2, True)
    assert run_command(empty, "upgrade").stdout.startswith("applied 1")
    assert list_tasks(empty) == []


def test_an_invalid_url_is_refused() -> None:
    """The error lists the valid forms."""
    result = run_command("mysql://x", "tasks", "list")
    assert (result.exit_code, "sqlite:///" in result.stderr) == (2, True)


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    """A typo in the URL leaves no empty store behind."""
    result = run_command(f"sqlite:///{tmp_path}/typo.db", "tasks", "list")
    assert (result.exit_code, "the file does not exist" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_default_store_is_that_of_the_project(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an option and a variable, the store of the a2a.toml is used; without that, the
    command fails.
    """
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    missing = CliRunner().invoke(command, ["tasks", "list"])
    assert (missing.exit_code, "store in an a2a.toml" in missing.stderr) == (2, True)
    (tmp_path / "a2a.toml").write_text(f'store = "{url}"\n')
    assert len(CliRunner().invoke(command, ["tasks", "list"]).stdout.splitlines()) == 3
    (tmp_path / "a2a.toml").write_text("store =")
    assert CliRunner().invoke(command, ["tasks", "list"]).exit_code == 2
