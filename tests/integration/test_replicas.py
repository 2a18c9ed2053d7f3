"""Two processes on one Postgres: whatever is asked of one can be asked of the other, and one that
dies is not missed for long.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import httpx
import pytest
from conformance.agent_client import AgentClient
from integration.dialect_client import (
    DIALECT_BINDINGS,
    DRAFT_BINDINGS,
    DialectBinding,
    build_send_request,
)

from a2a_contract.base import WireModel
from a2a_contract.dialects import V0_3, V1_0, V1_1_DRAFT
from a2a_contract.operations import (
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_TASK,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASKS,
    SEND_STREAMING_MESSAGE,
)
from a2a_contract.v1_0 import (
    GetTaskPushNotificationConfigRequest,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_contract.v1_1_draft import GetTaskRequest as NumberedGetTaskRequest
from a2a_contract.v1_1_draft import Task as NumberedTask
from a2a_runtime.testing.embedded_postgres import DatabaseFactory

PROGRAM = Path(__file__).with_name("replica.py")
AT_ONCE = {"return_immediately": True}
NEW = DialectBinding(V1_0.name, is_jsonrpc=False)
CHUNKS = 40
LEASE = "3"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Replica:
    """A process that serves the agent."""

    process: subprocess.Popen[str]
    client: httpx.Client

    def kill(self) -> None:
        """Let it die at once."""
        self.process.kill()
        self.process.wait(120)


@contextmanager
def replica(url: str, *lease: str) -> Iterator[Replica]:
    """Start one, and wait until it answers."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), url, *lease],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the replica did not start"
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False
        ) as client:
            yield Replica(process, client)
    finally:
        process.terminate()
        process.communicate(timeout=120)


class RoundRobin(httpx.BaseTransport):
    """Sends every request to the next of some servers."""

    def __init__(self, *urls: httpx.URL) -> None:
        self._next = cycle(urls)
        self._transport = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Take the next one."""
        target = next(self._next)
        request.url = request.url.copy_with(host=target.host, port=target.port)
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close what is open."""
        self._transport.close()


@pytest.fixture(scope="module")
def pair(postgres_databases: DatabaseFactory) -> Iterator[tuple[Replica, Replica]]:
    """Two replicas on one database."""
    url = asyncio.run(postgres_databases.create())
    with replica(url) as one, replica(url) as other:
        yield one, other


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def binding(request: pytest.FixtureRequest) -> DialectBinding:
    """Every dialect over every binding."""
    return request.param  # type: ignore[no-any-return]  # as given


def at(client: httpx.Client, binding: DialectBinding = NEW) -> AgentClient:
    """Talk to one of them."""
    return AgentClient(
        client, binding, "/kind" if binding == DialectBinding(V0_3.name, is_jsonrpc=False) else ""
    )


def test_a_client_behind_a_balancer_notices_nothing(
    pair: tuple[Replica, Replica], binding: DialectBinding
) -> None:
    """Each request goes to the other process than the one before."""
    with httpx.Client(
        transport=RoundRobin(*(each.client.base_url for each in pair)),
        base_url="http://agent",
        timeout=20,
    ) as client:
        asker = at(client, binding)
        for _ in range(2):  # so that each request comes to each of them
            task = asker.task("hello")
            assert asker.get(task.id) == asker.get(task.id) == task
            asking = asker.task("hi", skill="ask")
            done = asker.task("yes", task_id=asking.id, message_id="m-2")
            assert done.status.state == TaskState.COMPLETED
            running = asker.task("x", skill="wait", configuration=AT_ONCE)
            config = TaskPushNotificationConfig(
                task_id=running.id, id="p-1", url="https://hooks.example.org/a2a"
            )
            asker.call(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, config)
            assert asker.call(
                GET_TASK_PUSH_NOTIFICATION_CONFIG,
                GetTaskPushNotificationConfigRequest(task_id=running.id, id="p-1"),
            )
            assert asker.cancel(running.id).status.state == TaskState.CANCELED
            assert (
                asker.get(running.id).status.state
                == asker.get(running.id).status.state
                == TaskState.CANCELED
            )
            assert asker.stream("3", skill="count")[-1].status_update


def test_a_task_of_one_is_followed_at_the_other(
    pair: tuple[Replica, Replica], binding: DialectBinding
) -> None:
    """A reader at the other process gets every event as it happens."""
    one, other = (at(each.client, binding) for each in pair)
    task = one.task("10", skill="tick", configuration=AT_ONCE)
    (_, first), *updates = other.subscribe(task.id)
    assert first.task is not None
    before = [part.text for artifact in first.task.artifacts or [] for part in artifact.parts]
    assert before + chunks_of(updates) == [str(number) for number in range(10)]
    assert state_of(updates) == TaskState.COMPLETED


def test_a_stream_of_one_is_gone_on_with_at_the_other(
    pair: tuple[Replica, Replica], binding: DialectBinding
) -> None:
    """After the last event that was heard comes the next one, and none twice."""
    one, other = (at(each.client, binding) for each in pair)
    events: list[tuple[str | None, StreamResponse]] = []
    for event in one.events(SEND_STREAMING_MESSAGE, build_send_request("10", skill="tick")):
        events.append(event)
        if len(events) == 4:
            break
    assert events[0][1].task is not None
    events += other.subscribe(events[0][1].task.id, last_event_id=str(events[-1][0]))
    check_whole(events, 10)


def test_a_task_of_another_process_is_canceled(pair: tuple[Replica, Replica]) -> None:
    """A reader at its own process gets the cancellation."""
    one, other = (at(each.client) for each in pair)
    task = one.task("x", skill="wait", configuration=AT_ONCE)
    events: list[tuple[str | None, StreamResponse]] = []
    listener = threading.Thread(target=lambda: events.extend(one.subscribe(task.id)))
    listener.start()
    while not events:
        time.sleep(0.01)
    assert other.cancel(task.id).status.state == TaskState.CANCELED
    listener.join(10)
    assert state_of(events) == TaskState.CANCELED


@pytest.mark.parametrize("draft", DRAFT_BINDINGS[:2], ids=str)
def test_a_read_held_at_one_is_answered_by_a_change_at_the_other(
    pair: tuple[Replica, Replica], draft: DialectBinding
) -> None:
    """Only the notification of the other process wakes it: without one it would wait for longer
    than its client.
    """
    one, other = (
        at(each.client, draft).with_headers(a2a_version=V1_1_DRAFT.version or "") for each in pair
    )
    waiting_task = one.task("hello", skill="ask")
    assert isinstance(waiting_task, NumberedTask)
    held: list[WireModel | None] = []
    request = NumberedGetTaskRequest(id=waiting_task.id, current_generation=waiting_task.generation)
    waiting = threading.Thread(target=lambda: held.append(other.call(GET_TASK, request)))
    waiting.start()
    one.task("yes", task_id=waiting_task.id, message_id="m-2")
    waiting.join(30)
    (found,) = held
    assert isinstance(found, NumberedTask)
    assert (found.generation or 0) > (waiting_task.generation or 0)


def test_lists_are_the_same_at_both(pair: tuple[Replica, Replica]) -> None:
    """Both processes give the same list, also if each page comes from another one."""
    one, other = (at(each.client) for each in pair)
    context = one.task("0").context_id
    made = [
        who.task(str(number), context_id=context).id for number, who in enumerate([one, other] * 3)
    ]
    assert one.dialect_binding.has(LIST_TASKS)
    assert one.list(context_id=context) == other.list(context_id=context)
    found: list[str] = []
    token = ""
    for who in (other, one, other, one):
        page = who.list(context_id=context, page_size=2, page_token=token)
        found += [task.id for task in page.tasks]
        token = page.next_page_token
    assert (found[:6], token) == (made[::-1], "")


def test_a_process_that_is_killed_is_not_missed_for_long(postgres_url: str) -> None:
    """Its task goes on at the other; who follows it there hears all of it, and who has followed it
    at the dead one goes on there without a gap.
    """
    with replica(postgres_url, LEASE) as doomed, replica(postgres_url, LEASE) as other:
        dying = at(doomed.client)
        living = at(other.client)
        task = dying.task(str(CHUNKS), skill="tick", configuration=AT_ONCE)
        lost: list[tuple[str | None, StreamResponse]] = []
        whole: list[tuple[str | None, StreamResponse]] = []
        at_dead = threading.Thread(target=_listen_until_it_breaks, args=(dying, task, lost))
        at_living = threading.Thread(target=lambda: whole.extend(living.subscribe(task.id)))
        at_dead.start()
        at_living.start()
        while len(lost) < 8:
            time.sleep(0.01)
        doomed.kill()
        at_dead.join(120)
        rest = list(living.subscribe(task.id, last_event_id=str(lost[-1][0])))
        at_living.join(120)
        check_whole([*lost, *rest], CHUNKS)
        assert [number for number, _ in whole[1:]] == sorted(
            {number for number, _ in whole[1:]}, key=to_number
        )
        assert state_of(whole) == TaskState.COMPLETED
        assert texts_of(living.get(task.id)) == [str(number) for number in range(CHUNKS)]


def _listen_until_it_breaks(
    asker: AgentClient, task: Task, events: list[tuple[str | None, StreamResponse]]
) -> None:
    try:
        for event in asker.subscribe(task.id):
            events.append(event)  # noqa: PERF402 - another thread reads the progress
    except httpx.TransportError:  # what was heard by then is what counts
        return


def to_number(cursor: str | None) -> int:
    """Return the number of the event at a cursor, which may have a mark too."""
    return int((cursor or "0").partition("-")[0])


def check_whole(events: list[tuple[str | None, StreamResponse]], count: int) -> None:
    """See that no event is missing or doubled, that one of them is the end, and that the pieces
    make the whole.
    """
    numbers = [to_number(cursor) for cursor, _ in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    ends = [
        event
        for _, event in events
        if event.status_update and event.status_update.status.state == TaskState.COMPLETED
    ]
    assert len(ends) == 1
    assert state_of(events) == TaskState.COMPLETED
    pieces: list[str | None] = []
    for _, event in events:
        if event.task:
            pieces = texts_of(event.task)
        if (update := event.artifact_update) is not None:
            pieces = [
                *(pieces if update.append else ()),
                *(part.text for part in update.artifact.parts),
            ]
    assert pieces == [str(number) for number in range(count)]


def chunks_of(events: list[tuple[str | None, StreamResponse]]) -> list[str | None]:
    """Read the texts of the pieces."""
    return [
        event.artifact_update.artifact.parts[0].text for _, event in events if event.artifact_update
    ]


def state_of(events: list[tuple[str | None, StreamResponse]]) -> TaskState | None:
    """Read the state that the last event tells of."""
    update = events[-1][1].status_update
    if update:
        return update.status.state
    return None


def texts_of(task: Task) -> list[str | None]:
    """Read the results of a task."""
    return [part.text for artifact in task.artifacts or [] for part in artifact.parts]
