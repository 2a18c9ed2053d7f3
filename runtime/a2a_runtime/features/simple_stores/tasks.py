"""Tasks of a simple store: every change is checked in memory, written to the storage, and then
applied in memory.

    lock of the task     covers the three steps, and claims too,
                         so that no rule can change between them
    shield               a caller that is cancelled leaves, the steps go on:
                         storage and memory never part
    unknown outcome      the storage raised, and may have written: the counters in its metadata
                         tell, before anything else happens to the task
    foreign change       the storage knows better, because something else has changed the task:
                         memory forgets it, and its run ends

A task that is not in memory comes from the storage, if it belongs to the caller. One that is active
there had a process that is gone: it fails now.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_OID, uuid5
from weakref import WeakValueDictionary

from msgspec.structs import replace

from a2a_contract.errors import A2AError, TaskNotFoundError, UnsupportedOperationError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.logs import OutageLog
from a2a_runtime.errors import ConcurrencyError, StoreUnavailableError, TaskTerminalError
from a2a_runtime.features.simple_stores import reserved
from a2a_runtime.features.simple_stores.codec import StorageCalls, StorageCodec, to_store_error
from a2a_runtime.features.simple_stores.restored import (
    build_lost_message,
    build_memory_task,
    status_millis,
)
from a2a_runtime.stores import changes, pagination
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.fragments import decode_chunk
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.memory.index import MemoryTask
from a2a_runtime.stores.memory.tasks import PlannedChange
from a2a_runtime.stores.models import (
    ChangeResult,
    ClaimedRun,
    CreateResult,
    IdempotencyKey,
    LoggedEvent,
    NewTask,
    StoredTask,
    TaskChange,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

_VALUE_ERRORS = (ValueError, TypeError, LookupError)
_KEPT_SECONDS = 300.0
"""Time for which a task stays in memory after its end, with its events."""


class SimpleTasks(MemoryStore):
    """Create, load, update and claim tasks."""

    hides_expired = False  # how long a task is kept is up to the storage

    def __init__(self, storage: object, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(
            dataclasses.replace(
                options,
                retention_seconds=min(_KEPT_SECONDS, options.retention_seconds or _KEPT_SECONDS),
            )
        )
        self._codec = StorageCodec(storage)
        self._outages = OutageLog(f"store: {self._codec.name}")
        self._calls = cast("StorageCalls", storage)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._writes: set[asyncio.Task[Any]] = set()
        self._versions: dict[str, int] = {}
        """Versions that the storage has given, by task; none if it has no versions."""
        self._doubtful: dict[str, PlannedChange] = {}
        """Changes of which it is not known whether the storage has written them."""
        self._abandoned: dict[str, None] = {}
        """Ids of tasks that no caller knows, and that the storage still has."""
        self._has_versions: bool | None = None
        self._created_at = 0

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one of its idempotency key."""
        reserved.refuse_reserved(new.metadata)
        if new.wire_id is not None:
            raise UnsupportedOperationError(
                f"{self._codec.name} generates the ids of tasks; a task cannot come with one"
            )
        if new.idempotency_key is None:
            return await self._finish(self._create(scope, new, None))
        return await self._finish(self._create_once(scope, new, new.idempotency_key))

    async def _create_once(
        self, scope: TaskScope, new: NewTask, key: IdempotencyKey
    ) -> CreateResult:
        """Create the task of a key, or find it.

        Without a conversation of the client, that of the task follows from the key, as storages
        need it.
        """
        digest = reserved.hash_key(scope, key)
        if not key.context_id:
            new = replace(new, context_id=str(uuid5(NAMESPACE_OID, digest)))
        async with self._lock(digest):
            known = self._find_idempotent_task(scope, key)
            if known is None:
                return await self._create(scope, new, digest)
            return CreateResult(known.to_stored_task(), is_new=False)

    async def _create(self, scope: TaskScope, new: NewTask, digest: str | None) -> CreateResult:
        if new.max_open is not None and (index := self._index.scopes.get(scope)) is not None:
            changes.check_open_limit(sum(map(index.count, lifecycle.OPEN)), new.max_open)
        self._index.holdings.check_task(new.limit_key or scope.limit_key)
        bound = self._codec.to_message(
            new.message.model_copy(update={"context_id": new.context_id, "task_id": None})
        )
        task = self._codec.read_task(
            await self._call("create_task", new.context_id, bound, idempotency_key=digest)
        )
        if reserved.parse_metadata(task.metadata) is not None:
            found = await self._find(scope, task.id)
            if found is None or new.idempotency_key is None:
                raise ConcurrencyError(
                    f"{self._codec.name}.create_task returned task {task.id}, which is not new"
                )
            # This refuses another request under the key.
            self._find_idempotent_task(scope, new.idempotency_key)
            return CreateResult(found.to_stored_task(), is_new=False)
        # A reader that finds the task in the storage must find it in memory too: it would fail it
        # as lost.
        async with self._lock(_name_id(task.id)):
            return await self._adopt(scope, new, task)

    async def _adopt(self, scope: TaskScope, new: NewTask, task: Task) -> CreateResult:
        """Write the owner of a new task to the storage, and put the task into memory."""
        # The order of tasks, also within a millisecond.
        self._created_at = created = max(self._created_at + 1, self._index.now_millis())
        facts = reserved.encode_facts(
            scope, new, created, sorted({*(task.metadata or {})} - {*new.metadata})
        )
        progress = reserved.encode_progress(1, 1, 0 if new.process is None else 1)
        try:
            version = await self._call("update_task", task.id, task_metadata={**facts, **progress})
        except A2AError:
            # A message under a key adopts the task when it is sent again.
            if new.idempotency_key is None:
                self._abandoned[task.id] = None
                with suppress(StoreUnavailableError):
                    await self._remove_abandoned()
            raise
        try:
            result = await super().create_task(scope, replace(new, wire_id=task.id))
        # No room in memory: the caller gets the error, and the task is none of its tasks.
        except A2AError:
            with suppress(A2AError):
                await self._call(
                    "update_task",
                    task.id,
                    self._codec.to_state(State.REJECTED),
                    task_metadata={reserved.FACTS: None},
                )
            raise
        kept = self._index.tasks[result.stored.key]
        kept.created_at = created
        await self._note_version(result.stored.key, task.id, version)
        return result

    async def _remove_abandoned(self) -> None:
        """Delete the tasks that no caller knows; a storage that cannot delete gets them as
        rejected, without an owner.
        """
        while self._abandoned:
            wire_id = next(iter(self._abandoned))
            with suppress(ConcurrencyError, TaskNotFoundError, TaskTerminalError):
                if self._codec.has("delete_task"):
                    await self._call("delete_task", wire_id)
                else:
                    state = self._codec.to_state(State.REJECTED)
                    await self._call(
                        "update_task", wire_id, state, task_metadata={reserved.FACTS: None}
                    )
            self._abandoned.pop(wire_id, None)

    async def delete_expired(self, limit: int = 100) -> int:
        """Delete what has expired, and the tasks that an outage has left without an owner."""
        with suppress(StoreUnavailableError):
            await self._remove_abandoned()
        return await super().delete_expired(limit)

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change to a task."""
        reserved.refuse_reserved(change.metadata)
        return await self._finish(self._update(scope, key, change))

    async def _update(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        async with self._lock(key):
            await self._settle(key)
            planned = self._plan_change(scope, key, change)
            if isinstance(planned, ChangeResult):
                return planned
            try:
                version = await self._write(planned)
            except StoreUnavailableError:
                self._doubtful[key] = planned
                raise
            except (ConcurrencyError, TaskTerminalError, TaskNotFoundError):
                self._delete(planned.task)
                raise
            if version is not None and key in self._versions:
                self._versions[key] = version
            return self._apply_change(planned)

    async def _write(self, planned: PlannedChange) -> int | None:
        """Write a change to the storage, unless it only concerns this process."""
        task = planned.task
        change = planned.rows.change
        metadata = {**(change.metadata or {})}
        if change.idempotency_key:
            metadata |= reserved.encode_key(task.scope, change.idempotency_key)
        for record in change.records:
            metadata |= reserved.encode_record(record)
        if change.state in lifecycle.TERMINAL:
            metadata |= reserved.clear_records(self._records.get(task.key, {}).values())
        if not (metadata or change.state or change.chunks or change.messages):
            return None
        metadata |= reserved.encode_progress(
            task.version + 1, task.last_seq + planned.event_count, task.epoch
        )
        codec = self._codec
        state: object = None
        message: object = None
        if change.state is not None:
            state = codec.to_state(change.state)
            if change.status_message is not None:
                message = codec.to_message(change.status_message)
        version: int = await self._call(
            "update_task",
            task.wire_id,
            state,
            status_message=message,
            artifacts=[
                codec.to_artifact_write(decode_chunk(each.chunk), append=each.append)
                for each in change.chunks
            ]
            or None,
            messages=[codec.to_message(each) for each in change.messages] or None,
            task_metadata=metadata,
            expected_version=self._versions.get(task.key),
        )
        return version

    async def _settle(self, key: str) -> None:
        """Find out what became of a write whose outcome is unknown, and apply it in memory if the
        storage has it.
        """
        planned = self._doubtful.get(key)
        if planned is None:
            return
        theirs = await self._call("load_task", planned.task.wire_id, 0, include_artifacts=False)
        progress = None
        if theirs is not None:
            progress = reserved.parse_progress(self._codec.read_task(theirs).metadata)
        version = await self._load_version(planned.task.wire_id)
        del self._doubtful[key]
        if version is not None and key in self._versions:
            self._versions[key] = version
        if progress is not None and progress.version == planned.task.version + 1:
            self._apply_change(planned)

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        if key in self._doubtful:
            async with self._lock(key):
                await self._settle(key)
        return await super().read_events(key, after, limit, mark=mark)

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Load a task."""
        await self._find(scope, wire_id)
        return await super().load_task(
            scope, wire_id, history_length, include_artifacts=include_artifacts
        )

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Return the version of a task."""
        await self._find(scope, wire_id)
        return await super().get_version(scope, wire_id)

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task."""
        task = await self._find(scope, wire_id)
        if task is None:
            return False
        self._require("delete_task")
        return await self._finish(self._delete_stored(task))

    async def _delete_stored(self, task: MemoryTask) -> bool:
        async with self._lock(task.key):
            deleted: bool = await self._call("delete_task", task.wire_id)
            if self._index.tasks.get(task.key) is task:
                self._delete(task)
            return deleted

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task."""
        async with self._lock(key):
            return await super().claim(key, process)

    async def release_claims(self, process: str, keys: Collection[str]) -> None:
        """End claims of this process."""
        for key in keys:
            async with self._lock(key):
                await super().release_claims(process, (key,))

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Request the cancellation of a task."""
        await self._find(scope, wire_id)
        return await super().request_cancel(scope, wire_id)

    # Tasks of earlier processes

    async def _find(self, scope: TaskScope, wire_id: str) -> MemoryTask | None:
        """Find a task in memory, or fetch it from the storage."""
        return self._index.find(scope, wire_id) or await self._finish(self._restore(scope, wire_id))

    async def _restore(self, scope: TaskScope, wire_id: str) -> MemoryTask | None:
        async with self._lock(_name_id(wire_id)):
            if (known := self._index.find(scope, wire_id)) is not None:
                return known
            task = await self._load_stored(wire_id)
            found = reserved.parse_metadata(None if task is None else task.metadata)
            if task is None or found is None or found.facts.scope != scope:
                return None
            if State(task.status.state) in lifecycle.ACTIVE:
                task, found = await self._fail_lost(task, found)
            restored = build_memory_task(task, found, self._index.new_key())
            self._index.restore(restored, status_millis(task, found))
            if found.records:
                self._add_records(restored, found.records)
            for digest, request_hash in found.keys.items():
                super()._add_idempotency_key(restored, IdempotencyKey(digest, request_hash))
            if (version := await self._load_version(wire_id)) is not None:
                self._versions[restored.key] = version
            return restored

    async def _load_stored(self, wire_id: str) -> Task | None:
        theirs = await self._call("load_task", wire_id)
        if theirs is None:
            return None
        return self._codec.read_task(theirs)

    async def _fail_lost(
        self, task: Task, found: reserved.ReservedMetadata
    ) -> tuple[Task, reserved.ReservedMetadata]:
        """Fail a task whose process is gone, and load it again."""
        progress = found.progress
        metadata = {
            **reserved.clear_records(found.records),
            **reserved.encode_progress(progress.version + 1, progress.last_seq + 1, progress.epoch),
        }
        await self._call(
            "update_task",
            task.id,
            self._codec.to_state(State.FAILED),
            status_message=self._codec.to_message(build_lost_message(task, self._ids.new())),
            task_metadata=metadata,
            expected_version=await self._load_version(task.id),
        )
        failed = await self._load_stored(task.id)
        again = reserved.parse_metadata(None if failed is None else failed.metadata)
        if failed is None or again is None or State(failed.status.state) in lifecycle.ACTIVE:
            raise StoreUnavailableError(
                f"{self._codec.name}: task {task.id} was set to failed and is not; a read "
                "must show the write before it"
            )
        return failed, again

    # Keys, versions, locks

    def _find_idempotent_task(self, scope: TaskScope, key: IdempotencyKey) -> MemoryTask | None:
        return super()._find_idempotent_task(
            scope, IdempotencyKey(reserved.hash_key(scope, key), key.request_hash)
        )

    def _add_idempotency_key(self, task: MemoryTask, key: IdempotencyKey) -> None:
        super()._add_idempotency_key(
            task, IdempotencyKey(reserved.hash_key(task.scope, key), key.request_hash)
        )

    def _delete(self, task: MemoryTask) -> None:
        self._versions.pop(task.key, None)
        self._doubtful.pop(task.key, None)
        super()._delete(task)

    async def _note_version(self, key: str, wire_id: str, version: int) -> None:
        """Remember the version of a new task, if the storage says that it has versions."""
        if self._has_versions is None:
            self._has_versions = await self._load_version(wire_id) is not None
        if self._has_versions:
            self._versions[key] = version

    async def _load_version(self, wire_id: str) -> int | None:
        if not self._codec.has("get_version"):
            return None
        version: int | None = await self._call("get_version", wire_id)
        return version

    def _require(self, method: str) -> None:
        if not self._codec.has(method):
            raise UnsupportedOperationError(f"{self._codec.name} has no {method}")

    def _lock(self, name: str) -> asyncio.Lock:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    async def _finish(self, steps: Coroutine[Any, Any, T]) -> T:
        """Run steps to their end, also if the caller is cancelled."""
        task = asyncio.get_running_loop().create_task(steps)
        self._writes.add(task)
        task.add_done_callback(self._on_written)
        return await asyncio.shield(task)

    def _on_written(self, task: asyncio.Task[Any]) -> None:
        self._writes.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have gone

    # The result is of another library.
    async def _call(self, name: str, *args: object, **options: object) -> Any:  # noqa: ANN401 - so
        """Call the storage, and convert its errors."""
        try:
            result = await getattr(self._calls, name)(*args, **options)
        except Exception as error:  # the edge to code that knows none of our errors
            if isinstance(error, _VALUE_ERRORS) and any(
                getattr(each, "page_token", None) for each in args
            ):
                # The token went through the hands of a client.
                raise pagination.invalid_token_error() from error
            converted = to_store_error(error, f"{self._codec.name}.{name}")
            if isinstance(converted, StoreUnavailableError):
                if not self._outages.is_open and not isinstance(error, OSError):
                    log.warning(
                        (
                            "store: an exception of %s.%s that is not one of its errors counts "
                            "as an outage"
                        ),
                        self._codec.name,
                        name,
                        exc_info=error,
                    )
                self._outages.on_failure(converted)
            raise converted from error
        if self._outages.is_open:
            self._outages.on_success()
        return result


def _name_id(wire_id: str) -> str:
    """Name the lock of an id, until there is a key."""
    return f"id {wire_id}"
