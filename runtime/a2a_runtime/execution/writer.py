"""The writes of one run: each under the run's epoch, one after the other, and told to readers only once it is committed.

A desk is closed exactly once: by parking, by ending, by giving the task up, or because the store says that another run has taken over. From then
on it refuses everything, also to a handler that goes on although it was told to stop. Whoever closes it waits for the write that is under way, so
nothing of the handler comes after the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from a2a_contract.base import JsonObject
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message
from a2a_runtime.clock import Clock
from a2a_runtime.errors import ConcurrencyError, FencedError, StoreUnavailableError, TaskStateError
from a2a_runtime.execution.signals import RunStopped
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.stores.base import ArtifactWrite, ChangeResult, LoggedEvent, ReplayRecord, Store, StoredTask, TaskChange
from a2a_runtime.streams.hub import EventHub
from a2a_runtime.streams.notifier import Notifier

log = logging.getLogger(__name__)

_INITIAL_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.05, 2.0


class EventPublisher:
    """Says what was committed: to readers of this process at once, to other processes by the bell."""

    def __init__(self, hub: EventHub, notifier: Notifier | None) -> None:
        self._hub, self._notifier = hub, notifier

    def publish(self, key: str, events: Sequence[LoggedEvent]) -> None:
        """Hand over events that are durable."""
        self._hub.append(key, events)
        if self._notifier is not None:
            self._notifier.notify((key,))


class TaskWriter:
    """Where one run of a task writes."""

    def __init__(self, store: Store, publisher: EventPublisher, clock: Clock, stored: StoredTask, *, retry_timeout: float) -> None:
        self.stored = stored
        self.is_working = stored.state is State.WORKING
        self.is_open = True
        self._store, self._publisher, self._clock, self._retry_timeout = store, publisher, clock, retry_timeout
        self.last_seq = stored.last_seq
        self._epoch = stored.epoch
        self._lock = asyncio.Lock()
        self._replaced_artifacts: set[str] = set()
        self._is_revoked = False

    def revoke(self) -> None:
        """Refuse the handler from now on, also what it has under way while the store is away: only the run itself may still end the task."""
        self._is_revoked = True

    async def mark_working(self) -> None:
        """Say that the handler is at it, unless that was said."""
        if self.is_working:
            return
        async with self._lock:
            if not self.is_working:  # also not meanwhile, by the timer or by the handler itself
                await self._write_in_turn(TaskChange(state=State.WORKING, epoch=self._epoch))

    async def write_status(self, message: Message | None, metadata: JsonObject | None) -> None:
        """Say how it goes."""
        change = TaskChange(state=State.WORKING, status_message=message, metadata=metadata, event_metadata=metadata, epoch=self._epoch)
        await self._write(change)

    async def write_artifact(self, artifact: Artifact, *, last_chunk: bool = False) -> None:
        """Write a chunk of an artifact; the first one of a run takes the place of what earlier runs have written."""
        await self.mark_working()
        chunk = self._build_artifact_write(artifact, last_chunk=last_chunk)
        try:
            await self._write(TaskChange(artifacts=(chunk,), epoch=self._epoch))
        except StoreUnavailableError:
            if not chunk.append:
                self._replaced_artifacts.discard(artifact.artifact_id)
            raise

    async def write_record(self, record: ReplayRecord) -> None:
        """Remember something for later runs."""
        await self._write(TaskChange(records=(record,), epoch=self._epoch))

    async def suspend(self, state: State, question: Message, record: ReplayRecord) -> None:
        """Ask: record the question, release the task and close the desk."""
        change = TaskChange(state=state, status_message=question, records=(record,), epoch=self._epoch, release_claim=True)
        await self._write(change, closes=True)

    async def release(self) -> None:
        """Give the task up as it is, for another process or the next start."""
        await self._end(TaskChange(epoch=self._epoch, release_claim=True), self._retry_timeout)

    async def finish(self, state: State, message: Message | None, artifact: Artifact | None = None) -> None:
        """End the task. As long as the store is away this waits for it: an end that cannot be written is no end."""
        artifacts = () if artifact is None else (self._build_artifact_write(artifact, last_chunk=True),)
        messages = () if message is None or state is not State.COMPLETED else (message,)
        change = TaskChange(state=state, status_message=message, artifacts=artifacts, messages=messages, epoch=self._epoch)
        await self._end(change, float("inf"))

    async def apply_pending_cancel(self) -> None:
        """After parking: cancel the task if somebody asked for that while it was still running and therefore expected the handler to hear of it."""
        stored = await self._store.load_task(self.stored.scope, self.stored.wire_id, 0, include_artifacts=False)
        if stored is not None and stored.key == self.stored.key and stored.cancel_requested and stored.state in INTERRUPTED:
            await cancel_suspended(self._store, self._publisher, stored)

    def _build_artifact_write(self, artifact: Artifact, *, last_chunk: bool) -> ArtifactWrite:
        append = artifact.artifact_id in self._replaced_artifacts
        self._replaced_artifacts.add(artifact.artifact_id)
        return ArtifactWrite(artifact, append=append, last_chunk=last_chunk)

    async def _write(self, change: TaskChange, *, closes: bool = False) -> None:
        async with self._lock:
            await self._write_in_turn(change)
            self.is_open = not closes

    async def _write_in_turn(self, change: TaskChange) -> None:
        if self._is_revoked:
            raise RunStopped
        await self._commit(change, self._retry_timeout)

    async def _end(self, change: TaskChange, patience: float) -> None:
        async with self._lock:
            await self._commit(change, patience, by_run=True)
            self.is_open = False

    async def _commit(self, change: TaskChange, patience: float, *, by_run: bool = False) -> None:
        """Commit, then tell."""
        if not self.is_open:
            raise RunStopped
        try:
            written = await self._store.update_task(self.stored.scope, self.stored.key, change)
        except StoreUnavailableError as error:
            log.warning("task %s waits for the store: %s", self.stored.key, error)
            written = await self._retry_commit(change, patience, by_run=by_run)
        except (FencedError, TaskNotFoundError, TaskStateError) as error:
            raise self._stop(error) from error
        self.is_working = self.is_working or change.state is not None
        self._publish(written.events)

    async def _retry_commit(self, change: TaskChange, patience: float, *, by_run: bool) -> ChangeResult:
        """Write again and again while the store is away, unless it turns out that the first time was enough."""
        gives_up, pause = self._clock.monotonic() + patience, _INITIAL_DELAY_SECONDS
        while True:
            await self._clock.sleep(pause)
            if self._is_revoked and not by_run:
                raise RunStopped
            try:
                return await self._find_committed(change) or await self._store.update_task(self.stored.scope, self.stored.key, change)
            except StoreUnavailableError:
                if self._clock.monotonic() >= gives_up:
                    raise
            except (FencedError, TaskNotFoundError, TaskStateError) as error:
                raise self._stop(error) from error
            pause = min(pause * 2, _MAX_DELAY_SECONDS)

    async def _find_committed(self, change: TaskChange) -> ChangeResult | None:
        """Look for events that the desk does not know: of a commit whose answer was lost. Only one run at a time writes, so they are ours.

        They need not be those of this change: its handler may have been interrupted while it wrote something else.
        """
        events = await self._store.read_events(self.stored.key, self.last_seq)
        if not events:
            return None
        landed = change.state in {None, State.WORKING, events[-1].state}
        if not landed:
            self._publish(events)
        return ChangeResult(0, events[-1].state, events) if landed else None

    def _publish(self, events: Sequence[LoggedEvent]) -> None:
        if events:
            self.last_seq = events[-1].seq
            self._publisher.publish(self.stored.key, events)

    def _stop(self, error: Exception) -> RunStopped:
        self.is_open = False
        log.info("run %d of task %s is over: %s", self._epoch, self.stored.key, error)
        return RunStopped()


async def cancel_suspended(store: Store, publisher: EventPublisher, stored: StoredTask) -> bool:
    """Cancel a task that no process runs; not if it has gone on meanwhile."""
    try:
        written = await store.update_task(stored.scope, stored.key, TaskChange(state=State.CANCELED, expected_states=INTERRUPTED))
    except (TaskStateError, ConcurrencyError, TaskNotFoundError):
        return False
    publisher.publish(stored.key, written.events)
    return True
