"""The tables of the queue are dropped while a process serves: what it answers, what it logs, and
how they come back.
"""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.features.postgres import PostgresStore, upgrade_queue
from a2a_runtime.process import AgentRuntime
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import CALLER, FAST_SETTINGS, InProcessAgent

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[4] / "docs" / "scaling.md"
DROP_TABLES = (
    "DROP TABLE procrastinate_jobs, procrastinate_events, procrastinate_periodic_defers, "
    "procrastinate_workers CASCADE"
)


async def execute(url: str, statement: str) -> None:
    """Execute a statement as an operator would."""
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def test_a_process_without_the_tables_of_the_queue_is_not_ready(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Messages get an unavailable error, the log has one line, and the command that creates the
    tables says what stands in its way.
    """
    agent = Agent("a")

    @agent.skill("echo", runs_on="workers")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    surface = Surface(agent, "/agent")
    async with AgentRuntime([surface], PostgresStore(postgres_url), FAST_SETTINGS) as web:
        one = InProcessAgent(web.engine, "echo", CALLER.task_scope(surface.storage_key), CALLER)
        await one.start("before")
        assert await web.find_faults() == {}
        await execute(postgres_url, DROP_TABLES)
        for _ in range(3):
            with pytest.raises(
                StoreUnavailableError,
                match="the tables for workers are missing; run `a2a-gen db upgrade`",
            ):
                await one.start("in between")
            assert await web.find_faults() == {"store": "the tables of its queue are missing"}
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "run `a2a-gen db upgrade`" in caplog.messages[0]
        with pytest.raises(
            UnsupportedStoreError,
            match=r"others of its parts are left .*; drop them as docs/scaling\.md says",
        ):
            await upgrade_queue(postgres_url)
        (remove,) = re.findall(
            r"```sql\n(DO \$\$.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
        )
        await execute(postgres_url, remove)
        assert await upgrade_queue(postgres_url) == ["procrastinate"]
        assert await web.find_faults() == {}
        await one.start("after")
