"""Writes of one run: fenced by the run's epoch, serialized by a lock, published after the commit.

A handler does not wait for the commit of a chunk where a task outlives its process: chunks go
through a ``ChunkQueue``. Every other write of the handler, and the end of the run, drain it first.
In memory a commit takes less time than a queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from a2a_contract.base import JsonObject
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.extensions import Usage
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import Message
from a2a_runtime.base.lifecycle import INTERRUPTED
from a2a_runtime.engine.chunk_queue import ChunkQueue
from a2a_runtime.engine.dependencies import RunDependencies
from a2a_runtime.engine.handlers.usage import UsageReport, add_usage, read_usage, to_metadata
from a2a_runtime.engine.hub import EventHub
from a2a_runtime.engine.signals import RunStopped
from a2a_runtime.errors import (
    ConcurrencyError,
    FencedError,
    LostWritesError,
    StoreUnavailableError,
    TaskStateError,
)
from a2a_runtime.stores.base import TaskStore
from a2a_runtime.stores.models import (
    ChangeResult,
    Chunk,
    ChunkWrite,
    Deferral,
    ReplayRecord,
    RunProgress,
    StoredTask,
    TaskChange,
)

log = logging.getLogger(__name__)

_INITIAL_DELAY_SECONDS = 0.05
_MAX_DELAY_SECONDS = 2.0
_MAX_TURN_CHUNKS = 64
_MAX_TURN_BYTES = 262_144
"""Chunks, and their bytes, after which a handler that never waits gives way to others; one that
yields 20,000 would delay each of them by 0.2 s, one that yields 60 of a megabyte too (measured).
"""


class NumberedWrite(Struct, frozen=True, eq=False, gc=False):
    """A write of a run as it is sent to the store: the change of the caller, the same with its
    number and the usage, and that usage.
    """

    original: TaskChange
    change: TaskChange
    usage: Usage | None


class TaskWriter:
    """Writer of one run.

    Its writes have numbers, and the store takes each number once, after the one before. So a write
    whose answer is lost is sent again without harm, one that the database commits late lands once
    or not at all, and a database that fell back to an earlier state refuses the next write.

    It closes exactly once: when the task is suspended, finished or released, or when the store
    reports another run. From then on every write raises ``RunStopped``, also for a handler that
    ignores a stop request. The lock makes the closing write wait for the write before it, so
    nothing of the handler comes after the end.
    """

    is_open = True
    has_chunks = False
    is_lost = False
    """The store has another run, or not all writes of this one."""
    _is_revoked = False
    _unconfirmed: NumberedWrite | None = None
    """A write that the store may have committed without an answer: it was away, or the handler was
    canceled meanwhile.
    """
    _confirmed_writes = 0
    _turn_chunks = _turn_bytes = 0
    """What the handler has written since it gave way."""
    _chunks: ChunkQueue | None = None
    _usage: Usage | None = None
    """The sum that is not in the store yet."""
    _stored_usage: Usage | None = None

    def __init__(self, dependencies: RunDependencies, stored: StoredTask) -> None:
        self.stored = stored
        self.is_working = stored.state is State.WORKING
        self.last_seq = stored.last_seq
        self._dependencies = dependencies
        self._store = dependencies.store
        self._epoch = stored.epoch
        self._lock = asyncio.Lock()
        self._replaced_artifacts: set[str] = set()
        self.complete_artifacts: set[str] = set()
        """Artifacts whose last chunk was yielded."""

    def add_usage(self, report: UsageReport) -> None:
        """Add what the run has consumed to the sum of the task; the next write stores it."""
        total = self._usage or self._stored_usage or read_usage(self.stored.task.model.metadata)
        self._usage = add_usage(total, report)

    @property
    def progress(self) -> RunProgress | None:
        """The writes of this run that the store has confirmed; ``None`` while one is under way, and
        after the last one.
        """
        if not self.is_open or self._lock.locked() or self._unconfirmed is not None:
            return None
        return RunProgress(self._epoch, self._confirmed_writes)

    @property
    def has_unseen_loss(self) -> bool:
        """Return whether the chunks are refused, and the handler does not know it yet."""
        return self._chunks is not None and self._chunks.is_refused

    def lose(self, error: FencedError) -> None:
        """Close the writer: the store does not have its run any more, or not all of its writes."""
        self._close(error)

    def revoke(self) -> None:
        """Refuse all writes of the handler from now on, also one that waits for the store; only
        ``finish`` and ``release`` remain.
        """
        self._is_revoked = True

    async def require_task(self) -> None:
        """Wait until the task exists; here it always does."""

    async def mark_working(self) -> None:
        """Set the task to working; a no-op if it already is."""
        if not self.is_working:
            await self._commit(
                TaskChange(state=State.WORKING, epoch=self._epoch), unless_working=True
            )

    async def write_status(self, message: Message | None, metadata: JsonObject | None) -> None:
        """Write a status with a message, metadata, or both."""
        await self.flush()
        change = TaskChange(
            state=State.WORKING,
            status_message=message,
            metadata=metadata,
            event_metadata=metadata,
            epoch=self._epoch,
        )
        await self._commit(change)

    async def write_chunk(self, chunk: Chunk, *, last_chunk: bool = False) -> None:
        """Write a chunk of an artifact; the first chunk of a run replaces what earlier runs have
        written.
        """
        if self._store.runs_again:
            return await self._put_chunk(chunk, last_chunk=last_chunk)
        await self.mark_working()
        write = self._build_write(chunk, last_chunk=last_chunk)
        try:
            await self._commit(TaskChange(chunks=(write,), epoch=self._epoch))
        except StoreUnavailableError:
            if not write.append:
                self._replaced_artifacts.discard(chunk.artifact_id)
            raise
        self._turn_chunks += 1
        self._turn_bytes += len(chunk.facts) + len(chunk.parts)
        if self._turn_chunks >= _MAX_TURN_CHUNKS or self._turn_bytes >= _MAX_TURN_BYTES:
            self._turn_chunks = self._turn_bytes = 0
            await asyncio.sleep(0)
        return None

    async def _put_chunk(self, chunk: Chunk, *, last_chunk: bool) -> None:
        await self.require_task()
        if not self.is_open or self._is_revoked:
            raise RunStopped
        if self._chunks is None:
            self._chunks = ChunkQueue(self._commit_chunks)
            self.has_chunks = True
        await self._chunks.put(self._build_write(chunk, last_chunk=last_chunk))

    async def _commit_chunks(self, chunks: Sequence[ChunkWrite]) -> None:
        await self.mark_working()
        await self._commit(TaskChange(chunks=chunks, is_batch=True, epoch=self._epoch))

    async def flush(self) -> None:
        """Wait until all chunks are committed."""
        if self._chunks is not None:
            await self._chunks.drain()

    async def _flush_before_end(self, *, for_ever: bool) -> None:
        """Commit the chunks before the run leaves its task; those of a handler that was abandoned
        are dropped.
        """
        while True:
            try:
                return await self.flush()
            except RunStopped:
                return None
            except StoreUnavailableError:
                if not for_ever:
                    raise

    def discard_chunks(self) -> None:
        """Drop the chunks that are not committed: the run is over, and another one begins."""
        if self._chunks is not None:
            self._chunks.cancel()

    async def write_record(self, record: ReplayRecord) -> None:
        """Write a record for later runs."""
        await self.flush()
        await self._commit(TaskChange(records=(record,), epoch=self._epoch))

    async def suspend(self, state: State, question: Message, record: ReplayRecord) -> None:
        """Record a question, release the task and close the writer."""
        await self.flush()
        change = TaskChange(
            state=state,
            status_message=question,
            records=(record,),
            epoch=self._epoch,
            release_claim=True,
        )
        await self._commit(change)

    async def release(
        self, deferral: Deferral | None = None, records: Sequence[ReplayRecord] = ()
    ) -> None:
        """Release the task in its state, for another process, a worker or the next start, and close
        the writer.
        """
        if self.has_chunks:
            await self._flush_before_end(for_ever=False)
        await self._commit(
            TaskChange(epoch=self._epoch, release_claim=True, deferral=deferral, records=records),
            by_handler=False,
        )

    async def finish(
        self, state: State, message: Message | None, result: Chunk | None = None
    ) -> None:
        """End the task and close the writer.

        Retries for as long as the store is unavailable: an end that is not stored is no end.
        """
        if self.has_chunks:
            await self._flush_before_end(for_ever=True)
        chunks = () if result is None else (self._build_write(result, last_chunk=True),)
        messages = () if message is None or state is not State.COMPLETED else (message,)
        change = TaskChange(
            state=state, status_message=message, chunks=chunks, messages=messages, epoch=self._epoch
        )
        await self._commit(change, by_handler=False)

    async def apply_pending_cancel(self) -> None:
        """Cancel a suspended task if its cancellation was requested while the handler still ran."""
        stored = await self._store.load_task(
            self.stored.scope, self.stored.wire_id, 0, include_artifacts=False
        )
        if (
            stored is not None
            and stored.key == self.stored.key
            and stored.cancel_requested
            and stored.state in INTERRUPTED
        ):
            await cancel_suspended(self._store, self._dependencies.hub, stored)

    def _build_write(self, chunk: Chunk, *, last_chunk: bool) -> ChunkWrite:
        append = chunk.artifact_id in self._replaced_artifacts
        self._replaced_artifacts.add(chunk.artifact_id)
        return ChunkWrite(chunk, append, last_chunk)

    async def _commit(
        self, change: TaskChange, *, by_handler: bool = True, unless_working: bool = False
    ) -> None:
        """Commit one change under the lock, with retries while the store is unavailable; then
        publish its events.
        """
        async with self._lock:
            if unless_working and self.is_working:
                return
            if not self.is_open or (by_handler and self._is_revoked):
                raise RunStopped
            write = self._number_write(change)
            if self._unconfirmed is None:
                try:
                    await self._send(write)
                except StoreUnavailableError:
                    pass
                else:
                    return
            await self._send_again(write, by_handler=by_handler)

    def _check_open(self, *, by_handler: bool) -> None:
        if not self.is_open or (by_handler and self._is_revoked):
            raise RunStopped

    def _number_write(self, change: TaskChange) -> NumberedWrite:
        """Give a change the next number of the run.

        The same change as the unconfirmed one keeps its number: it is that write, sent again.
        """
        unconfirmed = self._unconfirmed
        if unconfirmed is not None and unconfirmed.original == change:
            return unconfirmed
        # A write that is still unconfirmed keeps its number: it is settled before this one is sent.
        number = self._confirmed_writes + (1 if unconfirmed is None else 2)
        numbered = replace(change, process=self.stored.process, number=number)
        if self._usage is not None:
            numbered = _add_metadata(numbered, to_metadata(self._usage))
        return NumberedWrite(change, numbered, self._usage)

    async def _send(self, write: NumberedWrite) -> None:
        """Send a write to the store, and apply and publish it if the store has it, from now or from
        an earlier attempt.
        """
        # This comes before the call: the handler may be stopped while the store is at work.
        self._unconfirmed = write
        try:
            result = await self._store.update_task(self.stored.scope, self.stored.key, write.change)
        except (FencedError, TaskNotFoundError, TaskStateError) as error:
            raise self._close(error) from error
        self._confirm(write, result)

    def _confirm(self, write: NumberedWrite, result: ChangeResult) -> None:
        change = write.change
        self._unconfirmed = None
        self._confirmed_writes += 1
        if write.usage is not None:
            self._stored_usage = write.usage
            self._usage = None if self._usage is write.usage else self._usage
        self.is_working = self.is_working or change.state is not None
        self.is_open = not (change.release_claim or change.state in TERMINAL)
        if result.events or not result.is_new:
            self.last_seq = result.last_seq
            self._dependencies.hub.publish(self.stored.key, result)

    async def _send_again(self, write: NumberedWrite, *, by_handler: bool) -> None:
        """Send a write until the store answers, with exponential backoff; an end for ever.

        Whatever became of an attempt, the number lets it land once. Another write that is still
        unconfirmed comes first: the handler went on after an error, or was stopped in the middle of
        that write.
        """
        clock = self._dependencies.clock
        state = write.change.state
        delay = _INITIAL_DELAY_SECONDS if self._unconfirmed is write else 0.0
        deadline = float("inf")
        if state not in TERMINAL:
            deadline = clock.monotonic() + self._dependencies.settings.store_retry_timeout
        while True:
            await clock.sleep(delay)
            self._check_open(by_handler=by_handler)
            try:
                earlier = self._unconfirmed
                if earlier is not None and earlier is not write:
                    await self._settle(earlier)
                    # The earlier write may have ended the run.
                    self._check_open(by_handler=by_handler)
                await self._send(write)
            except StoreUnavailableError:
                if clock.monotonic() >= deadline:
                    raise
            else:
                return
            delay = min(max(delay * 2, _INITIAL_DELAY_SECONDS), _MAX_DELAY_SECONDS)

    async def _settle(self, earlier: NumberedWrite) -> None:
        """Find out whether an unconfirmed write was committed; if not, take its number, so that it
        cannot be committed late.
        """
        nothing = TaskChange(
            epoch=self._epoch, process=self.stored.process, number=earlier.change.number
        )
        try:
            result = await self._store.update_task(self.stored.scope, self.stored.key, nothing)
        except (FencedError, TaskNotFoundError, TaskStateError) as error:
            raise self._close(error) from error
        # Nothing is written under a number that the store has.
        was_committed = not result.is_new
        self._confirm(earlier if was_committed else NumberedWrite(nothing, nothing, None), result)

    def _close(self, error: Exception) -> RunStopped:
        self.is_open = False
        self.is_lost = True
        if isinstance(error, LostWritesError):
            log.warning(
                "store fell back: run %d of task %s ends, and the task runs again: %s",
                self._epoch,
                self.stored.key,
                error,
            )
        else:
            log.info("run stopped: run %d of task %s: %s", self._epoch, self.stored.key, error)
        return RunStopped()


def _add_metadata(change: TaskChange, metadata: JsonObject) -> TaskChange:
    """Add metadata to the task of a change, and to its status event if it has one."""
    event_metadata = change.event_metadata
    if change.state is not None:
        event_metadata = {**(event_metadata or {}), **metadata}
    return replace(
        change, metadata={**(change.metadata or {}), **metadata}, event_metadata=event_metadata
    )


async def cancel_suspended(store: TaskStore, hub: EventHub, stored: StoredTask) -> bool:
    """Cancel a task that no process runs; ``False`` if it has been resumed or deleted meanwhile."""
    try:
        result = await store.update_task(
            stored.scope, stored.key, TaskChange(state=State.CANCELED, expected_states=INTERRUPTED)
        )
    except (TaskStateError, ConcurrencyError, TaskNotFoundError):
        return False
    hub.publish(stored.key, result)
    return True
