"""The start of an agent on a storage: what is refused, and an app over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.v1_0 import Task
from a2a_gen.commands.cli import cli
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.client import A2AClient
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.project.loader import ProjectConfigError, load_project
from a2a_runtime.features.simple_stores import SimpleStore
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.process import AgentRuntime
from a2a_runtime.settings import Settings
from a2a_runtime.stores import validate_store
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import artifact_texts
from a2a_runtime.testing.asgi_transport import run_app
from a2a_runtime.testing.dict_storage import DictStorage

from .storages import Partly

pytestmark = pytest.mark.anyio


async def test_surfaces_that_choose_task_ids_are_refused_at_start() -> None:
    """The mesh dialect, and skills that decide in each call; workers too."""
    agent = Agent("one", "does things", version="1")

    @agent.skill(description="does", answers="either")
    async def decide(_ctx: TaskContext) -> str:
        return "done"

    mesh = Agent("two", "does things", version="1")

    @mesh.skill(description="does")
    async def work(_ctx: TaskContext) -> str:
        return "done"

    with pytest.raises(
        UnsupportedStoreError, match=r"decide.*answers='either'.*use answers='task'"
    ):
        AgentRuntime((Surface(agent),), SimpleStore(DictStorage()), Settings())
    with pytest.raises(UnsupportedStoreError, match=r"mesh dialect choose the ids"):
        AgentRuntime((Surface(mesh, dialects=("mesh",)),), SimpleStore(DictStorage()), Settings())
    runtime = AgentRuntime(
        (Surface(mesh),), SimpleStore(DictStorage()), Settings(runs_on="workers")
    )
    with pytest.raises(UnsupportedStoreError, match=r"SimpleStore: no queue for workers"):
        await runtime.__aenter__()


async def test_an_app_is_served_on_a_storage() -> None:
    """Over HTTP: a task survives a restart of the app, and a list that the storage cannot make is
    refused as the protocol wants it.
    """
    storage = Partly("delete_task")
    agent = Agent("one", "does things", version="1")

    @agent.skill(description="says it again")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    async with (
        run_app(create_app(agent, store=SimpleStore(storage))) as transport,
        A2AClient("http://test", transport=transport) as client,
    ):
        sent = await client.send("hello")
        assert isinstance(sent, Task)
        with pytest.raises(UnsupportedOperationError):
            _ = [task async for task in client.list()]
    async with (
        run_app(create_app(agent, store=SimpleStore(storage))) as transport,
        A2AClient("http://test", transport=transport) as client,
    ):
        assert artifact_texts(await client.get(sent)) == {"result": ["hello"]}


async def test_a_bare_storage_is_refused_with_the_way_to_use_it() -> None:
    """The error shows the wrapper; an object without the methods is not a storage."""
    with pytest.raises(
        UnsupportedStoreError,
        match=r"DictStorage: not a store; wrap it, SimpleStore\(DictStorage\(…\)\)",
    ):
        validate_store(DictStorage())
    with pytest.raises(
        UnsupportedStoreError, match=r"Task: not a storage; add load_task, create_task, update_task"
    ):
        SimpleStore(Task.model_construct())


@pytest.mark.parametrize(
    ("store", "is_shared"),
    [
        ("postgresql+asyncpg://user@host/db", True),
        ("sqlite+aiosqlite:///tasks.db", False),
        (SimpleStore(DictStorage()), False),
    ],
    ids=["postgres of SQLAlchemy", "sqlite of SQLAlchemy", "storage"],
)
def test_several_processes_need_a_store_that_they_share(
    store: SimpleStore | str,
    is_shared: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    """`a2a-gen serve --workers` is refused on a storage."""
    agent = Agent("one", "does things", version="1")

    @agent.skill(description="does")
    async def work(_ctx: TaskContext) -> str:
        return "done"

    assert A2APlugin(agent, store=store, gate=OpenGate()).has_shared_store is is_shared


PROJECT = """
store = "%s"

[agent]
name = "one"
description = "does things"
version = "1"

[skills.echo]
description = "says it again"
handler = "own_storage:echo"

[[surfaces]]
path = "/"
auth = "open"
"""
MODULE = """
from a2a_runtime.testing.dict_storage import DictStorage

storage = DictStorage()

async def echo(ctx):
    return ctx.text
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a storage of its own."""
    (tmp_path / "own_storage.py").write_text(MODULE)
    (tmp_path / "a2a.toml").write_text(PROJECT % "own_storage:storage")
    return tmp_path


async def test_a_project_names_its_own_storage(folder: Path) -> None:
    """By the name of an object; its tasks survive the app."""
    project = load_project(folder, {})
    apps = [
        create_app(*project.surfaces, store=project.settings.store, settings=project.settings)
        for _ in range(2)
    ]
    async with (
        run_app(apps[0]) as transport,
        A2AClient("http://test", transport=transport) as client,
    ):
        sent = await client.send("hello")
        assert isinstance(sent, Task)
    async with (
        run_app(apps[1]) as transport,
        A2AClient("http://test", transport=transport) as client,
    ):
        assert artifact_texts(await client.get(sent)) == {"result": ["hello"]}


@pytest.mark.parametrize(
    "address",
    [
        "sqlite+aiosqlite:///tasks.db",
        "postgresql+asyncpg://user@host/db",
        "postgres://user@host/db",
        "memory",
    ],
)
async def test_addresses_in_a_project(folder: Path, address: str) -> None:
    """As SQLAlchemy writes them too; what is none is refused with its place."""
    (folder / "a2a.toml").write_text(PROJECT % address)
    assert load_project(folder, {}).settings.store == address
    (folder / "a2a.toml").write_text(PROJECT % f"redis+{address}")
    with pytest.raises(ProjectConfigError, match=r"a2a\.toml:\d+: store"):
        load_project(folder, {})


async def test_commands_leave_a_storage_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`a2a-gen db` works on files and databases, and says so."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("A2A_STORE", raising=False)
    for words in (["check"], ["upgrade"], ["status"], ["vacuum"], ["tasks", "list"]):
        refused = CliRunner().invoke(cli, ["db", *words])
        assert refused.exit_code == 2
        assert "'own_storage:storage' is a store of your own; use its own tools" in refused.stderr
