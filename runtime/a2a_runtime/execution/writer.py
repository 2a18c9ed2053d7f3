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
from a2a_runtime.execution.signals import RunOver
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.stores.base import ArtifactWrite, Change, LoggedEvent, Record, Store, StoredTask, Written
from a2a_runtime.streams.hub import Hub
from a2a_runtime.streams.notifier import Doorbell

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


class Teller:
    """Says what was committed: to readers of this process at once, to other processes by the bell."""

    def __init__(self, hub: Hub, bell: Doorbell | None) -> None:
        self._hub, self._bell = hub, bell

    def tell(self, key: str, events: Sequence[LoggedEvent]) -> None:
        """Hand over events that are durable."""
        self._hub.offer(key, events)
        if self._bell is not None:
            self._bell.ring((key,))


class Desk:
    """Where one run of a task writes."""

    def __init__(self, store: Store, teller: Teller, clock: Clock, stored: StoredTask, *, patience: float) -> None:
        self.stored = stored
        self.begun = stored.state is State.WORKING
        self.is_open = True
        self._store, self._teller, self._clock, self._patience = store, teller, clock, patience
        self.last_seq = stored.last_seq
        self._epoch = stored.epoch
        self._turn = asyncio.Lock()
        self._replaced: set[str] = set()
        self._dismissed = False

    def dismiss(self) -> None:
        """Refuse the handler from now on, also what it has under way while the store is away: only the run itself may still end the task."""
        self._dismissed = True

    async def begin(self) -> None:
        """Say that the handler is at it, unless that was said."""
        if self.begun:
            return
        async with self._turn:
            if not self.begun:  # also not meanwhile, by the timer or by the handler itself
                await self._write_in_turn(Change(state=State.WORKING, epoch=self._epoch))

    async def status(self, message: Message | None, metadata: JsonObject | None) -> None:
        """Say how it goes."""
        change = Change(state=State.WORKING, status_message=message, metadata=metadata, event_metadata=metadata, epoch=self._epoch)
        await self._write(change)

    async def artifact(self, artifact: Artifact, *, last_chunk: bool = False) -> None:
        """Write a chunk of an artifact; the first one of a run takes the place of what earlier runs have written."""
        await self.begin()
        chunk = self._chunk(artifact, last_chunk=last_chunk)
        try:
            await self._write(Change(artifacts=(chunk,), epoch=self._epoch))
        except StoreUnavailableError:
            if not chunk.append:
                self._replaced.discard(artifact.artifact_id)
            raise

    async def record(self, record: Record) -> None:
        """Remember something for later runs."""
        await self._write(Change(records=(record,), epoch=self._epoch))

    async def park(self, state: State, question: Message, record: Record) -> None:
        """Ask: record the question, release the task and close the desk."""
        change = Change(state=state, status_message=question, records=(record,), epoch=self._epoch, release=True)
        await self._write(change, closes=True)

    async def hand_over(self) -> None:
        """Give the task up as it is, for another process or the next start."""
        await self._end(Change(epoch=self._epoch, release=True), self._patience)

    async def end(self, state: State, message: Message | None, artifact: Artifact | None = None) -> None:
        """End the task. As long as the store is away this waits for it: an end that cannot be written is no end."""
        artifacts = () if artifact is None else (self._chunk(artifact, last_chunk=True),)
        messages = () if message is None or state is not State.COMPLETED else (message,)
        change = Change(state=state, status_message=message, artifacts=artifacts, messages=messages, epoch=self._epoch)
        await self._end(change, float("inf"))

    async def look_for_cancellation(self) -> None:
        """After parking: cancel the task if somebody asked for that while it was still running and therefore expected the handler to hear of it."""
        stored = await self._store.load_task(self.stored.scope, self.stored.wire_id, 0, include_artifacts=False)
        if stored is not None and stored.key == self.stored.key and stored.cancel_requested and stored.state in INTERRUPTED:
            await cancel_parked(self._store, self._teller, stored)

    def _chunk(self, artifact: Artifact, *, last_chunk: bool) -> ArtifactWrite:
        append = artifact.artifact_id in self._replaced
        self._replaced.add(artifact.artifact_id)
        return ArtifactWrite(artifact, append=append, last_chunk=last_chunk)

    async def _write(self, change: Change, *, closes: bool = False) -> None:
        async with self._turn:
            await self._write_in_turn(change)
            self.is_open = not closes

    async def _write_in_turn(self, change: Change) -> None:
        if self._dismissed:
            raise RunOver
        await self._told(change, self._patience)

    async def _end(self, change: Change, patience: float) -> None:
        async with self._turn:
            await self._told(change, patience, by_run=True)
            self.is_open = False

    async def _told(self, change: Change, patience: float, *, by_run: bool = False) -> None:
        """Commit, then tell."""
        if not self.is_open:
            raise RunOver
        try:
            written = await self._store.update_task(self.stored.scope, self.stored.key, change)
        except StoreUnavailableError as error:
            log.warning("task %s waits for the store: %s", self.stored.key, error)
            written = await self._commit_again(change, patience, by_run=by_run)
        except (FencedError, TaskNotFoundError, TaskStateError) as error:
            raise self._over(error) from error
        self.begun = self.begun or change.state is not None
        self._tell(written.events)

    async def _commit_again(self, change: Change, patience: float, *, by_run: bool) -> Written:
        """Write again and again while the store is away, unless it turns out that the first time was enough."""
        gives_up, pause = self._clock.monotonic() + patience, _FIRST_PAUSE
        while True:
            await self._clock.sleep(pause)
            if self._dismissed and not by_run:
                raise RunOver
            try:
                return await self._landed(change) or await self._store.update_task(self.stored.scope, self.stored.key, change)
            except StoreUnavailableError:
                if self._clock.monotonic() >= gives_up:
                    raise
            except (FencedError, TaskNotFoundError, TaskStateError) as error:
                raise self._over(error) from error
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _landed(self, change: Change) -> Written | None:
        """Look for events that the desk does not know: of a commit whose answer was lost. Only one run at a time writes, so they are ours.

        They need not be those of this change: its handler may have been interrupted while it wrote something else.
        """
        events = await self._store.read_events(self.stored.key, self.last_seq)
        if not events:
            return None
        landed = change.state in {None, State.WORKING, events[-1].state}
        if not landed:
            self._tell(events)
        return Written(0, events[-1].state, events) if landed else None

    def _tell(self, events: Sequence[LoggedEvent]) -> None:
        if events:
            self.last_seq = events[-1].seq
            self._teller.tell(self.stored.key, events)

    def _over(self, error: Exception) -> RunOver:
        self.is_open = False
        log.info("run %d of task %s is over: %s", self._epoch, self.stored.key, error)
        return RunOver()


async def cancel_parked(store: Store, teller: Teller, stored: StoredTask) -> bool:
    """Cancel a task that no process runs; not if it has gone on meanwhile."""
    try:
        written = await store.update_task(stored.scope, stored.key, Change(state=State.CANCELED, expected_states=INTERRUPTED))
    except (TaskStateError, ConcurrencyError, TaskNotFoundError):
        return False
    teller.tell(stored.key, written.events)
    return True
