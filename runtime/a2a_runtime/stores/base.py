"""The store port: everything that is true about tasks goes through these calls, and each call happens wholly or not at all.

Three implementations pass one contract suite (``a2a_runtime.testing.store_contract``): memory, SQLite and Postgres. The port is cut by role, so that
a caller asks for what it needs; ``Store`` is their sum.

    TaskStore       create, load, update, list, delete tasks
    ContextStore    what belongs to a conversation: its data, its history, its end
    EventLog        read a task's events by cursor
    RunStore        claim tasks for a process, keep its lease, find the orphans of dead ones, ask for cancellation
    PushStore       push configurations of a task, and which of them have failed
    Outbox          deliveries that are due
    Administration  whose tasks there are, and deleting all of somebody's
    Tally           how often somebody has asked lately, counted by all processes together

Rules that every implementation keeps:

- A call that fails leaves nothing behind; a call that returns is durable (as far as the medium goes) and visible to the next read.
- A change of state on a task that has ended is refused (``TaskTerminalError``); messages, artifacts and metadata may still be appended to it, without
  an event.
- ``seq`` numbers of a task's events are contiguous from 1, in commit order; the last one belongs to the state that ended it.
- Creating a task appends its first event, number 1: the task itself as a snapshot, so that a reader from the start gets what the protocol wants
  first.
- A status is never older than the one before it, also when the clock steps back.
- Models passed in are never changed. Free JSON comes back exactly as it went in.
- Every call is scoped, or goes by a key, which never leaves the process; a task of another scope is one that does not exist.
- One run at a time may write: a change with an ``epoch`` is refused (``FencedError``) unless that run is the latest and still under way. A run is
  over when another one is claimed, when it releases the task, and when the task ends.
- A wire id belongs to one task at a time. A client may use its own id again some time after the task ended; the old task is then no longer found by
  it, but its key still works.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from a2a_contract.dialects import CANONICAL
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.counters import CounterStore, WindowCount
from a2a_runtime.stores.models import (
    ArtifactWrite,
    ChangeResult,
    ClaimedRun,
    CreateResult,
    Delivery,
    IdempotencyKey,
    LoggedEvent,
    NewTask,
    PushFailure,
    RecordKind,
    ReplayRecord,
    StoredTask,
    TaskChange,
    TaskPage,
    TaskQuery,
)
from a2a_runtime.streams.notifier import Notifier


class TaskStore(Protocol):
    """Create, read, change, list and delete tasks."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one that its idempotency key stands for."""
        ...

    async def load_task(
        self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> StoredTask | None:
        """Read a task, with the last messages of its history: all when the length is unset, none when it is 0."""
        ...

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task, or refuse to; never something between."""
        ...

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        ...

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with all that hangs on it; whether it was there."""
        ...

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Say at which version a task is."""
        ...


class ContextStore(Protocol):
    """What belongs to a conversation as a whole.

    Its history are the messages of all its tasks. Each one stays for a time of its own, longer or shorter than its task; of those that outlive their
    tasks, the newest are kept.
    """

    async def load_context(self, scope: TaskScope, context_id: str) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        ...

    async def update_context(self, scope: TaskScope, context_id: str, data: Mapping[str, object]) -> None:
        """Store something with a conversation, in place of what was there."""
        ...

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks, running ones too; how many there were."""
        ...

    async def load_conversation(self, scope: TaskScope, context_id: str, limit: int = 100) -> Sequence[Message]:
        """Read the newest messages of a conversation, in the order in which they were said."""
        ...


class EventLog(Protocol):
    """A task's events, by cursor."""

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor; none when there is none yet.

        A log that has forgotten what follows the cursor says so (``EventsGoneError``), and so does a task that is no more (``TaskNotFoundError``):
        nobody waits for what cannot come.
        """
        ...


class RunStore(Protocol):
    """Who runs what: leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        ...

    async def renew_lease(self, process: str) -> Sequence[str]:
        """Renew the lease, also one that has run out; the keys of those of its tasks that somebody wants canceled."""
        ...

    async def unregister(self, process: str) -> None:
        """End the lease: the active tasks of this process are orphans from now on."""
        ...

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task; ``None`` when it is gone, ended, parked, or run by a live process."""
        ...

    async def find_orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs, by their keys, oldest first; only those of some surfaces, if these are named."""
        ...

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Ask for the end of a task, once or again; ``TaskNotCancelableError`` when it has ended."""
        ...


class PushConfigStore(Protocol):
    """Push configurations of a task. For a task that does not exist, every call raises ``TaskNotFoundError``."""

    async def put_push_config(
        self, scope: TaskScope, wire_id: str, config: TaskPushNotificationConfig, dialect: str = CANONICAL.name, *, max_configs: int | None = None
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or change the one of that id; one without an id gets one. One more than ``most`` is refused.

        The dialect is the one in which it was asked for, and in which its notifications are written. A configuration that has failed and is put
        again hears what happens from then on.
        """
        ...

    async def get_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        ...

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Read a page of configurations, by their ids, and the token of the next one."""
        ...

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and what is still due for it; whether it was there."""
        ...

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Say which configurations have failed, by their ids."""
        ...


class Outbox(Protocol):
    """Webhook calls that are due: in order per configuration, at least once.

    Every event of a task is due once for each configuration that the task has when it happens. Whoever takes a delivery has it for a while;
    then it is due again, and the answer of the first taker counts no more.
    """

    async def claim_due(self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None) -> Sequence[Delivery]:
        """Take deliveries that are due, at most one for each configuration; only those of some surfaces, if these are named."""
        ...

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Be done with a delivery, because it arrived or was given up; whether it was still ours."""
        ...

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Put a delivery off; whether it was still ours."""
        ...

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed, whether the delivery was still ours: nothing is due for it any more, now and later."""
        ...


class AdminStore(Protocol):
    """For an operator, who may see everybody's tasks."""

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Say whose tasks and conversations there are."""
        ...

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a caller; how many tasks there were."""
        ...


@runtime_checkable
class Store(TaskStore, ContextStore, EventLog, RunStore, PushConfigStore, Outbox, AdminStore, CounterStore, Protocol):
    """A whole store."""

    is_durable: bool  # what was acknowledged is still there after the process has died

    def notifier(self) -> Notifier | None:
        """Make a bell by which the processes that share this store hear of each other; ``None`` where one process has it for itself."""
        ...

    async def open(self) -> None:
        """Make the store ready for its first call."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of everything."""
        ...

    async def delete_expired(self, limit: int = 500) -> int:
        """Delete what has expired, but no task with deliveries left; how many tasks went."""
        ...


__all__ = [
    "AdminStore",
    "ArtifactWrite",
    "ChangeResult",
    "ClaimedRun",
    "ContextStore",
    "CounterStore",
    "CreateResult",
    "Delivery",
    "EventLog",
    "IdempotencyKey",
    "LoggedEvent",
    "NewTask",
    "Outbox",
    "PushConfigStore",
    "PushFailure",
    "RecordKind",
    "ReplayRecord",
    "RunStore",
    "Store",
    "StoredTask",
    "TaskChange",
    "TaskPage",
    "TaskQuery",
    "TaskStore",
    "WindowCount",
]


# How long a store keeps things, and how much of them.

DAY_SECONDS = 86_400.0

FailPoint = Callable[[str], None]


def no_fault(_point: str) -> None:
    """Do nothing at a named point: what a store does everywhere but in fault tests."""


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What every store needs to know; times are in seconds, ``None`` is for ever."""

    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    retention_seconds: float | None = 7 * DAY_SECONDS  # of a task, from its end
    conversation_retention_seconds: float | None = 30 * DAY_SECONDS  # of a message, from when it was said
    max_conversation_messages: int = 100  # messages of a conversation that outlive their tasks
    lease_seconds: float = 15.0  # of a process, from its last beat
    wire_id_reuse_seconds: float = 300.0  # from the end of the task that has the id
    max_tasks: int = 100_000  # tasks in a memory store, and conversations that outlive theirs
    max_finished_logs: int = 1_000  # logs of finished tasks in a memory store
    fail_point: FailPoint = no_fault  # called at the named points of a write, for fault tests

    def cutoff_millis(self, age_seconds: float | None) -> int:
        """Say what is too old: the moment, in milliseconds, at which something must have begun to have lasted that long."""
        return -1 if age_seconds is None else self.clock.millis() - round(age_seconds * 1000)


DEFAULT_OPTIONS = StoreOptions()
