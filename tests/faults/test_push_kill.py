"""Deliverers that die: every event still arrives, in order for each webhook, and twice only where a
call was under way.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.features.push.notification import ID_HEADER
from a2a_runtime.stores import create_store
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import TaskChange
from a2a_runtime.testing.fail_points import FAULT_VARIABLE
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_new_task,
    create_task,
)
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

pytestmark = pytest.mark.anyio

SENDER = Path(__file__).with_name("push_sender.py")
TASKS = 4
CHUNKS = 10
EVENTS = CHUNKS + 2
CONCURRENCY = 8
SECONDS = 180
"""A busy machine starts a process in ten seconds; a quiet one needs none of this time."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name a store that outlives its process."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tasks.db"
    return request.getfixturevalue("postgres_url")


@contextmanager
def sender_process(url: str, fault: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that sends, and stop it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), FAULT_VARIABLE: fault}
    with subprocess.Popen([sys.executable, str(SENDER), url], env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[Store]:
    """Open a store for a moment: a file has room for one process."""
    store = create_store(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@dataclass(frozen=True)
class Expected:
    """The expected events of each webhook, by its path."""

    events: dict[str, list[object]]

    def check(self, calls: list[WebhookRequest], duplicates: int) -> None:
        """See that all of it has come, in order, and that no more was said twice than is
        allowed.
        """
        header = ID_HEADER.lower()
        for path, events in self.events.items():
            received = [call for call in calls if call.path.endswith(path)]
            order = list(dict.fromkeys(call.headers[header] for call in received))
            assert [
                {call.headers[header]: call.json() for call in received}[each] for each in order
            ] == events
            assert [call.headers[header] for call in received] == sorted(
                (call.headers[header] for call in received), key=order.index
            )
        assert len(calls) - len({call.headers[header] for call in calls}) <= duplicates


async def prepare_tasks(url: str, receiver: WebhookReceiver) -> Expected:
    """Run tasks without a push sender."""
    events = {}
    async with open_store(url) as store:
        for n in range(TASKS):
            push = TaskPushNotificationConfig(id="hook", url=f"{receiver.url}/{n}")
            task = await create_task(store, build_new_task(push_config=push))
            for chunk in range(CHUNKS):
                await store.update_task(
                    SCOPE, task.key, TaskChange(chunks=[append_artifact("log", str(chunk))])
                )
            await store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED))
            events[f"/{n}"] = [
                json.loads(event.body) for event in await store.read_events(task.key, 0)
            ]
    return Expected(events)


async def wait_for_all(receiver: WebhookReceiver) -> None:
    """Wait until every delivery arrived at least once."""
    async with asyncio.timeout(SECONDS):
        while len({call.headers[ID_HEADER.lower()] for call in receiver.requests}) < TASKS * EVENTS:
            await receiver.wait_for_requests(len(receiver.requests) + 1, SECONDS)


class KillingReceiver:
    """Responses of a receiver that kill the sender before it reads them.

    Each killed process is replaced.
    """

    def __init__(self, url: str, every: int, count: int) -> None:
        self.kills = 0
        self._every = self._next = every
        self._url = url
        self._count = count
        self._processes: list[subprocess.Popen[bytes]] = []

    def __call__(self, call: WebhookRequest) -> WebhookResponse:
        """Answer, or kill the first of those who may have called."""
        if call.number >= self._next and self._processes:
            self.kills, self._next = self.kills + 1, call.number + self._every
            self._processes.pop(0).kill()
        return WebhookResponse(503 if call.number % 5 == 0 else 204)

    async def replace(self) -> None:
        """Have as many processes as there should be, until cancelled."""
        with ExitStack() as processes:
            while True:
                while len(self._processes) < self._count:
                    self._processes.append(processes.enter_context(sender_process(self._url)))
                await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_killed_sender_loses_nothing(url: str) -> None:
    """Killed during calls again and again, alone on a file or one of two on a database: every event
    arrives.
    """
    murderer = KillingReceiver(url, every=10, count=1 if url.startswith("sqlite") else 2)
    async with WebhookReceiver(murderer) as receiver:
        expected = await prepare_tasks(url, receiver)
        replacing = asyncio.create_task(murderer.replace())
        try:
            await wait_for_all(receiver)
        finally:
            replacing.cancel()
            await asyncio.wait((replacing,))
        assert murderer.kills >= 3
        refused = len([call for call in receiver.requests if call.number % 5 == 0])
        expected.check(receiver.requests, refused + murderer.kills * CONCURRENCY)


SOME = ("begun:1", "call done:6", "before commit:1", "after commit:6")
POINTS = [
    f"{point}:{times}"
    for point in ("begun", "call done", "before commit", "after commit")
    for times in (1, 6)
]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(point, marks=() if point in SOME else pytest.mark.soak(share="drills"))
        for point in POINTS
    ],
)
async def test_a_sender_may_die_at_every_point_of_a_write(tmp_path: Path, fault: str) -> None:
    """The next process continues, with the write or without it."""
    url = f"sqlite:///{tmp_path}/tasks.db"
    async with WebhookReceiver() as receiver:
        expected = await prepare_tasks(url, receiver)
        with sender_process(url, fault) as victim:
            assert await asyncio.to_thread(victim.wait, SECONDS) == -9
        with sender_process(url):
            await wait_for_all(receiver)
        expected.check(receiver.requests, CONCURRENCY)
