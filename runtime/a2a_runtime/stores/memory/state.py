"""State of a memory store: the task index, and everything that belongs to tasks without being part
of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.counters import MemoryCounter
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.base.logs import OutageLog
from a2a_runtime.stores import changes
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.memory.holdings import Holdings
from a2a_runtime.stores.memory.index import KeptMessage, MemoryTask, TaskIndex
from a2a_runtime.stores.models import (
    IdempotencyKey,
    LoggedEvent,
    PushFailure,
    RecordKind,
    ReplayRecord,
)

ScopedKey = tuple[TaskScope, str, str]

message_time = itemgetter(0)
"""Sort key of messages."""


@dataclass(slots=True)
class PushQueue:
    """A push configuration and its pending deliveries; attempts and time belong to the first
    one.
    """

    task: MemoryTask
    config: TaskPushNotificationConfig
    dialect: str
    failure: PushFailure | None = None
    pending: deque[tuple[int, LoggedEvent]] = field(default_factory=deque)
    attempts: int = 0
    due_at_millis: int = 0


@dataclass(slots=True)
class Conversation:
    """Data of a conversation, and messages that outlived their tasks."""

    data: bytes | None = None
    updated_at_millis: int = 0
    skills: frozenset[str] = frozenset()  # that have written the data
    messages: list[KeptMessage] = field(default_factory=list)
    limit_key: str = ""  # of the caller for whose tasks it was begun


class MemoryBase:
    """State of a memory store.

    No call awaits anything, so the event loop makes each call atomic.
    """

    def __init__(self, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._clock = options.clock
        self._ids = IdGenerator(options.clock)
        self._index = TaskIndex(
            options.clock,
            Holdings(options.max_tasks, options.max_bytes, options.caller_share),
            max_finished_logs=options.max_finished_logs,
            max_finished_log_bytes=options.max_finished_log_bytes,
            dialects=options.dialect_retention_seconds,
        )
        self._idempotency_keys: dict[ScopedKey, tuple[MemoryTask, bytes]] = {}
        self._idempotency_keys_by_task: dict[str, list[ScopedKey]] = {}
        self._records: dict[str, dict[tuple[RecordKind, str], ReplayRecord]] = {}
        self._push_queues: dict[str, dict[str, PushQueue]] = {}
        self._pending_queues: dict[tuple[str, str], PushQueue] = {}
        self._last_delivery_id = 0
        self._conversations: dict[tuple[TaskScope, str], Conversation] = {}
        self._conversation_bytes = 0
        self._unchecked: list[
            tuple[TaskScope, str]
        ] = []  # conversations that the cleanup has not yet looked at
        self._leases: dict[str, float] = {}
        """End of each lease by the monotonic clock, by process: a wall clock that is set ends
        none.
        """
        self._suspects: dict[str, str] = {}  # by process
        self._counter = MemoryCounter(options.clock)
        self._outages = OutageLog("store: memory")

    hides_expired = True
    """Expired tasks do not exist for readers, also before the cleanup has deleted them."""

    def _find_readable(self, scope: TaskScope, wire_id: str) -> MemoryTask | None:
        """Find a task that has not expired."""
        task = self._index.find(scope, wire_id)
        if task is None or self._is_over(task):
            return None
        return task

    def _is_over(self, task: MemoryTask) -> bool:
        """Return whether a task has expired, so that the next cleanup deletes it."""
        if not self.hides_expired or task.state not in lifecycle.TERMINAL:
            return False
        is_kept = self._options.is_kept(task.dialect, task.status_at)
        return not is_kept and self._is_delivered(task)

    def _count_over(self, scope: TaskScope, state: State | None) -> int:
        """Count the expired tasks of a scope in one state, or all: only what has ended since the
        last cleanup is looked at.
        """
        cutoff = self._options.cutoff_millis(self._options.retention_seconds)
        dialects = self._options.dialect_retention_seconds
        ended = list(self._index.iter_ended(-1, cutoff))
        for dialect, seconds in dialects.items():
            ended += self._index.iter_ended(cutoff, self._options.cutoff_millis(seconds), dialect)
        return sum(
            task.scope == scope and state in {None, task.state} and self._is_over(task)
            for task in ended
        )

    def _require_task(self, scope: TaskScope, wire_id: str) -> MemoryTask:
        task = self._find_readable(scope, wire_id)
        if task is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return task

    def _find_idempotent_task(self, scope: TaskScope, key: IdempotencyKey) -> MemoryTask | None:
        task, request_hash = self._idempotency_keys.get(
            (scope, key.context_id, key.key), (None, b"")
        )
        if task is None:
            return None
        if self._is_over(task):
            self._expire(task)
            return None
        changes.check_same_request(key, request_hash)
        return task

    def _add_idempotency_key(self, task: MemoryTask, key: IdempotencyKey) -> None:
        name = (task.scope, key.context_id, key.key)
        self._idempotency_keys[name] = (task, key.request_hash)
        self._idempotency_keys_by_task.setdefault(task.key, []).append(name)

    def _enqueue_events(self, task: MemoryTask, events: Sequence[LoggedEvent]) -> None:
        for config_id, queue in self._push_queues.get(task.key, {}).items():
            # A queue in `_pending_queues` is never empty.
            if queue.failure is not None or not events:
                continue
            for event in events:
                self._last_delivery_id += 1
                queue.pending.append((self._last_delivery_id, event))
            self._pending_queues[task.key, config_id] = queue

    def _put_config(
        self, task: MemoryTask, config: TaskPushNotificationConfig, dialect: str
    ) -> None:
        queue = self._push_queues.setdefault(task.key, {}).setdefault(
            config.id or "", PushQueue(task, config, dialect)
        )
        queue.config = config
        queue.dialect = dialect
        queue.failure = None

    def _is_delivered(self, task: MemoryTask) -> bool:
        return not any(queue.pending for queue in self._push_queues.get(task.key, {}).values())

    def _will_deliver(self, task: MemoryTask) -> bool:
        """Return whether the end of a task is sent to a webhook."""
        return any(queue.failure is None for queue in self._push_queues.get(task.key, {}).values())

    def _release_if_delivered(self, task: MemoryTask) -> None:
        """Let a full store delete a task that has ended, if its last delivery is over."""
        if task.is_open and task.state in lifecycle.TERMINAL and self._is_delivered(task):
            self._index.holdings.release(task)

    def _add_records(self, task: MemoryTask, records: Iterable[ReplayRecord]) -> None:
        """Keep replay records until the task ends."""
        kept = self._records.setdefault(task.key, {})
        for record in records:
            replaced = kept.get((record.kind, record.key))
            kept[record.kind, record.key] = record
            freed_bytes = 0 if replaced is None else replaced.size_bytes
            self._index.holdings.resize(task, record.size_bytes - freed_bytes)

    def _drop_records(self, task: MemoryTask) -> None:
        records = self._records.pop(task.key, None)
        if records is not None:
            self._index.holdings.resize(
                task, -sum([record.size_bytes for record in records.values()])
            )

    def _delete(self, task: MemoryTask) -> None:
        for name in self._idempotency_keys_by_task.pop(task.key, ()):
            del self._idempotency_keys[name]
        for config_id in self._push_queues.pop(task.key, {}):
            self._pending_queues.pop((task.key, config_id), None)
        self._drop_records(task)
        self._index.remove(task)

    def _conversation_cutoff(self) -> int:
        return self._options.cutoff_millis(self._options.conversation_retention_seconds)

    def _expire(self, task: MemoryTask) -> None:
        """Delete a task, but keep the messages that its conversation still needs."""
        cutoff = self._conversation_cutoff()
        kept = [message for message in task.iter_messages() if message_time(message) > cutoff]
        if kept:
            conversation = self._touch_conversation(task.scope, task.context_id)
            messages = sorted([*conversation.messages, *kept], key=message_time)
            self._keep_messages(
                conversation,
                messages[max(0, len(messages) - self._options.max_conversation_messages) :],
            )
        self._delete(task)

    def _keep_messages(self, conversation: Conversation, messages: list[KeptMessage]) -> None:
        """Replace the messages of a conversation that outlived their tasks."""
        change = sum([len(body) for _, body, _ in messages]) - sum(
            [len(body) for _, body, _ in conversation.messages]
        )
        self._resize_conversation(conversation, change)
        conversation.messages = messages

    def _keep_data(self, conversation: Conversation, data: bytes | None) -> None:
        """Replace the data of a conversation."""
        self._resize_conversation(conversation, len(data or b"") - len(conversation.data or b""))
        conversation.data = data

    def _resize_conversation(self, conversation: Conversation, change: int) -> None:
        self._conversation_bytes += change
        self._index.holdings.resize_conversation(conversation.limit_key, change)

    def _drop_conversation(self, key: tuple[TaskScope, str]) -> None:
        """Drop the data of a conversation and its messages that outlived their tasks."""
        conversation = self._conversations.pop(key, None)
        if conversation is not None:
            self._keep_messages(conversation, [])
            self._keep_data(conversation, None)
            self._index.holdings.remove_conversation(conversation.limit_key, key)

    def _touch_conversation(self, scope: TaskScope, context_id: str) -> Conversation:
        """Return a conversation as the most recently used one; when there are too many, that of the
        caller who holds most goes.
        """
        key = (scope, context_id)
        conversation = self._conversations.pop(key, None)
        if conversation is None:
            tasks = self._index.find_in_context(scope, context_id)
            limit_key = tasks[-1].limit_key if tasks else scope.limit_key
            conversation = Conversation(limit_key=limit_key)
        self._conversations[key] = conversation
        self._index.holdings.touch_conversation(conversation.limit_key, key)
        if len(self._conversations) > self._options.max_tasks:
            largest = self._index.holdings.find_largest()
            of_largest = largest.conversations if largest is not None else ()
            self._drop_conversation(next(iter(of_largest or self._conversations)))
        return conversation
