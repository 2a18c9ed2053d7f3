"""What the roles of the memory store share: the shelf, and what hangs on tasks without being part of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import TaskScope
from a2a_runtime.counters import MemoryCounter
from a2a_runtime.ids import IdGenerator
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.memory.index import MemoryTask, TaskIndex, TimedMessage
from a2a_runtime.stores.models import IdempotencyKey, LoggedEvent, PushFailure, RecordKind, ReplayRecord


@dataclass(slots=True)
class PushQueue:
    """A push configuration, and the events that wait for it; attempts and time are those of the first one."""

    task: MemoryTask
    config: TaskPushNotificationConfig
    dialect: str
    failure: PushFailure | None = None
    pending: deque[tuple[int, LoggedEvent]] = field(default_factory=deque)
    attempts: int = 0
    due_at_millis: int = 0


@dataclass(slots=True)
class Conversation:
    """What a conversation has beside its tasks: data, and messages that outlived their tasks."""

    data: bytes | None = None
    updated_at_millis: int = 0
    messages: list[TimedMessage] = field(default_factory=list)


ScopedKey = tuple[TaskScope, str, str]

message_time = itemgetter(0)
"""When a message came: what a conversation is sorted by."""


class MemoryBase:
    """The state of a memory store. Calls never wait for anything, so the event loop itself makes each of them atomic."""

    def __init__(self, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._ids = IdGenerator(options.clock)
        self._index = TaskIndex(options.clock, finished_logs=options.max_finished_logs)
        self._idempotency_keys: dict[ScopedKey, tuple[MemoryTask, bytes]] = {}
        self._idempotency_keys_by_task: dict[str, list[ScopedKey]] = {}
        self._records: dict[str, dict[tuple[RecordKind, str], ReplayRecord]] = {}
        self._push_queues: dict[str, dict[str, PushQueue]] = {}
        self._pending_queues: dict[tuple[str, str], PushQueue] = {}
        self._last_delivery_id = 0
        self._conversations: dict[tuple[TaskScope, str], Conversation] = {}
        self._processes: dict[str, int] = {}
        self._cancels: dict[str, MemoryTask] = {}
        self._counts = MemoryCounter(options.clock)

    def _require_task(self, scope: TaskScope, wire_id: str) -> MemoryTask:
        row = self._index.find(scope, wire_id)
        if row is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return row

    def _find_idempotency_key(self, scope: TaskScope, promise: IdempotencyKey) -> tuple[MemoryTask, bytes] | None:
        return self._idempotency_keys.get((scope, promise.context_id, promise.key))

    def _add_idempotency_key(self, row: MemoryTask, promise: IdempotencyKey) -> None:
        name = (row.scope, promise.context_id, promise.key)
        self._idempotency_keys[name] = (row, promise.request_hash)
        self._idempotency_keys_by_task.setdefault(row.key, []).append(name)

    def _enqueue_events(self, row: MemoryTask, events: Sequence[LoggedEvent]) -> None:
        if not events:  # who is in `_waiting` has something that waits
            return
        for config_id, mailbox in self._push_queues.get(row.key, {}).items():
            if mailbox.failure is not None:
                continue
            for event in events:
                self._last_delivery_id += 1
                mailbox.pending.append((self._last_delivery_id, event))
            self._pending_queues[row.key, config_id] = mailbox

    def _put_config(self, row: MemoryTask, wanted: TaskPushNotificationConfig, dialect: str) -> TaskPushNotificationConfig:
        config_id = wanted.id or self._ids.new()
        config = wanted.model_copy(update={"id": config_id, "task_id": row.wire_id})
        mailbox = self._push_queues.setdefault(row.key, {}).setdefault(config_id, PushQueue(row, config, dialect))
        mailbox.config, mailbox.dialect, mailbox.failure = config, dialect, None
        return config

    def _is_delivered(self, row: MemoryTask) -> bool:
        return not any(mailbox.pending for mailbox in self._push_queues.get(row.key, {}).values())

    def _delete(self, row: MemoryTask) -> None:
        for name in self._idempotency_keys_by_task.pop(row.key, ()):
            del self._idempotency_keys[name]
        for config_id in self._push_queues.pop(row.key, {}):
            self._pending_queues.pop((row.key, config_id), None)
        self._records.pop(row.key, None)
        self._cancels.pop(row.key, None)
        self._index.remove(row)

    def _expire(self, row: MemoryTask) -> None:
        """Let a task go, but keep those of its messages that its conversation still needs."""
        recent = self._options.cutoff_millis(self._options.conversation_retention_seconds)
        kept = [(at, body) for at, body in row.history if at > recent]
        if kept:
            conversation = self._touch_conversation(row.scope, row.context_id)
            conversation.messages = sorted([*conversation.messages, *kept], key=message_time)[-self._options.max_conversation_messages :]
        self._delete(row)

    def _touch_conversation(self, scope: TaskScope, context_id: str) -> Conversation:
        """Get what a conversation has beside its tasks; of too many conversations, the one that was not touched for longest goes."""
        conversation = self._conversations.pop((scope, context_id), None) or Conversation()
        self._conversations[scope, context_id] = conversation
        if len(self._conversations) > self._options.max_tasks:
            del self._conversations[next(iter(self._conversations))]
        return conversation
