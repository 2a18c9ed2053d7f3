"""The setting that says whether a commit of a SQLite file waits for the disk, from where it is
written to the connection.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_runtime.features.project.loader import ProjectConfigError, load_project
from a2a_runtime.process import AgentRuntime
from a2a_runtime.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

PROJECT = """
store = "sqlite:///{folder}/tasks.db"
sqlite_synchronous = "{mode}"

[agent]
name = "echo"
description = "Repeats."

[skills.echo]
description = "Repeats what it gets."
handler = "echoing:echo"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Provide a folder with a handler; a project file is written into it."""
    (tmp_path / "echoing.py").write_text("async def echo(ctx):\n    return ctx.text\n")
    return tmp_path


@pytest.mark.parametrize(
    ("mode", "environment", "number"),
    [
        ("full", {}, 2),
        ("normal", {}, 1),
        ("normal", {"A2A_SQLITE_SYNCHRONOUS": "full"}, 2),
        ("full", {"A2A_SQLITE_SYNCHRONOUS": "normal"}, 1),
    ],
)
async def test_the_store_of_a_project_has_its_mode(
    project: Path, mode: str, environment: dict[str, str], number: int
) -> None:
    """That of the environment takes precedence over that of the file."""
    (project / "a2a.toml").write_text(PROJECT.format(folder=project, mode=mode))
    found = load_project(project, environment)
    async with AgentRuntime(found.surfaces, settings=found.settings) as runtime:
        store = runtime.store
        assert isinstance(store, SqliteStore)
        assert (
            await store._write(lambda db: db.execute("PRAGMA synchronous").fetchone()[0]) == number
        )


def test_an_unknown_mode_is_refused_at_its_line(project: Path) -> None:
    """The error lists the modes that there are."""
    (project / "a2a.toml").write_text(PROJECT.format(folder=project, mode="off"))
    with pytest.raises(
        ProjectConfigError,
        match=r"a2a.toml:3: sqlite_synchronous: unknown value; use one of full, normal$",
    ):
        load_project(project, {})
