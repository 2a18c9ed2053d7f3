"""The queue of chunks: order, bounds, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.engine.chunk_queue import MAX_BYTES, MAX_CHUNKS, ChunkQueue
from a2a_runtime.engine.signals import RunStopped
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.fragments import decode_chunk
from a2a_runtime.stores.models import ChunkWrite
from a2a_runtime.testing.store_contract.case import write_artifact

pytestmark = pytest.mark.anyio


class Commits:
    """Commits that wait until they may go on, and fail as they are told."""

    def __init__(self) -> None:
        self.committed: list[list[str]] = []
        self.failures: list[BaseException] = []
        self.may_go_on = asyncio.Event()
        self.begun = 0

    async def __call__(self, writes: Sequence[ChunkWrite]) -> None:
        """Commit."""
        self.begun += 1
        await self.may_go_on.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.committed.append([decode_chunk(write.chunk).parts[0].text or "" for write in writes])


def chunk(text: object) -> ChunkWrite:
    """Build a chunk."""
    return write_artifact(Artifact(artifact_id="a", parts=[Part(text=str(text))]), append=True)


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_chunks_that_wait_share_a_commit_in_their_order() -> None:
    """The first one is committed at once, the others while it is on its way."""
    commits = Commits()
    queue = ChunkQueue(commits)
    for number in range(10):
        await queue.put(chunk(number))
    await settle()
    await queue.put(chunk(10))
    commits.may_go_on.set()
    await queue.drain()
    assert [text for batch in commits.committed for text in batch] == [
        str(number) for number in range(11)
    ]
    assert len(commits.committed) == 2


@pytest.mark.parametrize(("text", "most"), [("x", MAX_CHUNKS), ("x" * (MAX_BYTES // 4), 4)])
async def test_a_full_queue_makes_its_writer_wait(text: str, most: int) -> None:
    """It is bounded by the number of chunks and by their size; writers go on in the order of their
    calls.
    """
    commits = Commits()
    queue = ChunkQueue(commits)
    await queue.put(chunk("first"))
    await settle()
    for _ in range(most):
        await queue.put(chunk(text))
    late = [asyncio.create_task(queue.put(chunk(name))) for name in ("b", "c", "d")]
    await settle()
    assert not any(task.done() for task in late)
    commits.may_go_on.set()
    await asyncio.gather(*late)
    await queue.drain()
    assert [each for batch in commits.committed for each in batch] == [
        "first",
        *[text] * most,
        "b",
        "c",
        "d",
    ]


async def test_an_unavailable_store_loses_no_chunk() -> None:
    """The next call raises its error and the call after that tries again, with the same chunks
    alone: they may have been committed.
    """
    commits = Commits()
    commits.failures.append(StoreUnavailableError("away"))
    commits.may_go_on.set()
    queue = ChunkQueue(commits)
    await queue.put(chunk(1))
    await queue.put(chunk(2))
    await settle()
    with pytest.raises(StoreUnavailableError):
        await queue.put(chunk("not taken"))
    await queue.put(chunk(3))
    await queue.drain()
    assert commits.committed == [["1", "2"], ["3"]]


async def test_a_drain_raises_the_error_of_its_commit() -> None:
    """Also an error that stops the run; then nothing is tried again."""
    commits = Commits()
    commits.failures.append(RunStopped())
    queue = ChunkQueue(commits)
    await queue.put(chunk(1))
    draining = asyncio.create_task(queue.drain())
    await settle()
    assert not draining.done()
    commits.may_go_on.set()
    with pytest.raises(RunStopped):
        await draining
    await queue.drain()
    assert (commits.committed, commits.begun) == ([], 1)


async def test_a_writer_that_is_cancelled_leaves_the_commit_alone() -> None:
    """Its chunks are committed all the same."""
    commits = Commits()
    queue = ChunkQueue(commits)
    await queue.put(chunk(1))
    draining = asyncio.create_task(queue.drain())
    await settle()
    draining.cancel()
    await settle()
    commits.may_go_on.set()
    await queue.drain()
    assert commits.committed == [["1"]]


async def test_a_run_that_is_over_drops_its_chunks() -> None:
    """Chunks after the end of a run are dropped, also those on their way."""
    commits = Commits()
    queue = ChunkQueue(commits)
    await queue.put(chunk(1))
    await settle()
    await queue.put(chunk(2))
    queue.cancel()
    commits.may_go_on.set()
    await settle()
    assert commits.committed == []


@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_drain_ends_with_the_run(
    has_begun: bool,  # noqa: FBT001 - a row of a table
) -> None:
    """Also if the commit that it waits for is dropped before it has begun, and one that comes later
    finds nothing.
    """
    commits = Commits()
    queue = ChunkQueue(commits)
    await queue.put(chunk(1))
    if has_begun:
        await settle()
    draining = asyncio.create_task(queue.drain())
    await asyncio.sleep(0)
    queue.cancel()
    async with asyncio.timeout(30):
        await draining
        await queue.drain()
    assert commits.committed == []
