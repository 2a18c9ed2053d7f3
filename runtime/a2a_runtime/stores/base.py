"""Store ports: every fact about tasks is written and read through these calls, and each call is
atomic.

Three implementations pass one contract suite (``a2a_runtime.testing.store_contract``): memory,
SQLite and Postgres. The port is cut by role, so that a caller asks only for what it needs;
``Store`` is the sum.

    TaskStore        create, load, update, list and delete tasks
    ContextStore     data and history of a conversation, and its deletion
    EventLog         events of a task, read by cursor
    RunStore         leases of processes, claims of tasks, orphans, cancellation
    RunQueue         runs that are left to workers; Postgres only, and no part of the sum
    PushConfigStore  push configurations of a task, and their failures
    Outbox           push deliveries that are due
    AdminStore       all scopes, and deletion of a scope
    CounterStore     windowed counters, shared by all processes

Rules for every implementation:

- A call that fails leaves nothing behind. A call that returns is durable (as far as the medium
  goes) and visible to the next read.
- A change of state of a terminal task raises ``TaskTerminalError``. Messages, artifacts and
  metadata may still be appended to it, without an event.
- The ``seq`` numbers of a task's events are contiguous from 1, in commit order. The last one
  belongs to the terminal state. They are its generations: each change that a client can see is one
  event. Replay records, claims and metadata alone are no such changes.
- A message to an active task is an event of its own (``LoggedEvent.is_message``); one that changes
  the state is part of that event.
- Creating a task appends event 1: the task itself as a snapshot, which the protocol wants first in
  a stream.
- A status is never older than the one before it, even if the clock steps back.
- Models passed in are never changed. Free JSON is returned exactly as it was stored.
- Every call is scoped, or uses a key, which never leaves the process. A task of another scope does
  not exist for the caller.
- One run at a time may write: a change with an ``epoch`` raises ``FencedError`` unless that run is
  the latest and still under way. A run ends when another one is claimed, when it releases the task,
  and when the task ends.
- The writes of a run have numbers, from 1. A number that the store has is done: nothing is written
  again. The next number is written. Any other one raises ``LostWritesError``: the store fell back
  to an earlier state. So a write that the database commits late lands once or not at all.
- A process never claims a task that it holds itself: its lease may have run out on a clock, but not
  in its hands.
- A suspended task whose cancellation is requested is an orphan. The process that claims it ends it;
  no accepted cancellation is forgotten.
- A creation or a claim whose caller was cancelled, or whose answer was lost, may have been
  committed, now or a little later. Only the database knows: then a task is claimed by a process
  that does not run it. ``renew_lease`` returns what a process has claimed, so that it finds such
  tasks, and ``release_claims`` makes them orphans. No store keeps a list of doubtful calls.
- A wire id belongs to one task at a time. A client may use its own id again some time after the
  task ended; then the old task is found only by its key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from a2a_contract.dialects import CANONICAL
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.base.counters import CounterStore
from a2a_runtime.stores.models import (
    ChangeResult,
    ClaimedRun,
    CreateResult,
    Deferral,
    Delivery,
    LoggedEvent,
    NewTask,
    PushFailure,
    RenewedLease,
    StoredTask,
    TaskChange,
    TaskPage,
    TaskQuery,
)
from a2a_runtime.stores.notifier import Notifier

DAY_SECONDS = 86_400.0

FailPoint = Callable[[str], None]


def no_fault(_point: str) -> None:
    """Default fail point: do nothing."""


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Retention times and limits of a store; ``None`` keeps for ever."""

    clock: Clock = SystemClock()  # noqa: RUF009 - stateless
    retention_seconds: float | None = 7 * DAY_SECONDS  # of a task, from its end
    # Retention of the tasks of a dialect, where that is shorter.
    dialect_retention_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    # Retention of a message, from its creation.
    conversation_retention_seconds: float | None = 30 * DAY_SECONDS
    max_conversation_messages: int = 100  # messages of a conversation that outlive their tasks
    lease_seconds: float = 15.0  # of a process, from its last renewal
    wire_id_reuse_seconds: float = 300.0  # from the end of the task that has the id
    max_tasks: int = 100_000  # tasks in a memory store, and conversations that outlive theirs
    max_bytes: int = 1_000_000_000  # of content in a memory store
    # The share of these tasks and bytes that the unfinished tasks of one caller may take.
    caller_share: float = 0.25
    max_finished_logs: int = 1_000  # logs of finished tasks in a memory store
    max_finished_log_bytes: int = 32_000_000  # of all these logs; one is kept in any case
    # With "normal", a commit of a SQLite file does not wait for the disk.
    sqlite_synchronous: str = "full"
    # The address of the Postgres server itself, where the store has the address of a pooler.
    direct_address: str | None = None
    fail_point: FailPoint = no_fault  # called at named points of a write, for fault tests

    def cutoff_millis(self, age_seconds: float | None) -> int:
        """Return the time before which something is older than an age."""
        if age_seconds is None:
            return -1
        return self.clock.millis() - round(age_seconds * 1000)

    def is_kept(self, dialect: str, ended_at: int) -> bool:
        """Return whether a task of a dialect that ended at a time has not expired."""
        if ended_at <= self.cutoff_millis(self.retention_seconds):
            return False
        shorter = self.dialect_retention_seconds.get(dialect)
        return shorter is None or ended_at > self.cutoff_millis(shorter)


DEFAULT_OPTIONS = StoreOptions()


class TaskStore(Protocol):
    """Tasks."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one that its idempotency key stands for."""
        ...

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Load a task with the last messages of its history: all if the length is ``None``, none if
        it is 0.
        """
        ...

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change to a task."""
        ...

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        ...

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with everything that belongs to it; return false if it did not exist."""
        ...

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Return the version of a task."""
        ...


class ContextStore(Protocol):
    """Data and history of a conversation.

    The history consists of the messages of all its tasks. A message has a retention time of its
    own, longer or shorter than that of its task. Of the messages that outlive their tasks, the
    newest are kept.

    Messages and data remember the skills that wrote them, also when the tasks have expired. A
    reader with ``hidden_skills`` gets nothing of theirs, and nothing that was written before stores
    remembered skills.
    """

    async def load_context(
        self, scope: TaskScope, context_id: str, hidden_skills: Collection[str] = ()
    ) -> Mapping[str, object] | None:
        """Load the data that handlers have stored with a conversation; ``None`` if a hidden skill
        has written to it.
        """
        ...

    async def update_context(
        self,
        scope: TaskScope,
        context_id: str,
        data: Mapping[str, object],
        skill: str = "",
        hidden_skills: Collection[str] = (),
    ) -> None:
        """Replace the data of a conversation, which then is also that of a skill.

        Raises ``TypeError`` for data that is no JSON object. Raises ``PermissionDeniedError`` if a
        hidden skill has written to it: what the writer has not read must not be lost.
        """
        ...

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks, running ones too; return the number of
        tasks.
        """
        ...

    async def load_conversation(
        self,
        scope: TaskScope,
        context_id: str,
        limit: int = 100,
        hidden_skills: Collection[str] = (),
    ) -> Sequence[Message]:
        """Load the newest messages of a conversation, oldest first, without those of the tasks of
        hidden skills.
        """
        ...


class EventLog(Protocol):
    """Events of a task, by cursor."""

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read the events after a cursor; an empty result means that there are none yet.

        Raises ``EventsGoneError`` if they were deleted, if the log does not reach the cursor, or if
        the event at the cursor has another mark; and ``TaskNotFoundError`` if the task was deleted.
        So no reader waits for what does not come.
        """
        ...


class RunStore(Protocol):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        ...

    async def renew_lease(self, process: str) -> RenewedLease:
        """Renew the lease, even an expired one, and return the claims of this process."""
        ...

    async def release_claims(self, process: str, keys: Collection[str]) -> None:
        """End the claims of this process on tasks that it does not run: they become orphans.

        Other tasks are left as they are.
        """
        ...

    async def unregister(self, process: str) -> None:
        """End the lease: the active tasks of this process become orphans."""
        ...

    async def mark_suspect(self, process: str, key: str) -> None:
        """Note with the lease of this process that its event loop stands still in the run of a
        task; the next renewal removes the note.

        It is called in another event loop, and must not need the one of the other calls.
        """
        ...

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task; ``None`` if it is deleted, ended, suspended or run by a live
        process.

        A process never gets what it has claimed already, however late it renews its lease: it runs
        that task, or releases the claim. A claim on a task that its last process has not released
        counts as a crash, unless the event loop of that process stood still in another task.
        """
        ...

    async def find_orphans(
        self, limit: int = 64, surfaces: Collection[str] | None = None
    ) -> Sequence[str]:
        """Find active tasks without a live process; return their keys, oldest first, of all
        surfaces or of the given ones.
        """
        ...

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Request the cancellation of a task; repeatable.

        Raises ``TaskNotCancelableError`` if it has ended.
        """
        ...


@runtime_checkable
class RunQueue(Protocol):
    """Queue of runs for workers: a part that not every store has.

    ``NewTask.deferral`` and ``TaskChange.deferral`` put a job into it, in the transaction of the
    task. A task with a job is no orphan.
    """

    @property
    def queue_address(self) -> str:
        """Address at which workers fetch jobs and listen for them."""
        ...

    async def check_queue(self) -> None:
        """Raise ``UnsupportedStoreError`` if the queue is missing or outdated."""
        ...

    async def is_active(self, key: str) -> bool:
        """Return whether a task is active: a process runs it, or should."""
        ...

    async def requeue_lost(
        self, jobs: Mapping[tuple[str, str], Deferral], limit: int = 1000
    ) -> int:
        """Put active tasks back into the queue whose job is gone and whose process is dead, and
        return their number.

        ``jobs`` has the job of each skill, by surface and id.
        """
        ...

    async def take_back(self, skills: Collection[tuple[str, str]]) -> int:
        """Make queued tasks of these skills, by surface and id, ordinary orphans: no worker runs
        these skills any more. Return their number.
        """
        ...


class PushConfigStore(Protocol):
    """Push configurations of a task.

    For a task that does not exist, every call raises ``TaskNotFoundError``.
    """

    async def put_push_config(
        self,
        scope: TaskScope,
        wire_id: str,
        config: TaskPushNotificationConfig,
        dialect: str = CANONICAL.name,
        *,
        max_configs: int | None = None,
    ) -> TaskPushNotificationConfig:
        """Add a configuration, or replace the one of that id; an id is generated if there is none.

        More than ``max_configs`` are refused.

        Its notifications are written in ``dialect``. A failed configuration that is put again
        receives the events from then on.
        """
        ...

    async def get_push_config(
        self, scope: TaskScope, wire_id: str, config_id: str
    ) -> TaskPushNotificationConfig | None:
        """Read one configuration."""
        ...

    async def list_push_configs(
        self, scope: TaskScope, wire_id: str, page_size: int = 100, page_token: str = ""
    ) -> tuple[Sequence[TaskPushNotificationConfig], str]:
        """Load a page of configurations, ordered by id, and the token of the next page."""
        ...

    async def delete_push_config(self, scope: TaskScope, wire_id: str, config_id: str) -> bool:
        """Delete a configuration and its pending deliveries; return false if it did not exist."""
        ...

    async def list_push_failures(self, scope: TaskScope, wire_id: str) -> Mapping[str, PushFailure]:
        """Return the failed configurations, by id."""
        ...


class Outbox(Protocol):
    """Push deliveries: in order for each configuration, at least once.

    Every event of a task becomes a delivery for each configuration that the task has at that
    moment. A claim has a lease; when it has expired, the delivery is due again, and the outcome of
    the first claim is ignored. The methods that report an outcome return false for such a claim.
    """

    async def claim_due(
        self, lease_seconds: float, limit: int = 32, surfaces: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Claim deliveries that are due, at most one for each configuration, of all surfaces or of
        the given ones.
        """
        ...

    async def mark_delivered(self, delivery: Delivery) -> bool:
        """Remove a delivery that has arrived or was dropped."""
        ...

    async def retry(self, delivery: Delivery, after_seconds: float) -> bool:
        """Postpone a delivery."""
        ...

    async def mark_failed(self, delivery: Delivery, reason: str) -> bool:
        """Mark the configuration as failed: its pending deliveries are dropped, and later events
        are not delivered.
        """
        ...


class AdminStore(Protocol):
    """Calls for an operator, over all scopes."""

    async def list_scopes(self) -> Sequence[TaskScope]:
        """Return the scopes of all tasks and conversations."""
        ...

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a scope; return the number of tasks."""
        ...


@runtime_checkable
class Store(
    TaskStore,
    ContextStore,
    EventLog,
    RunStore,
    PushConfigStore,
    Outbox,
    AdminStore,
    CounterStore,
    Protocol,
):
    """Sum of all roles."""

    is_durable: bool  # acknowledged writes survive the death of the process
    # A task whose process is gone is run again, by another one or by the next start; otherwise it
    # fails.
    runs_again: bool
    # New tasks may come with their ids; otherwise the store generates them all.
    accepts_task_ids: bool

    def notifier(self) -> Notifier | None:
        """Create a notifier between the processes that share this store; ``None`` if only one
        process can use it.
        """
        ...

    async def open(self) -> None:
        """Prepare the store for its first call."""
        ...

    async def close(self) -> None:
        """Finish pending calls and release all resources."""
        ...

    async def delete_expired(self, limit: int = 100) -> int:
        """Delete a batch of what has expired, in one short transaction, and return its size; 0 if
        nothing is due.

        Tasks come first, except those with pending deliveries, then messages and contexts.
        """
        ...
