"""Marks of last chunks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.results import LastChunk
from a2a_runtime.stores.base import Store
from a2a_runtime.testing.agent import InProcessAgent, artifact_texts, run_agent

pytestmark = pytest.mark.anyio


async def spell(ctx: TaskContext) -> AsyncGenerator[object, None]:
    """Yield letters, the last one marked, and another artifact."""
    *letters, last = ctx.text
    for letter in letters:
        yield letter
    yield LastChunk(last)
    yield LastChunk(Artifact(artifact_id="note", parts=[Part(text="spelled")]))


async def spell_too_much(ctx: TaskContext) -> AsyncGenerator[object, None]:
    """Yield after the last chunk."""
    yield LastChunk(ctx.text)
    yield "more"


async def return_a_chunk(ctx: TaskContext) -> object:
    """Return what only a chunk can be."""
    return LastChunk(ctx.text)


async def list_marks(agent: InProcessAgent, text: str) -> list[tuple[str, bool]]:
    """List the chunks of a task, each with its mark."""
    stored = await agent.start(text)
    events = [json.loads(event.body) for event in await agent.collect_events(stored)]
    updates = [each["artifactUpdate"] for each in events if "artifactUpdate" in each]
    return [
        (each["artifact"]["parts"][0]["text"], each.get("lastChunk", False)) for each in updates
    ]


async def test_a_handler_marks_its_last_chunk(store: Store) -> None:
    """Each artifact has its own; the stored artifacts have no trace of it, and no other chunk has
    the mark.
    """
    async with run_agent(spell, store=store) as one, asyncio.timeout(30):
        assert await list_marks(one, "abc") == [
            ("a", False),
            ("b", False),
            ("c", True),
            ("spelled", True),
        ]
        assert artifact_texts(await one.send("abc")) == {
            "result": ["a", "b", "c"],
            "note": ["spelled"],
        }


@pytest.mark.parametrize("handler", [spell_too_much, return_a_chunk])
async def test_a_last_chunk_in_the_wrong_place_fails_the_task(
    store: Store, handler: object, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says what to do instead."""
    async with run_agent(handler, store=store) as one, asyncio.timeout(30):  # type: ignore[arg-type]  # both are handlers
        assert State((await one.send("abc")).status.state) is State.FAILED
    assert (
        "already complete; yield its chunks before LastChunk" in caplog.text
        or "LastChunk marks a value that is yielded" in caplog.text
    )
