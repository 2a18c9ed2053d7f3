"""Clients that disconnect at any moment of a send: every task that exists is run to its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator
from dataclasses import replace
from itertools import count
from operator import attrgetter

import pytest
from integration.dialect_client import DialectBinding
from litestar import Litestar
from litestar.types import Message

from a2a_contract.base import JsonObject
from a2a_contract.binding import Operation
from a2a_contract.dialects import CANONICAL, VERSION
from a2a_contract.lifecycle import TERMINAL
from a2a_contract.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import TaskQuery
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio

PATIENT_SETTINGS = replace(FAST_SETTINGS, lease_renew_interval=60, lease_duration=600)
"""Nothing but the engine itself looks after a task: the renewal of the lease, which finds tasks
that do not run, comes after the test.
"""


class CancelAtStep:
    """Runs an awaitable, and cancels it where it waits for the n-th time."""

    def __init__(self, awaitable: Awaitable[None], step: int) -> None:
        self._awaitable = awaitable
        self._step = step
        self.is_canceled = False

    def __await__(self) -> Generator[object, object, None]:
        """Pass futures and replies on as a task does; cancel the task when the n-th future comes,
        so that it is canceled while it waits for it.
        """
        steps: Generator[object, object, None] = self._awaitable.__await__()
        task = asyncio.current_task()
        assert task is not None
        try:
            pending = next(steps)
            for step in count():
                if step == self._step:
                    self.is_canceled = True
                    asyncio.get_running_loop().call_soon(task.cancel)
                try:
                    reply = yield pending
                except BaseException as error:  # noqa: BLE001 - raised where the awaitable is suspended
                    pending = steps.throw(error)
                else:
                    pending = steps.send(reply)
        except StopIteration:
            return


def build_scope(operation: Operation, *, is_jsonrpc: bool) -> tuple[dict[str, object], bytes]:
    """Build the ASGI scope and the body of a send over a binding."""
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    path = (
        "/"
        if is_jsonrpc
        else DialectBinding(CANONICAL.name, is_jsonrpc=False).path_builder.build(operation, {}).path
    )
    body: JsonObject = {"message": message}
    if is_jsonrpc:
        body = {"jsonrpc": "2.0", "id": 1, "method": operation.name, "params": body}
    headers = [
        (b"content-type", b"application/json"),
        (b"host", b"agent"),
        (VERSION.headers[0].lower().encode(), (CANONICAL.version or "").encode()),
    ]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("agent", 80),
        "state": {},
    }
    return scope, json.dumps(body).encode()


async def call(app: Litestar, scope: dict[str, object], body: bytes, step: int) -> bool:
    """Call an app and cancel it at a step; return whether it came so far."""
    messages: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        await asyncio.sleep(0)
        message = next(messages, None)
        if message is None:
            await asyncio.Event().wait()
        assert message is not None
        return message

    async def send(_message: Message) -> None:
        await asyncio.sleep(0)

    # A server calls the app like this.
    stepped = CancelAtStep(app(scope, receive, send), step)  # type: ignore[arg-type]

    async def drive() -> None:
        await stepped

    await asyncio.wait([asyncio.create_task(drive())])
    return stepped.is_canceled


@pytest.mark.parametrize("is_jsonrpc", [True, False], ids=["jsonrpc", "http"])
@pytest.mark.parametrize(
    "operation", [SEND_MESSAGE, SEND_STREAMING_MESSAGE], ids=attrgetter("name")
)
async def test_a_task_whose_client_disconnects_is_run(
    store: Store, operation: Operation, *, is_jsonrpc: bool
) -> None:
    """The request is canceled at its first step, then at its second, and so on up to its end; no
    task stays without a run.
    """
    agent = Agent("slow")

    @agent.skill("slow")
    async def slow(ctx: TaskContext) -> AsyncIterator[str]:
        await asyncio.sleep(0)
        yield ctx.text

    surface = Surface(agent)
    app = create_app(surface, store=store, settings=PATIENT_SETTINGS)
    scope, body = build_scope(operation, is_jsonrpc=is_jsonrpc)
    async with app.lifespan(), asyncio.timeout(60):
        step = 0
        while await call(app, dict(scope), body, step):
            step += 1
        assert step > 2
        owner = ANONYMOUS.task_scope(surface.storage_key)
        tasks = (await store.list_tasks(owner, TaskQuery(page_size=100))).tasks
        assert tasks
        for each in tasks:
            while (  # noqa: ASYNC110 - nothing to wait for
                stored := await store.load_task(owner, each.wire_id)
            ) and stored.state not in TERMINAL:
                await asyncio.sleep(0.01)
