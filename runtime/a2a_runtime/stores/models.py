"""What goes into a store and what comes out of it: plain frozen values, which know no store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Task, TaskPushNotificationConfig
from a2a_runtime.caller import TaskScope
from a2a_runtime.structs import struct


@struct
class IdempotencyKey:
    """A promise to do something once: the same key with the same request stands for the same task, with another request it is an error.

    The key is unique within the scope and the conversation that the client named; ``context_id`` is empty when it named none. It lives as long as its
    task.
    """

    key: str
    request_hash: bytes
    context_id: str = ""


@struct
class NewTask:
    """A task to be created, with the message that asks for it; the message gets the ids of the task and its conversation."""

    context_id: str
    message: Message
    skill: str
    dialect: str
    wire_id: str | None = None  # None: the store makes one
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    idempotency_key: IdempotencyKey | None = None
    process: str | None = None  # set: created as claimed by that process, in epoch 1
    push_config: TaskPushNotificationConfig | None = None
    record: ReplayRecord | None = None  # what every run is to find


@struct
class ArtifactWrite:
    """Parts for one artifact: appended to it, or in place of what it held.

    An appended chunk may bring a name, a description, metadata (merged key by key) and extensions too.
    """

    artifact: Artifact
    append: bool = False
    last_chunk: bool = False


class RecordKind(StrEnum):
    """What a run remembers for the next one."""

    QUESTION = "question"
    ANSWER = "answer"
    ONCE = "once"
    REQUEST = "request"


@struct
class ReplayRecord:
    """Something that a re-run must find again instead of doing it twice; ``body`` is JSON. One of the same kind and key takes its place."""

    kind: RecordKind
    key: str
    body: bytes
    fingerprint: str = ""


@struct
class TaskChange:
    """One atomic change of a task. What is ``None`` or empty stays as it is.

    Events follow from it: one per artifact, then one for the state. Several writes to one artifact become one. Messages carry their task's ids
    already.
    """

    state: State | None = None
    status_message: Message | None = None  # goes with the state, ignored without one
    artifacts: Sequence[ArtifactWrite] = ()
    messages: Sequence[Message] = ()
    metadata: Mapping[str, object] | None = None  # merged key by key, not in depth
    event_metadata: Mapping[str, object] | None = None  # goes with the status event only
    records: Sequence[ReplayRecord] = ()
    idempotency_key: IdempotencyKey | None = None  # a repeated change is not made again
    expected_version: int | None = None
    expected_states: frozenset[State] | None = None
    epoch: int | None = None
    release_claim: bool = False  # the process gives the task up (parked, handed over)


@struct
class TaskQuery:
    """Which tasks to list: filters, page, and how much of each."""

    context_id: str | None = None
    state: State | None = None
    changed_after: datetime | None = None  # that moment included
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    include_artifacts: bool = False


@struct
class LoggedEvent:
    """One event of a task: its number, its canonical StreamResponse as JSON, and the state the task was in after it.

    Only the very last event of a task carries a terminal state: an artifact written by the same call comes before it, with the state before it.
    """

    seq: int
    body: bytes
    state: State
    stored: StoredTask | None = field(default=None, compare=False, repr=False)  # the task after it, where its writer knew that without a look


@struct
class ChangeResult:
    """What a change made of the task: its new version, its state, and the events it appended, so that readers in this process need no second look.

    Not ``is_new`` when the change had been made before under its idempotency key; nothing was written then.
    """

    version: int
    state: State
    events: Sequence[LoggedEvent]
    is_new: bool = True


@struct
class StoredTask:
    """A task as it was at one moment, with what the protocol does not show."""

    key: str
    wire_id: str
    context_id: str
    scope: TaskScope
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


@struct
class CreateResult:
    """The task that a create call stands for; not ``is_new`` when its idempotency key had one already."""

    stored: StoredTask
    is_new: bool
    events: Sequence[LoggedEvent] = ()


@struct
class TaskPage:
    """One page of tasks, newest status first. A task that changes meanwhile moves to the front, before the page; ``changed_after`` finds those."""

    tasks: Sequence[StoredTask]
    next_page_token: str
    total_size: int


@struct
class ClaimedRun:
    """What a runner needs to run a task's handler: the task as it is, and what earlier runs recorded, oldest first."""

    stored: StoredTask
    records: Sequence[ReplayRecord]

    @property
    def attempt(self) -> int:
        """Which run of the task this is, from 1."""
        return self.stored.epoch


@struct
class PushFailure:
    """Since when a configuration hears nothing any more, and why; the reason may be shown to whoever made the configuration."""

    at: datetime
    reason: str


@struct
class Delivery:
    """One webhook call that is due: the event, where it goes and in which dialect, and how often it was tried, this time included."""

    id: int
    attempts: int
    config: TaskPushNotificationConfig
    dialect: str
    event: LoggedEvent
    stored: StoredTask
