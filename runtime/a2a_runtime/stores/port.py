"""The store port: everything that is true about tasks goes through these calls, and each call happens wholly or not at all.

Three implementations pass one contract suite (``a2a_runtime.testing.store_contract``): memory, SQLite and Postgres. The port is cut by role, so that a caller asks for what it
needs; ``Store`` is their sum.

    TaskStore      create, load, update, list, delete tasks
    ContextStore   what belongs to a conversation: its data, its history, its end
    EventLog       read a task's events by cursor
    RunStore       claim tasks for a process, keep its lease, find the orphans of dead ones, ask for cancellation
    PushStore      push configurations of a task
    Outbox         deliveries that are due

Rules that every implementation keeps:

- A call that fails leaves nothing behind; a call that returns is durable (as far as the medium goes) and visible to the next read.
- A change of state on a task that has ended is refused (``TaskTerminalError``); messages, artifacts and metadata may still be appended to it, without an event.
- ``seq`` numbers of a task's events are contiguous from 1, in commit order; the last one belongs to the state that ended it.
- Creating a task appends its first event, number 1: the task itself as a snapshot, so that a reader from the start gets what the protocol wants first.
- Models passed in are never changed. Free JSON comes back exactly as it went in.
- Every call is scoped; a task of another scope is one that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Task, TaskPushNotificationConfig

from a2a_runtime.caller import Scope


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be created, with the message that asks for it."""

    context_id: str
    message: Message
    skill: str
    dialect: str
    wire_id: str | None = None  # None: the store's own id
    metadata: Mapping[str, object] = field(default_factory=dict)
    idempotency_key: str | None = None
    request_hash: bytes = b""
    process: str | None = None  # set: created as claimed by that process, in epoch 1
    push: TaskPushNotificationConfig | None = None


@dataclass(frozen=True, slots=True)
class ArtifactWrite:
    """Parts for one artifact: appended to it, or in place of what it held."""

    artifact: Artifact
    append: bool = False
    last_chunk: bool = False


class RecordKind(StrEnum):
    """What a run remembers for the next one."""

    QUESTION = "question"
    ANSWER = "answer"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Record:
    """Something that a re-run must find again instead of doing it twice; ``body`` is JSON."""

    kind: RecordKind
    key: str
    body: bytes
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One atomic change of a task. What is ``None`` or empty stays as it is."""

    state: State | None = None
    status_message: Message | None = None
    artifacts: Sequence[ArtifactWrite] = ()
    messages: Sequence[Message] = ()
    metadata: Mapping[str, object] | None = None  # merged key by key, not in depth
    event_metadata: Mapping[str, object] | None = None  # goes with the status event only
    records: Sequence[Record] = ()
    expected_version: int | None = None
    expected_states: frozenset[State] | None = None
    epoch: int | None = None
    release: bool = False  # the process gives the task up (parked, handed over)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event of a task: its number, its canonical StreamResponse as JSON, and the state the task was in after it.

    Only the very last event of a task carries a terminal state: an artifact written by the same call comes before it, with the state before it.
    """

    seq: int
    body: bytes
    state: State


@dataclass(frozen=True, slots=True)
class Written:
    """What a change made of the task: its new version, its state, and the events it appended, so that readers in this process need no second look."""

    version: int
    state: State
    events: Sequence[LoggedEvent]


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task as it was at one moment, with what the protocol does not show."""

    key: str
    wire_id: str
    context_id: str
    scope: Scope
    skill: str
    dialect: str
    state: State
    version: int
    last_seq: int
    epoch: int
    process: str | None
    cancel_requested: bool
    updated_at: datetime
    task: Encoded[Task]


@dataclass(frozen=True, slots=True)
class Created:
    """The task that a create call stands for; not ``is_new`` when its idempotency key had one already."""

    stored: StoredTask
    is_new: bool
    events: Sequence[LoggedEvent] = ()


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks to list: filters, page, and how much of each."""

    context_id: str | None = None
    state: State | None = None
    changed_after: datetime | None = None
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    include_artifacts: bool = False


@dataclass(frozen=True, slots=True)
class TaskPage:
    """One page of tasks, newest status first."""

    tasks: Sequence[StoredTask]
    next_page_token: str
    total_size: int


@dataclass(frozen=True, slots=True)
class Run:
    """What a runner needs to run a task's handler: the task as it is, and what earlier runs recorded."""

    stored: StoredTask
    records: Sequence[Record]
    attempt: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook call that is due: the event, where it goes, and how often it was tried."""

    id: int
    key: str
    seq: int
    attempts: int
    config: TaskPushNotificationConfig
    event: LoggedEvent
    stored: StoredTask


class TaskStore(Protocol):
    """Create, read, change, list and delete tasks."""

    async def create_task(self, scope: Scope, new: NewTask) -> Created: ...
    async def load_task(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask | None: ...
    async def update_task(self, scope: Scope, key: str, change: Change) -> Written: ...
    async def list_tasks(self, scope: Scope, query: TaskQuery) -> TaskPage: ...
    async def delete_task(self, scope: Scope, wire_id: str) -> bool: ...
    async def get_version(self, scope: Scope, wire_id: str) -> int | None: ...


class ContextStore(Protocol):
    """What belongs to a conversation as a whole."""

    async def load_context(self, scope: Scope, context_id: str) -> Mapping[str, object] | None: ...
    async def update_context(self, scope: Scope, context_id: str, data: Mapping[str, object]) -> None: ...
    async def delete_context(self, scope: Scope, context_id: str) -> int: ...
    async def conversation(self, scope: Scope, context_id: str, limit: int = 100) -> Sequence[Message]: ...


class EventLog(Protocol):
    """A task's events, by cursor."""

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]: ...


class RunStore(Protocol):
    """Who runs what: leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None: ...
    async def beat(self, process: str) -> Sequence[str]: ...  # renews the lease; the keys whose cancellation was asked for
    async def unregister(self, process: str) -> None: ...
    async def claim(self, key: str, process: str) -> Run | None: ...  # None: ended, parked, or run by a live process
    async def orphans(self, limit: int = 64) -> Sequence[str]: ...  # keys of active tasks that no live process runs
    async def request_cancel(self, scope: Scope, wire_id: str) -> StoredTask: ...


class PushStore(Protocol):
    """Push configurations of a task."""

    async def put_push_config(self, scope: Scope, wire_id: str, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig: ...
    async def get_push_config(self, scope: Scope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None: ...
    async def list_push_configs(self, scope: Scope, wire_id: str, page_size: int = 100, page_token: str = "") -> tuple[Sequence[TaskPushNotificationConfig], str]: ...
    async def delete_push_config(self, scope: Scope, wire_id: str, config_id: str) -> bool: ...


class Outbox(Protocol):
    """Webhook calls that are due, in order per configuration; at least once."""

    async def due(self, lease_seconds: float, limit: int = 32) -> Sequence[Delivery]: ...
    async def delivered(self, delivery: Delivery) -> None: ...
    async def retry(self, delivery: Delivery, after_seconds: float, reason: str) -> None: ...
    async def give_up(self, delivery: Delivery, reason: str) -> None: ...


@runtime_checkable
class Store(TaskStore, ContextStore, EventLog, RunStore, PushStore, Outbox, Protocol):
    """A whole store: opened before its first call, closed after the last."""

    durable: bool

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def sweep(self, limit: int = 500) -> int: ...  # deletes what has expired; returns how many tasks went
