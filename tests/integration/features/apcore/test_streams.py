"""Streams of modules: events in their order, disconnects, and following a task again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from integration.features.apcore.world import (
    Count,
    Module,
    Slow,
    apcore,
    build_params,
    build_registry,
    build_world,
    run_agent,
)

pytestmark = pytest.mark.anyio


def states(events: list[dict[str, Any]]) -> list[str]:
    """List the states in the events, and the artifacts between them."""
    return [event.get("status", {}).get("state", "artifact") for event in events]


@pytest.mark.requirement("apcore", "FR-MSG-002", "FR-EXE-001")
async def test_chunks_come_one_by_one() -> None:
    """After the first, each is appended; the events are numbered, and the last one is the end."""
    async with run_agent(build_world()) as agent:
        events = await agent.stream("count.up_to", {"number": 3})
    assert states(events) == [
        "submitted",
        "working",
        "artifact",
        "artifact",
        "artifact",
        "completed",
    ]
    chunks = [event for event in events if event["kind"] == "artifact-update"]
    assert [chunk["artifact"]["parts"][0]["data"] for chunk in chunks] == [
        {"at": 0},
        {"at": 1},
        {"at": 2},
    ]
    assert [chunk.get("append", False) for chunk in chunks] == [False, True, True]
    assert [event["number"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert events[-1]["kind"] == "status-update"
    assert events[-1]["final"]


@pytest.mark.requirement("apcore", "FR-MSG-002")
async def test_a_module_that_does_not_stream_may_be_followed() -> None:
    """Its states come as events, and its output before the last one."""
    async with run_agent(build_world()) as agent:
        assert states(await agent.stream("math.add", {"a": 1, "b": 2})) == [
            "submitted",
            "working",
            "artifact",
            "completed",
        ]
        assert states(await agent.stream("error.raise", {"number": 2})) == [
            "submitted",
            "working",
            "failed",
        ]
        blocking = await agent.call("count.up_to", {"number": 2})
        assert blocking["artifacts"][0]["parts"][0]["data"] == {"numbers": [0, 1]}


class Endless(Module):
    """Streams until its token is canceled."""

    description = "Streams."
    annotations = apcore.ModuleAnnotations(streaming=True)

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.is_cancelled = False

    async def stream(self, inputs: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        """Count for ever."""
        try:
            while not context.cancel_token.is_cancelled:
                yield {"number": inputs["number"]}
                await asyncio.sleep(0.005)
        finally:
            self.is_cancelled = context.cancel_token.is_cancelled
            self.stopped.set()


@pytest.mark.requirement("apcore", "FR-MSG-005")
@pytest.mark.parametrize("module", [Endless, Slow], ids=["streams", "waits"])
async def test_a_client_that_goes_cancels_its_task(module: type[Endless | Slow]) -> None:
    """The module sees it at its token."""
    running = module()
    async with run_agent(build_registry(time__wait=running)) as agent:
        stream = agent.follow("message/stream", build_params("time.wait", {"number": 1}))
        task_id = (await anext(stream))["id"]
        async with asyncio.timeout(30):
            if isinstance(running, Slow):
                await running.begun.wait()
            else:
                await anext(stream)
            await stream.aclose()
            await (running.canceled if isinstance(running, Slow) else running.stopped).wait()
        assert isinstance(running, Slow) or running.is_cancelled
        await agent.wait_state(task_id, "canceled")


@pytest.mark.requirement("apcore", "FR-MSG-005", "FR-MSG-006")
async def test_a_task_may_outlive_its_client() -> None:
    """Another stream goes on where the task is, and ends with it."""
    slow = Slow()
    async with run_agent(build_registry(time__wait=slow), cancel_on_disconnect=False) as agent:
        stream = agent.follow("message/stream", build_params("time.wait", {"number": 1}))
        task_id = (await anext(stream))["id"]
        async with asyncio.timeout(30):
            await slow.begun.wait()
            await stream.aclose()
            again = agent.follow("tasks/resubscribe", {"id": task_id})
            first = await anext(again)
            assert first["status"]["state"] == "working"
            slow.released.set()
            rest = [event async for event in again]
        assert states(rest) == ["artifact", "completed"]
        missing = await agent.http.post(
            "/",
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tasks/resubscribe",
                "params": {"id": "gone"},
            },
        )
        assert '"code":-32001' in missing.text


async def test_a_stream_that_fails_ends_with_the_error() -> None:
    """The stream ends with the error, and earlier chunks stay."""

    class Half(Count):
        async def stream(
            self, inputs: dict[str, Any], context: Any
        ) -> AsyncIterator[dict[str, Any]]:
            del inputs, context
            yield {"at": 0}
            raise ValueError("/srv/secret")

    async with run_agent(build_registry(half__done=Half())) as agent:
        events = await agent.stream("half.done", {"number": 1})
        assert states(events) == ["submitted", "working", "artifact", "failed"]
        assert (
            events[-1]["status"]["message"]["metadata"]["error"]["data"]["type"] == "InternalError"
        )
        assert "/srv" not in str(events)


@pytest.mark.requirement("apcore", "FR-ERR-005")
async def test_a_stream_has_a_limit_in_time() -> None:
    """The module is told to stop."""
    endless = Endless()
    async with run_agent(
        build_registry(time__wait=endless), execution_timeout=0.5
    ) as agent:  # enough to begin on a busy machine
        events = await agent.stream("time.wait", {"number": 1})
        assert events[-1]["status"]["message"]["parts"][0]["text"] == "Execution timed out"
        async with asyncio.timeout(30):
            await endless.stopped.wait()
