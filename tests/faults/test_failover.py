"""A standby is promoted under load: with synchronous commit nothing acknowledged is lost, without
it only what was committed just before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from a2a_contract.errors import UnavailableError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.testing.agent import InProcessAgent, run_agent

from .replication import Replicated, replicate

pytestmark = [pytest.mark.anyio, pytest.mark.soak(share="drills"), pytest.mark.slow]

CALLERS = 8
LOAD_SECONDS = 2.0
LAG_SECONDS = 1.0
"""Age from which a commit has reached the standby, also without synchronous commit."""


@pytest.fixture(params=["synchronous", "asynchronous"])
async def replicated_database(
    request: pytest.FixtureRequest,
) -> AsyncIterator[tuple[Replicated, bool]]:
    """Streaming replication, with and without commits that wait for the standby."""
    is_synchronous = request.param == "synchronous"
    async with replicate(is_synchronous=is_synchronous) as servers:
        yield servers, is_synchronous


async def stream(ctx: TaskContext) -> str:
    """Write a few times."""
    for number in range(3):
        await ctx.status(str(number))
    return ctx.text


async def accept(
    one: InProcessAgent, acknowledged: dict[str, float], promoted: asyncio.Event
) -> None:
    """Start tasks until one is accepted after the failover; a caller who gets ``UnavailableError``
    tries again.
    """
    is_served_again = False
    while not is_served_again:
        may_be_last = promoted.is_set()
        with suppress(UnavailableError):
            stored = await one.start("hi")
            acknowledged[stored.wire_id] = time.monotonic()
            is_served_again = may_be_last
        await asyncio.sleep(0.01)


async def test_a_promoted_standby_has_what_was_acknowledged(
    replicated_database: tuple[Replicated, bool],
) -> None:
    """Every task that it has comes to one end; with synchronous commit it has all of them, else
    those that are older than the lag.
    """
    servers, is_synchronous = replicated_database
    acknowledged: dict[str, float] = {}
    store = PostgresStore(servers.url, StoreOptions(lease_seconds=2.0))
    async with run_agent(stream, store=store) as one, asyncio.timeout(120):
        promoted = asyncio.Event()
        callers = [asyncio.create_task(accept(one, acknowledged, promoted)) for _ in range(CALLERS)]
        await asyncio.sleep(LOAD_SECONDS)
        killed_at = time.monotonic()
        await servers.promote()
        promoted.set()
        await asyncio.gather(*callers)
        for wire_id, at in acknowledged.items():
            stored = await store.load_task(one.scope, wire_id)
            if stored is None:
                assert not is_synchronous, f"{wire_id} was acknowledged and is lost"
                assert killed_at - LAG_SECONDS < at, (
                    f"{wire_id} was acknowledged {killed_at - at:.1f} s before the failover "
                    "and is lost"
                )
                continue
            while stored is not None and stored.state not in TERMINAL:
                await asyncio.sleep(0.05)
                stored = await store.load_task(one.scope, wire_id)
            assert stored is not None
            assert stored.state is State.COMPLETED
            events = await store.read_events(stored.key, 0, 1000)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert [event.seq for event in events if event.state in TERMINAL] == [len(events)]
