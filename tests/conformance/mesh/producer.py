"""A producer with a surface for every outcome of a task in the mesh dialect, and a client for
it.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
from litestar import Litestar

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_contract.v1_0 import Message
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import PresenceGate
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.engine.handlers.jobs import BackgroundJob
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

LINE_ENDS = "one\u2028two\u2029three\u0085four"
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"topic": {"type": "string"}},
    "required": ["topic"],
}
ONLY_MESH = frozenset((MESH.name,))

runs: list[str] = []
released = threading.Event()
"""The texts of the messages that the counting handler was called with."""


async def echo(ctx: TaskContext) -> str:
    """Say the same."""
    return ctx.text


async def values(ctx: TaskContext) -> object:
    """Answer with whatever is asked for."""
    return {
        "object": {"a": 1, "b": [True, None]},
        "number": 42,
        "nothing": None,
        "time": datetime(2026, 5, 11, 12, 34, 56, tzinfo=UTC),
        "price": {"amount": Decimal("9.90")},
        "lines": LINE_ENDS,
    }[ctx.text]


async def fails(_ctx: TaskContext) -> str:
    """Fail."""
    raise ValueError("Topic required")


async def counts(ctx: TaskContext) -> str:
    """Count how often it runs, slowly."""
    runs.append(ctx.text)
    await asyncio.sleep(0.05)
    return "done"


async def report(ctx: TaskContext) -> BackgroundJob:
    """Hand back a job that reports as often as it is told to, and ends as it is told to."""
    steps, end = json.loads(ctx.text)

    async def work(job: BackgroundJob) -> object:
        for step in steps:
            job.report(*step)
            await asyncio.sleep(0.05)
        if end == "forever":
            await asyncio.Event().wait()
        if end == "released":
            assert await asyncio.to_thread(released.wait, 30)
        if end == "fail":
            raise RuntimeError("No coffee left")
        return {"pages": 3}

    return BackgroundJob(work)


async def tells(ctx: TaskContext) -> str:
    """Say how it goes without any job."""
    await ctx.status("half", progress=0.5)
    await ctx.status("half", progress=0.5)
    await ctx.status(progress=0.75)
    return "told"


async def spells(ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Give a text letter by letter."""
    for letter in ctx.text:
        yield letter


async def greets(ctx: Context) -> Message:
    """Greet without a task of its own."""
    return ctx.reply(f"Hello, {ctx.text}!")


async def ask_once(ctx: TaskContext) -> str:
    """Ask once."""
    return f"You said {(await ctx.ask('What?')).text}"


async def sly(ctx: TaskContext) -> str:
    """Ask in a way that no code shows."""
    return str(await getattr(ctx, "as" + "k")("What?"))


class FailingJob:
    """A job of another system; every method of it fails."""

    async def status(self) -> object:
        """Fail."""
        raise LookupError("the registry is away")

    async def wait(self) -> object:
        """Never come back."""
        await asyncio.Event().wait()

    async def cancel(self) -> None:
        """Fail too."""
        raise LookupError("the registry is away")


async def broken_job(_ctx: TaskContext) -> FailingJob:
    """Return a job whose methods all fail."""
    return FailingJob()


async def data(ctx: TaskContext) -> object:
    """Return the data of the message."""
    return ctx.data


gate = threading.Event()
"""Lets the slow handler end."""


async def slow(ctx: TaskContext) -> str:
    """Report progress, and end when it is let."""
    await ctx.status("at it", progress=0.5)
    assert await asyncio.to_thread(gate.wait, 30)
    return f"{ctx.text} done"


def agent_of(
    skill_id: str,
    handler: Any,  # noqa: ANN401 - whatever a skill can be
    **facts: Any,  # noqa: ANN401 - whatever a skill can be
) -> Agent:
    """Make an agent of one handler."""
    agent = Agent(f"{skill_id}-agent", version="2.1.0")
    agent.add(skill_id, handler, **facts)
    return agent


def surfaces() -> list[Surface]:
    """Make every surface."""
    quiet = Limits(keep_alive_interval=0.05)
    only = {
        "echo": echo,
        "values": values,
        "fails": fails,
        "counts": counts,
        "tells": tells,
        "spells": spells,
        "stubborn": broken_job,
        "sly": sly,
    }
    everything = {
        "name": "Report Generator",
        "description": "Writes reports.",
        "tags": ("reports", "v1"),
        "input_schema": SCHEMA,
    }
    return [
        *(
            Surface(agent_of(name, handler), f"/agents/{name}", ONLY_MESH)
            for name, handler in only.items()
        ),
        Surface(agent_of("other-echo", echo), "/agents/other-echo", ONLY_MESH),
        Surface(agent_of("greets", greets, answers="message"), "/agents/greets", ONLY_MESH),
        Surface(
            agent_of("report", report, input_modes=("application/json",), **everything),
            "/agents/report",
            ONLY_MESH,
            limits=quiet,
        ),
        Surface(agent_of("guarded", echo), "/agents/guarded", ONLY_MESH, gate=PresenceGate()),
        Surface(agent_of("data", data), "/agents/data", ONLY_MESH),
        Surface(agent_of("slow", slow), "/agents/slow", ONLY_MESH, answer_within=0.05),
        Surface(agent_of("at-once", echo), "/agents/at-once", ONLY_MESH, answer_within=0),
        Surface(
            agent_of("mixed", ask_once),
            "/agents/mixed",
            frozenset((MESH.name, V1_0.name, V0_3.name)),
        ),
    ]


def producer(store: Store | str | None = None) -> Litestar:
    """Make the whole app."""
    return create_app(*surfaces(), store=store, settings=FAST_SETTINGS)


def message(text: str) -> dict[str, object]:
    """Say something."""
    return {"role": "user", "parts": [{"type": "text", "text": text}]}


def job(*steps: tuple[float | None, str | None], end: str = "done") -> dict[str, object]:
    """Ask for a report in some steps."""
    return message(json.dumps([steps, end]))


@dataclass
class Consumer:
    """Calls a surface, and reads what comes back as it is."""

    client: httpx.Client
    path: str = "/agents/echo"
    headers: dict[str, str] = field(default_factory=dict)

    def post(self, method: str, params: object = None, call_id: object = 1) -> httpx.Response:
        """Call a method."""
        body = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params or {}}
        return self.client.post(self.path, json=body, headers=self.headers)

    def task(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method, and get the task that it gives."""
        response = self.post(method, params)
        body = response.json()
        assert response.status_code == 200
        assert "error" not in body, body
        assert (body["jsonrpc"], body["id"]) == ("2.0", 1)
        result: dict[str, Any] = body["result"]
        return result

    def error(self, method: str, params: object = None) -> dict[str, Any]:
        """Call a method, and get the error that it gives."""
        response = self.post(method, params)
        body = response.json()
        assert (response.status_code, body["id"]) == (200, 1)
        assert "result" not in body
        error: dict[str, Any] = body["error"]
        return error

    def stream(self, method: str, **params: object) -> list[dict[str, Any]]:
        """Call a method that streams, and get every result."""
        with self.open_stream(method, **params) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            return [envelope["result"] for envelope in envelopes(response.iter_lines())]

    def open_stream(
        self,
        method: str,
        **params: object,
    ) -> Any:  # noqa: ANN401 - httpx does not name the type of its context managers
        """Call a method that streams, and get the response while it comes."""
        return self.client.stream(
            "POST",
            self.path,
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers=self.headers,
        )

    def until(self, task_id: str, *states: str) -> dict[str, Any]:
        """Read a task until it is in one of some states."""
        for _ in range(500):
            task = self.task("tasks/get", id=task_id)
            if task["status"]["state"] in states:
                return task
        raise AssertionError(f"{task_id} stays {task['status']['state']}")


def envelopes(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Read the frames of a stream."""
    for line in lines:
        if line.startswith("data: "):
            envelope = json.loads(line.removeprefix("data: "))
            assert envelope.keys() == {"jsonrpc", "id", "result"}
            assert (envelope["jsonrpc"], envelope["id"]) == ("2.0", 1)
            yield envelope


def text_of(task: dict[str, Any]) -> str:
    """Read what consumers read of a completed task."""
    text: str = task["artifacts"][0]["parts"][0]["text"]
    return text


def summarize_event(event: dict[str, Any]) -> tuple[object, ...]:
    """Summarize an event: an artifact's text, or state, text, progress and whether it is the last
    one.
    """
    if "artifact" in event:
        return ("artifact", event["artifact"]["parts"][0]["text"])
    status = event["status"]
    said = status.get("message")
    return (
        status["state"],
        said and said["parts"][0]["text"],
        event.get("metadata", {}).get("progress"),
        event["final"],
    )
