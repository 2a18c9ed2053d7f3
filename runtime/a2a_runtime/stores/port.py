"""The store port: everything that is true about tasks goes through these calls, and each call happens wholly or not at all.

Three implementations pass one contract suite (``a2a_runtime.testing.store_contract``): memory, SQLite and Postgres. The port is cut by role, so that a caller asks for what it
needs; ``Store`` is their sum.

    TaskStore       create, load, update, list, delete tasks
    ContextStore    what belongs to a conversation: its data, its history, its end
    EventLog        read a task's events by cursor
    RunStore        claim tasks for a process, keep its lease, find the orphans of dead ones, ask for cancellation
    PushStore       push configurations of a task
    Outbox          deliveries that are due
    Administration  whose tasks there are, and deleting all of somebody's

Rules that every implementation keeps:

- A call that fails leaves nothing behind; a call that returns is durable (as far as the medium goes) and visible to the next read.
- A change of state on a task that has ended is refused (``TaskTerminalError``); messages, artifacts and metadata may still be appended to it, without an event.
- ``seq`` numbers of a task's events are contiguous from 1, in commit order; the last one belongs to the state that ended it.
- Creating a task appends its first event, number 1: the task itself as a snapshot, so that a reader from the start gets what the protocol wants first.
- A status is never older than the one before it, also when the clock steps back.
- Models passed in are never changed. Free JSON comes back exactly as it went in.
- Every call is scoped, or goes by a key, which never leaves the process; a task of another scope is one that does not exist.
- One run at a time may write: a change with an ``epoch`` is refused (``FencedError``) unless that run is the latest and still under way. A run is over when another one is claimed,
  when it releases the task, and when the task ends.
- A wire id belongs to one task at a time. A client may use its own id again some time after the task ended; the old task is then no longer found by it, but its key still works.
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

# --- what goes in ----------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A promise to do something once: the same key with the same request stands for the same task, with another request it is an error.

    The key is unique within the scope and the conversation that the client named; ``context_id`` is empty when it named none. It lives as long as its task.
    """

    key: str
    request_hash: bytes
    context_id: str = ""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be created, with the message that asks for it; the message gets the ids of the task and its conversation."""

    context_id: str
    message: Message
    skill: str
    dialect: str
    wire_id: str | None = None  # None: the store makes one
    metadata: Mapping[str, object] = field(default_factory=dict)
    idempotency: Idempotency | None = None
    process: str | None = None  # set: created as claimed by that process, in epoch 1
    push: TaskPushNotificationConfig | None = None


@dataclass(frozen=True, slots=True)
class ArtifactWrite:
    """Parts for one artifact: appended to it, or in place of what it held. An appended chunk may bring a name, a description, metadata (merged key by key) and extensions too."""

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
    """Something that a re-run must find again instead of doing it twice; ``body`` is JSON. One of the same kind and key takes its place."""

    kind: RecordKind
    key: str
    body: bytes
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One atomic change of a task. What is ``None`` or empty stays as it is.

    Events follow from it: one per artifact, then one for the state. Several writes to one artifact become one. Messages carry their task's ids already.
    """

    state: State | None = None
    status_message: Message | None = None  # goes with the state, ignored without one
    artifacts: Sequence[ArtifactWrite] = ()
    messages: Sequence[Message] = ()
    metadata: Mapping[str, object] | None = None  # merged key by key, not in depth
    event_metadata: Mapping[str, object] | None = None  # goes with the status event only
    records: Sequence[Record] = ()
    idempotency: Idempotency | None = None  # a repeated change is not made again
    expected_version: int | None = None
    expected_states: frozenset[State] | None = None
    epoch: int | None = None
    release: bool = False  # the process gives the task up (parked, handed over)


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks to list: filters, page, and how much of each."""

    context_id: str | None = None
    state: State | None = None
    changed_after: datetime | None = None  # that moment included
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    include_artifacts: bool = False


# --- what comes out --------------------------------------------------------------------------------------------------------------------------------


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
    """What a change made of the task: its new version, its state, and the events it appended, so that readers in this process need no second look.

    Not ``is_new`` when the change had been made before under its idempotency key; nothing was written then.
    """

    version: int
    state: State
    events: Sequence[LoggedEvent]
    is_new: bool = True


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
    updated_at: datetime  # of its status
    task: Encoded[Task]


@dataclass(frozen=True, slots=True)
class Created:
    """The task that a create call stands for; not ``is_new`` when its idempotency key had one already."""

    stored: StoredTask
    is_new: bool
    events: Sequence[LoggedEvent] = ()


@dataclass(frozen=True, slots=True)
class TaskPage:
    """One page of tasks, newest status first. A task that changes meanwhile moves to the front, before the page; ``changed_after`` finds those."""

    tasks: Sequence[StoredTask]
    next_page_token: str
    total_size: int


@dataclass(frozen=True, slots=True)
class Run:
    """What a runner needs to run a task's handler: the task as it is, and what earlier runs recorded, oldest first."""

    stored: StoredTask
    records: Sequence[Record]

    @property
    def attempt(self) -> int:
        """Which run of the task this is, from 1."""
        return self.stored.epoch


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook call that is due: the event, where it goes, and how often it was tried, this time included."""

    id: int
    attempts: int
    config: TaskPushNotificationConfig
    event: LoggedEvent
    stored: StoredTask


# --- the roles -------------------------------------------------------------------------------------------------------------------------------------


class TaskStore(Protocol):
    """Create, read, change, list and delete tasks."""

    async def create_task(self, scope: Scope, new: NewTask) -> Created: ...
    async def load_task(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask | None: ...
    async def update_task(self, scope: Scope, key: str, change: Change) -> Written: ...
    async def list_tasks(self, scope: Scope, query: TaskQuery) -> TaskPage: ...
    async def delete_task(self, scope: Scope, wire_id: str) -> bool: ...
    async def get_version(self, scope: Scope, wire_id: str) -> int | None: ...


class ContextStore(Protocol):
    """What belongs to a conversation as a whole.

    Its history are the messages of all its tasks. Each one stays for a time of its own, longer or shorter than its task; when it outlives it, only the newest hundred are kept.
    """

    async def load_context(self, scope: Scope, context_id: str) -> Mapping[str, object] | None: ...
    async def update_context(self, scope: Scope, context_id: str, data: Mapping[str, object]) -> None: ...
    async def delete_context(self, scope: Scope, context_id: str) -> int: ...  # with its tasks, running ones too; how many there were
    async def conversation(self, scope: Scope, context_id: str, limit: int = 100) -> Sequence[Message]: ...  # the newest ones, in order


class EventLog(Protocol):
    """A task's events, by cursor.

    Nothing after the cursor is an empty answer only while there can be more or the reader has seen all: a log that has forgotten what follows the cursor says so
    (``EventsGoneError``), and so does a task that is no more (``TaskNotFoundError``).
    """

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]: ...


class RunStore(Protocol):
    """Who runs what: leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None: ...
    async def beat(self, process: str) -> Sequence[str]: ...  # renews the lease; the keys of its tasks whose cancellation was asked for
    async def unregister(self, process: str) -> None: ...  # its active tasks are orphans from now on
    async def claim(self, key: str, process: str) -> Run | None: ...  # None: gone, ended, parked, or run by a live process
    async def orphans(self, limit: int = 64) -> Sequence[str]: ...  # keys of active tasks that no live process runs, oldest first
    async def request_cancel(self, scope: Scope, wire_id: str) -> StoredTask: ...  # TaskNotCancelableError when it has ended


class PushStore(Protocol):
    """Push configurations of a task; a config without an id gets one. For a task that does not exist, every call raises ``TaskNotFoundError``."""

    async def put_push_config(self, scope: Scope, wire_id: str, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig: ...
    async def get_push_config(self, scope: Scope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None: ...
    async def list_push_configs(
        self, scope: Scope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]: ...
    async def delete_push_config(self, scope: Scope, wire_id: str, config_id: str) -> bool: ...


class Outbox(Protocol):
    """Webhook calls that are due: in order per configuration, at least once.

    Every event of a task is due once for each configuration that the task has when it happens. Whoever takes a delivery has it for a while;
    then it is due again, and the answer of the first taker counts no more (``False``).
    """

    async def due(self, lease_seconds: float, limit: int = 32) -> Sequence[Delivery]: ...
    async def settle(self, delivery: Delivery) -> bool: ...  # delivered, or given up: the next event's turn
    async def retry(self, delivery: Delivery, after_seconds: float) -> bool: ...


class Administration(Protocol):
    """For an operator, who may see everybody's tasks."""

    async def scopes(self) -> Sequence[Scope]: ...
    async def delete_scope(self, scope: Scope) -> int: ...  # all tasks and conversations of a caller; how many tasks there were


@runtime_checkable
class Store(TaskStore, ContextStore, EventLog, RunStore, PushStore, Outbox, Administration, Protocol):
    """A whole store: opened before its first call, closed after the last."""

    durable: bool

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def sweep(self, limit: int = 500) -> int: ...  # deletes what has expired, but no task with deliveries left; returns how many tasks went
