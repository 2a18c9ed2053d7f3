"""Chunks of one run that its handler does not wait for: bounded, in order, committed by a
background task.

    handler ── put ──► queue ── all that wait, in one transaction ──► store ── publish

``put`` waits while the queue is full; so a handler that never waits itself gives way to others. A
chunk is lost only with its process, or with its run. An error of a commit is raised by the next
call: an unavailable store keeps the queue, and the call after that one tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from a2a_runtime.engine.signals import RunStopped
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.models import ChunkWrite

MAX_CHUNKS = 64
MAX_BYTES = 1_000_000


class ChunkQueue:
    """The chunks of a run that are not committed yet."""

    def __init__(self, commit: Callable[[Sequence[ChunkWrite]], Awaitable[None]]) -> None:
        self._commit = commit
        self._waiting: list[ChunkWrite] = []
        self._batch: list[ChunkWrite] = []
        """Chunks that are being committed.

        An unavailable store keeps them: it may have committed them, so that none may join or leave
        them.
        """
        self._size_bytes = 0
        self._failure: BaseException | None = None
        self._committing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    @property
    def is_refused(self) -> bool:
        """Return whether the store refuses this run, and no call has raised that yet."""
        return isinstance(self._failure, RunStopped)

    async def put(self, write: ChunkWrite) -> None:
        """Add a chunk as soon as there is room."""
        # Concurrent writers add in the order of their calls.
        async with self._turn:
            while len(self._waiting) >= MAX_CHUNKS or (
                self._waiting and self._size_bytes >= MAX_BYTES
            ):
                await self._wait_for_commit()
            self._raise_failure()
            self._waiting.append(write)
            self._size_bytes += len(write.chunk.facts) + len(write.chunk.parts)
            self._start()

    async def drain(self) -> None:
        """Wait until everything is committed."""
        while self._batch or self._waiting or self._committing is not None:
            await self._wait_for_commit()
        self._raise_failure()

    def cancel(self) -> None:
        """Drop what is not committed: the run is over."""
        self._batch = []
        self._waiting = []
        self._size_bytes = 0
        if self._committing is not None:
            self._committing.cancel()

    async def _wait_for_commit(self) -> None:
        self._raise_failure()
        # A plain `await` would cancel the commit with the handler.
        await asyncio.wait((self._start(),))

    def _start(self) -> asyncio.Task[None]:
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_next())
            self._committing.add_done_callback(self._on_committed)
        return self._committing

    async def _commit_next(self) -> None:
        """Commit what waits now, or again what an unavailable store has not confirmed; what is
        added meanwhile waits for the next commit.
        """
        if not self._batch:
            self._batch = self._waiting
            self._waiting = []
            self._size_bytes = 0
        try:
            await self._commit(self._batch)
        except StoreUnavailableError as error:
            self._failure = error
        except (Exception, RunStopped) as error:  # noqa: BLE001 - raised by the next call
            self._failure = error
            self._batch = []
        else:
            self._batch = []

    def _on_committed(self, task: asyncio.Task[None]) -> None:
        """Begin the next commit, however this one has ended, also one that was cancelled before it
        began.
        """
        self._committing = None
        if (self._batch or self._waiting) and self._failure is None and not task.cancelled():
            self._start()

    def _raise_failure(self) -> None:
        failure = self._failure
        self._failure = None
        if failure is not None:
            raise failure
