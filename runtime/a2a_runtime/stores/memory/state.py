"""What the roles of the memory store share: the shelf, and what hangs on tasks without being part of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Scope
from a2a_runtime.counters import Counts
from a2a_runtime.ids import Ids
from a2a_runtime.stores.base import DEFAULTS, StoreOptions
from a2a_runtime.stores.memory.index import Row, Said, Shelf
from a2a_runtime.stores.models import Idempotency, LoggedEvent, PushFailure, Record, RecordKind


@dataclass(slots=True)
class Mailbox:
    """A push configuration, and the events that wait for it; attempts and time are those of the first one."""

    row: Row
    config: TaskPushNotificationConfig
    dialect: str
    failure: PushFailure | None = None
    waiting: deque[tuple[int, LoggedEvent]] = field(default_factory=deque)
    attempts: int = 0
    next_at: int = 0


@dataclass(slots=True)
class Conversation:
    """What a conversation has beside its tasks: data, and messages that outlived their tasks."""

    data: bytes | None = None
    updated_at: int = 0
    turns: list[Said] = field(default_factory=list)


Promise = tuple[Scope, str, str]

when = itemgetter(0)
"""When a message came: what a conversation is sorted by."""


class MemoryBase:
    """The state of a memory store. Calls never wait for anything, so the event loop itself makes each of them atomic."""

    def __init__(self, options: StoreOptions = DEFAULTS) -> None:
        self._options = options
        self._ids = Ids(options.clock)
        self._shelf = Shelf(options.clock, finished_logs=options.finished_logs)
        self._promises: dict[Promise, tuple[Row, bytes]] = {}
        self._promises_of: dict[str, list[Promise]] = {}
        self._records: dict[str, dict[tuple[RecordKind, str], Record]] = {}
        self._mailboxes: dict[str, dict[str, Mailbox]] = {}
        self._waiting: dict[tuple[str, str], Mailbox] = {}
        self._deliveries = 0
        self._conversations: dict[tuple[Scope, str], Conversation] = {}
        self._processes: dict[str, int] = {}
        self._cancels: dict[str, Row] = {}
        self._counts = Counts(options.clock)

    def _need(self, scope: Scope, wire_id: str) -> Row:
        row = self._shelf.find(scope, wire_id)
        if row is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return row

    def _promised(self, scope: Scope, promise: Idempotency) -> tuple[Row, bytes] | None:
        return self._promises.get((scope, promise.context_id, promise.key))

    def _promise(self, row: Row, promise: Idempotency) -> None:
        name = (row.scope, promise.context_id, promise.key)
        self._promises[name] = (row, promise.request_hash)
        self._promises_of.setdefault(row.key, []).append(name)

    def _post(self, row: Row, events: Sequence[LoggedEvent]) -> None:
        if not events:  # who is in `_waiting` has something that waits
            return
        for config_id, mailbox in self._mailboxes.get(row.key, {}).items():
            if mailbox.failure is not None:
                continue
            for event in events:
                self._deliveries += 1
                mailbox.waiting.append((self._deliveries, event))
            self._waiting[row.key, config_id] = mailbox

    def _subscribe(self, row: Row, wanted: TaskPushNotificationConfig, dialect: str) -> TaskPushNotificationConfig:
        config_id = wanted.id or self._ids.new()
        config = wanted.model_copy(update={"id": config_id, "task_id": row.wire_id})
        mailbox = self._mailboxes.setdefault(row.key, {}).setdefault(config_id, Mailbox(row, config, dialect))
        mailbox.config, mailbox.dialect, mailbox.failure = config, dialect, None
        return config

    def _is_delivered(self, row: Row) -> bool:
        return not any(mailbox.waiting for mailbox in self._mailboxes.get(row.key, {}).values())

    def _drop(self, row: Row) -> None:
        for name in self._promises_of.pop(row.key, ()):
            del self._promises[name]
        for config_id in self._mailboxes.pop(row.key, {}):
            self._waiting.pop((row.key, config_id), None)
        self._records.pop(row.key, None)
        self._cancels.pop(row.key, None)
        self._shelf.remove(row)

    def _outlive(self, row: Row) -> None:
        """Let a task go, but keep those of its messages that its conversation still needs."""
        recent = self._options.expired(self._options.conversation)
        kept = [(at, body) for at, body in row.history if at > recent]
        if kept:
            conversation = self._touched(row.scope, row.context_id)
            conversation.turns = sorted([*conversation.turns, *kept], key=when)[-self._options.conversation_limit :]
        self._drop(row)

    def _touched(self, scope: Scope, context_id: str) -> Conversation:
        """Get what a conversation has beside its tasks; of too many conversations, the one that was not touched for longest goes."""
        conversation = self._conversations.pop((scope, context_id), None) or Conversation()
        self._conversations[scope, context_id] = conversation
        if len(self._conversations) > self._options.capacity:
            del self._conversations[next(iter(self._conversations))]
        return conversation
