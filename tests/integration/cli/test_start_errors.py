"""Starts that fail under a server which shows what the lifespan protocol gives it: one line with
the cure.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import uvicorn
from uvicorn.lifespan.on import LifespanOn

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.stores.sqlite.file_lock import FileLock

pytestmark = pytest.mark.anyio


def build_agent() -> Agent:
    """Build an agent."""
    agent = Agent("greeter", url="http://127.0.0.1:8000")

    @agent.skill
    async def greet(_ctx: TaskContext) -> str:
        """Greet."""
        return "hello"

    return agent


def damage(path: Path) -> None:
    """Write something else to the file."""
    path.write_text(
        "This is a shopping list, and it is quite long: " + "milk, " * 100, encoding="utf-8"
    )


def take_from_another_program(path: Path) -> None:
    """Make a database of another program."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE shopping (item TEXT)")


def take_from_a_newer_release(path: Path) -> None:
    """Make a database with a version that no release knows."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")


def lock(path: Path) -> None:
    """Lock the file as another process does."""
    locks.append(FileLock(path))
    locks[-1].acquire()


def deny(path: Path) -> None:
    """Make the lock file impossible."""
    path.with_name("tasks.db.lock").mkdir()


locks: list[FileLock] = []
CURES = {
    damage: "choose another path or restore a backup",
    take_from_another_program: "choose another path",
    take_from_a_newer_release: "upgrade this release",
    lock: "use another file, or use Postgres",
    deny: "make the file and its folder writable for this user",
}


@pytest.fixture(autouse=True)
def uvicorn_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Records of uvicorn reach the test, also after a test that has configured its loggers."""
    for name in ("uvicorn", "uvicorn.error"):
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
        caplog.set_level(logging.INFO, name)


@pytest.mark.parametrize("prepare", CURES, ids=lambda prepare: prepare.__name__)
async def test_a_start_that_fails_is_one_line_with_its_cure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, prepare: Callable[[Path], None]
) -> None:
    """A failed start is one line without a traceback, under every server."""
    path = tmp_path / "tasks.db"
    prepare(path)
    config = uvicorn.Config(
        create_app(build_agent(), store=f"sqlite:///{path}"), lifespan="on", log_config=None
    )
    lifespan = LifespanOn(config)
    caplog.set_level(logging.INFO)
    await lifespan.startup()
    while locks:
        locks.pop().release()
    assert lifespan.should_exit
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert [line.count("\n") for line in lines] == [0, 0]
    assert CURES[prepare] in lines[0]
    assert lines[1] == "Application startup failed. Exiting."
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_start_that_fails_for_another_reason_keeps_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The code of an app has raised: only its frames say where."""
    app = create_app(build_agent(), store="memory")

    async def fail() -> None:
        raise KeyError("on purpose")

    app.on_startup.append(fail)
    config = uvicorn.Config(app, lifespan="on", log_config=None)
    lifespan = LifespanOn(config)
    await lifespan.startup()
    assert lifespan.should_exit
    assert "Traceback" in caplog.text
    assert 'raise KeyError("on purpose")' in caplog.text
