"""Files of SQLite stores beside other programs: what they are called, who holds them, and what
others do to them.
"""

# ruff: noqa: ASYNC240 - nothing else runs in these tests during file access

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from a2a_runtime.cli.db import command
from a2a_runtime.errors import StoreInUseError, StoreUnavailableError
from a2a_runtime.stores.models import TaskQuery
from a2a_runtime.stores.sqlite import SqliteStore, connection
from a2a_runtime.stores.sqlite.file_lock import FileLock, find_descriptors, identify
from a2a_runtime.testing.store_contract.case import SCOPE, create_task

pytestmark = pytest.mark.anyio

READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
print(db.execute("SELECT count(*) FROM tasks").fetchone()[0], flush=True)
sys.stdin.read()
"""
EMPTY_LOG = (
    "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint (TRUNCATE)')"
)
VACUUM = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute('VACUUM')"


@asynccontextmanager
async def open_store(path: Path) -> AsyncIterator[SqliteStore]:
    """Open a file and close it in the end."""
    store = SqliteStore(path)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def read_elsewhere(path: Path) -> Iterator[None]:
    """Read a database in another program, in a transaction that stays open."""
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        yield
        reader.communicate("")


def run_program(source: str, path: Path) -> None:
    """Run another program on a database."""
    subprocess.run([sys.executable, "-c", source, str(path)], check=True)


def list_locks(path: Path) -> list[str]:
    """List the POSIX locks that this process has on a file, which SQLite keeps there."""
    inode = f":{path.stat().st_ino} "
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return sorted(
        line.partition(":")[2]
        for line in lines
        if "POSIX" in line and f" {os.getpid()} " in line and inode in line
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no locks of open files")
async def test_a_file_in_use_is_refused_by_any_name_and_without_its_lock_file(
    tmp_path: Path,
) -> None:
    """Also while another program reads it.

    Neither the attempt nor its end takes a lock of SQLite away, and then the file is free.
    """
    path = tmp_path / "tasks.db"
    link = tmp_path / "linked" / "other.db"
    link.parent.mkdir()
    async with open_store(path) as store:
        await create_task(store)
        link.hardlink_to(path)
        with read_elsewhere(path):
            locks = list_locks(path)
            assert locks
            with pytest.raises(StoreInUseError, match="by another name or without its lock file"):
                await SqliteStore(link).open()
            (tmp_path / "tasks.db.lock").unlink()
            with pytest.raises(StoreInUseError, match="by another name or without its lock file"):
                await SqliteStore(path).open()
            assert list_locks(path) == locks
            await create_task(store)
            refused = run_in_process(link)
            assert "by another name or without its lock file" in refused
    assert list(find_descriptors(identify(path))) == []
    link.unlink()
    with begin_empty_read(path):
        async with open_store(path) as store:
            assert (await store.list_tasks(SCOPE, TaskQuery())).total_size == 2


OPENING = """
import asyncio, sys
from a2a_runtime.stores.sqlite import SqliteStore
try:
    asyncio.run(SqliteStore(sys.argv[1]).open())
except Exception as error:
    print(error)
"""


def run_in_process(path: Path) -> str:
    """Open a store in another process, and return its error."""
    return subprocess.run(
        [sys.executable, "-c", OPENING, str(path)], check=True, capture_output=True, text=True
    ).stdout


@contextmanager
def begin_empty_read(path: Path) -> Iterator[None]:
    """Read a database in this process, in a transaction that stays open: a reader is no process
    that runs on the file.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM tasks").fetchone()
        yield


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the index of a log")
@pytest.mark.parametrize(("companion", "left"), [("", 4096), ("-wal", 0), ("-wal", 30_000)])
async def test_a_file_that_was_cut_is_noticed_at_once(
    tmp_path: Path, companion: str, left: int
) -> None:
    """Reads and writes are refused from the next batch on, as for a file that was removed."""
    path = tmp_path / "tasks.db"
    async with open_store(path) as store:
        for _ in range(20):
            await create_task(store)
        if not companion:
            run_program(EMPTY_LOG, path)  # all pages are in the file
            await create_task(store)
        task = await create_task(store)
        file = path.with_name(path.name + companion)
        content = file.read_bytes()
        os.truncate(file, left)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="cut the file or its log short"):
                await create_task(store)
            with pytest.raises(StoreUnavailableError, match="cut the file or its log short"):
                await store.load_task(SCOPE, task.wire_id)
        file.write_bytes(content)
        await create_task(store)


async def test_cleaning_up_by_other_programs_are_no_damage(tmp_path: Path) -> None:
    """They empty the log and shrink the file, after all of it was written."""
    path = tmp_path / "tasks.db"
    async with open_store(path) as store:
        for program in (EMPTY_LOG, VACUUM + ".fetchall(); " + EMPTY_LOG, EMPTY_LOG):
            for _ in range(30):
                await create_task(store)
            await store.delete_scope(SCOPE)
            run_program(program, path)
            assert path.with_name("tasks.db-wal").stat().st_size == 0
            await create_task(store)
            assert (await store.list_tasks(SCOPE, TaskQuery())).total_size == 1


@pytest.fixture
def older_file(tmp_path: Path) -> Path:
    """Make a file of an older release."""
    path = tmp_path / "tasks.db"
    with closing(connection.connect(path)) as db:
        connection.upgrade(db, path, connection.load_migrations()[:-1])
    return path


def read_version(path: Path) -> int:
    """Read the version of a schema."""
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize(
    "words",
    [
        "check",
        "vacuum",
        "forget --owner ada --yes",
        "tasks list",
        "tasks show t-1",
        "tasks delete t-1",
        "contexts delete c-1",
        "upgrade",
    ],
)
def test_commands_leave_the_file_of_an_older_release_as_it_is(older_file: Path, words: str) -> None:
    """Its process could not start again on the new schema; when it has stopped, the file is
    upgraded.
    """
    before = read_version(older_file)
    url = f"sqlite:///{older_file}"
    lock = FileLock(older_file)
    lock.acquire()
    refused = CliRunner().invoke(command, [*words.split(), "--store", url])
    lock.release()
    assert (refused.exit_code, read_version(older_file)) == (2, before)
    if words != "upgrade":
        fix = "stop that process and run a2a-gen db upgrade, or use the a2a-gen of its release"
        assert refused.stderr.endswith(
            f"an older release runs on it (schema {before}, this release has {before + 1}); {fix}\n"
        )
    assert "Traceback" not in refused.output
    CliRunner().invoke(command, [*words.split(), "--store", url])
    assert read_version(older_file) == before + 1


async def test_a_lock_file_that_cannot_be_written_is_an_error_with_a_fix(tmp_path: Path) -> None:
    """A lock file in a folder of another user is an error with a fix."""
    path = tmp_path / "tasks.db"
    path.with_name("tasks.db.lock").mkdir()
    with pytest.raises(
        StoreUnavailableError,
        match=(
            r"tasks\.db\.lock: Is a directory; "
            r"make the file and its folder writable for this user$"
        ),
    ):
        await SqliteStore(path).open()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
async def test_a_folder_that_may_not_be_written_is_an_error_with_a_fix(tmp_path: Path) -> None:
    """The error names the lock file, which comes first."""
    tmp_path.chmod(0o500)
    with pytest.raises(
        StoreUnavailableError,
        match=(
            r"tasks\.db\.lock: Permission denied; "
            r"make the file and its folder writable for this user$"
        ),
    ):
        await SqliteStore(tmp_path / "tasks.db").open()
