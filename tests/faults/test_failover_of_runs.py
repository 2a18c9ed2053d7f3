"""A standby that was behind is promoted under running tasks and readers, which survive: each task
ends whole, and each reader ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, replace

import pytest

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import StoredTask
from a2a_runtime.testing.agent import FAST_SETTINGS, InProcessAgent, artifact_texts, run_agent

from .paused_agents import Reader, wait_for_end, wait_until
from .pgbouncer import Pooler, run_pooler
from .replication import Replicated, replicate

pytestmark = [pytest.mark.anyio, pytest.mark.soak(share="drills"), pytest.mark.slow]

STREAMS = 8
CHUNKS = 100
FEW = 3
BEFORE = 40
LOST = 30
"""Events that a reader has when the standby stops receiving, and those that it gets after it: they
are lost.
"""
SETTINGS = replace(FAST_SETTINGS, lease_renew_interval=0.5, orphan_scan_interval=0.5)


class Counting:
    """Handlers whose first runs count until the test has done what it wants to do with them,
    however long that takes.
    """

    def __init__(self) -> None:
        self.is_far = asyncio.Event()
        """The readers have events that the standby does not have."""
        self.is_failed_over = asyncio.Event()

    async def count(self, ctx: TaskContext) -> AsyncGenerator[str, None]:
        """Count up to a number, and in the first run on until the failover."""
        number = 0
        while number < CHUNKS or (ctx.attempt == 1 and not self.is_failed_over.is_set()):
            yield f"{number};"
            number += 1
            await asyncio.sleep(0.005)

    async def shrink(self, ctx: TaskContext) -> AsyncGenerator[str, None]:
        """Count far in the first run, and rest until that is lost; count less far in later ones."""
        number = 0
        while number < FEW or (ctx.attempt == 1 and not self.is_far.is_set()):
            yield f"{number};"
            number += 1
            await asyncio.sleep(0.02)
        if ctx.attempt == 1:
            await asyncio.Event().wait()


@dataclass(frozen=True)
class Deployment:
    """Two processes on a replicated database, directly or through a pooler."""

    servers: Replicated
    one: InProcessAgent
    other: InProcessAgent
    pooler: Pooler | None
    counting: Counting

    async def fail_over(self) -> None:
        """Kill the primary and promote the standby; the pooler keeps the connections of its
        clients.
        """
        self.counting.is_far.set()
        await self.servers.promote()
        if self.pooler is not None:
            self.pooler.turn_to(self.servers.standby.url)
        self.counting.is_failed_over.set()


@pytest.fixture(params=["direct", "pgbouncer"])
async def deployment(request: pytest.FixtureRequest) -> AsyncIterator[Deployment]:
    """Two processes, and an asynchronous standby."""
    async with replicate(is_synchronous=False) as servers, AsyncExitStack() as stack:
        with ExitStack() as poolers:
            pooler = (
                poolers.enter_context(run_pooler(servers.primary.url))
                if request.param == "pgbouncer"
                else None
            )
            url = servers.url if pooler is None else pooler.url
            counting = Counting()
            agents = [
                await stack.enter_async_context(run(counting, url, servers.url)) for _ in range(2)
            ]
            yield Deployment(servers, agents[0], agents[1], pooler, counting)
            await stack.aclose()


def run(
    counting: Counting, url: str, direct_address: str
) -> AbstractAsyncContextManager[InProcessAgent]:
    """Run an agent with both skills."""
    skills = Skill("count", counting.count), Skill("shrink", counting.shrink)
    store = PostgresStore(url, StoreOptions(lease_seconds=2.0, direct_address=direct_address))
    options = EngineOptions(settings=SETTINGS, notifier=PostgresNotifier(direct_address))
    return run_agent(*skills, store=store, options=options)


async def test_runs_and_readers_survive_a_failover(
    deployment: Deployment, record_property: pytest.RecordProperty
) -> None:
    """A lost task is an error for its readers; every other one ends with what one run wrote, and so
    do those who follow it to its end.
    """
    one = deployment.one
    other = deployment.other
    async with asyncio.timeout(120):
        started = [
            await one.start("go", skill="count", context_id=f"c-{number}")
            for number in range(STREAMS)
        ]
        started.append(await one.start("go", skill="shrink"))
        readers = [(task, Reader(process, task, 0)) for task in started for process in (one, other)]
        await wait_until(lambda: all(len(reader.events) > BEFORE for _, reader in readers))
        await deployment.servers.stop_receiving()
        late = await one.start("go", skill="count")
        readers.append((late, Reader(one, late, 0)))
        seen = [len(reader.events) for _, reader in readers]
        await wait_until(
            lambda: all(
                len(reader.events) > number + LOST
                for number, (_, reader) in zip(seen, readers, strict=True)
            )
        )
        await deployment.fail_over()
        await wait_for_service(one, started[0])
        for task in started:
            await check_task(one, task)
        with pytest.raises(TaskNotFoundError):
            await one.engine.load(one.scope, late.wire_id)
        for task, reader in readers:
            if await reader.check_end():
                assert "".join(map(str, reader.assemble())) == "".join(await read_result(one, task))
        record_property("tasks", len(readers))
        record_property("faults", 1)


async def wait_for_service(one: InProcessAgent, task: StoredTask) -> None:
    """Wait until the store answers again."""
    while True:
        with suppress(StoreUnavailableError):
            await one.engine.load(one.scope, task.wire_id)
            return
        await asyncio.sleep(0.05)


async def check_task(one: InProcessAgent, task: StoredTask) -> None:
    """See that a task has ended with all chunks of one run."""
    ended = await wait_for_end(one, task)
    assert ended.status.state.name == State.COMPLETED.name
    numbers = CHUNKS if task.skill == "count" else FEW
    assert "".join(await read_result(one, task)) == "".join(
        f"{number};" for number in range(numbers)
    )


async def read_result(one: InProcessAgent, task: StoredTask) -> list[str]:
    """Read what is stored."""
    model = (await one.engine.load(one.scope, task.wire_id)).task.model
    return [str(text) for text in artifact_texts(model).get("result", [])]
