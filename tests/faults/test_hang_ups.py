"""Clients that disconnect while their message is being committed: every task that exists is run,
and ends.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer

import asyncpg
import httpx
import pytest
from integration.outcome_agent import serve_on_socket

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SETTINGS = replace(
    FAST_SETTINGS, lease_renew_interval=60, lease_duration=600, orphan_scan_interval=600
)
"""Nothing but the engine itself looks after a task: what finds forgotten ones comes after the
test.
"""

GATE = AuthGate(ApiKeyAuthenticator({digest_key("k"): Identity("ada")}))
ROUNDS = [1, pytest.param(12, marks=pytest.mark.soak(share="drills"))]
TOGETHER = 40
MAX_DELAY_SECONDS = 0.3
LOCKED_SECONDS = 1.0
HEADERS = {"A2A-Version": "1.0", "X-API-Key": "k", "Content-Type": "application/json"}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store of the server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tasks.db'}"
    return request.getfixturevalue("postgres_url")


@contextmanager
def serve(url: str) -> Iterator[httpx.Client]:
    """Serve an agent over a socket."""
    agent = Agent("echo")

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> AsyncIterator[str]:
        await asyncio.sleep(0)
        yield ctx.text

    with serve_on_socket(
        create_app(Surface(agent, gate=GATE), store=url, settings=SETTINGS)
    ) as client:
        yield client


@asynccontextmanager
async def lock_writes(url: str) -> AsyncIterator[None]:
    """Hold a lock that the creation of a task needs for a while, from another connection."""
    if url.startswith("sqlite"):
        with closing(
            sqlite3.connect(
                url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False
            )
        ) as db:
            db.execute("BEGIN IMMEDIATE")
            timer = Timer(LOCKED_SECONDS, lambda: db.execute("ROLLBACK"))
            timer.start()
            yield
            await asyncio.to_thread(timer.join)
        return
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await connection.execute("LOCK a2a_events IN EXCLUSIVE MODE")
        yield
        await asyncio.sleep(LOCKED_SECONDS)
    await connection.close()


async def hang_up(address: httpx.URL, number: int, delay_seconds: float) -> None:
    """Send a message over a connection of its own, and close it soon afterwards."""
    body = json.dumps(
        {"message": build_user_message(f"{number}", message_id=f"m-{number}").to_dict()}
    ).encode()
    path = ("send", "stream")[number % 2]
    headers = {**HEADERS, "Host": "agent", "Content-Length": f"{len(body)}"}
    head = "".join(
        [
            f"POST /message:{path} HTTP/1.1\r\n",
            *[f"{name}: {value}\r\n" for name, value in headers.items()],
            "\r\n",
        ]
    )
    _, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(head.encode() + body)
    await writer.drain()
    await asyncio.sleep(delay_seconds)
    writer.transport.abort()


async def wait_until_all_have_ended(client: httpx.Client, expected: int) -> None:
    """Wait until every task has ended; their number may be smaller, because a request may be closed
    before it is read.
    """
    async with (
        httpx.AsyncClient(base_url=client.base_url, headers=HEADERS) as reader,
        asyncio.timeout(30),
    ):
        while True:
            lists = [
                await reader.get("/tasks", params=query)
                for query in ({"status": "TASK_STATE_COMPLETED"}, {})
            ]
            ended, created = [each.raise_for_status().json()["totalSize"] for each in lists]
            if ended == created > 0:
                break
            await asyncio.sleep(0.05)
    assert created <= expected


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_tasks_of_clients_that_hang_up_end(url: str, rounds: int) -> None:
    """Many connections are closed at any moment of their request: before it is read, during the
    commit, and after the task has ended.
    """
    spread = random.Random(1)  # noqa: S311 - the same delays in each run
    with serve(url) as client:
        for each in range(rounds):
            numbers = range(each * TOGETHER, (each + 1) * TOGETHER)
            await asyncio.gather(
                *[
                    hang_up(client.base_url, number, spread.uniform(0, MAX_DELAY_SECONDS))
                    for number in numbers
                ]
            )
        await wait_until_all_have_ended(client, rounds * TOGETHER)


async def test_tasks_that_are_committed_after_their_client_has_hung_up_end(url: str) -> None:
    """The store is locked while the clients disconnect, and commits the tasks afterwards."""
    with serve(url) as client:
        async with lock_writes(url):
            await asyncio.gather(
                *[hang_up(client.base_url, number, MAX_DELAY_SECONDS) for number in range(TOGETHER)]
            )
        await wait_until_all_have_ended(client, TOGETHER)
