"""The runtime of one process, composed from settings."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from integration.outcome_agent import build_test_agent

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import SendMessageConfiguration, SendMessageRequest
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.process import AgentRuntime
from a2a_runtime.service.context import CallContext
from a2a_runtime.stores.models import StoredTask
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, build_user_message

pytestmark = pytest.mark.anyio

DAY = 86_400


async def test_a_process_has_the_lease_of_the_settings(tmp_path: Path) -> None:
    """A store that is created from its URL keeps a process alive for the lease duration of the
    settings.
    """
    file = tmp_path / "tasks.db"
    async with AgentRuntime(
        [Surface(build_test_agent())],
        f"sqlite:///{file}",
        replace(FAST_SETTINGS, lease_duration=2 * DAY),
    ):
        with closing(sqlite3.connect(file)) as db:
            ((until,),) = db.execute("SELECT expires_at FROM processes")
    assert until > SystemClock().millis() + DAY * 1000


async def run_long(_ctx: TaskContext) -> None:
    """Run until it is canceled."""
    await asyncio.sleep(1000)


async def count_attempts(ctx: TaskContext) -> str:
    """Return the attempt number."""
    return f"attempt {ctx.attempt}"


def build_surface(name: str, handler: Callable[[TaskContext], object]) -> Surface:
    """Mount an agent at the root; skills of all agents have the same id."""
    agent = Agent(name)
    agent.add("work", handler)
    return Surface(agent)


async def create_orphan(surface: Surface, url: str) -> StoredTask:
    """Start a task in an app and stop the app while the task runs."""
    async with AgentRuntime([surface], url, FAST_SETTINGS) as one:
        request = SendMessageRequest(
            message=build_user_message("go"),
            configuration=SendMessageConfiguration(return_immediately=True),
        )
        call = CallContext(surface, Caller())
        task = (await one.service.send_message(request, call)).model.task
        assert task is not None
        return await one.engine.load(call.task_scope(), task.id)


async def wait_ended(one: AgentRuntime, stored: StoredTask) -> StoredTask:
    """Wait until a task has completed."""
    await one.engine.wait(stored, stored.last_seq, frozenset({State.COMPLETED}))
    return await one.engine.load(stored.scope, stored.wire_id)


async def test_an_app_leaves_the_orphans_of_other_agents_alone(postgres_url: str) -> None:
    """Two apps on one database, at the same path, with skills of the same id: neither claims tasks
    of the other.
    """
    theirs = await create_orphan(build_surface("one", run_long), postgres_url)
    mine = await create_orphan(build_surface("other", run_long), postgres_url)
    async with asyncio.timeout(20):
        async with AgentRuntime(
            [build_surface("other", count_attempts)], postgres_url, FAST_SETTINGS
        ) as other:
            assert artifact_texts((await wait_ended(other, mine)).task.model) == {
                "result": ["attempt 2"]
            }
            untouched = await other.engine.load(theirs.scope, theirs.wire_id)
            assert (untouched.epoch, untouched.process) == (theirs.epoch, None)
        async with AgentRuntime(
            [build_surface("one", count_attempts)], postgres_url, FAST_SETTINGS
        ) as one:
            assert artifact_texts((await wait_ended(one, theirs)).task.model) == {
                "result": ["attempt 2"]
            }


@pytest.mark.parametrize(
    ("store", "is_logged"),
    [("memory", True), ("sqlite:///{}/tasks.db", False)],
    ids=["memory", "file"],
)
async def test_a_store_in_memory_is_logged(
    store: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_logged: bool
) -> None:
    """The log says that tasks are lost with the process, and names the setting that keeps them."""
    caplog.set_level("INFO", "a2a_runtime")
    async with AgentRuntime([Surface(build_test_agent())], store.format(tmp_path), FAST_SETTINGS):
        assert ("kept in memory" in caplog.text) is is_logged
        assert ("A2A_STORE" in caplog.text) is is_logged
