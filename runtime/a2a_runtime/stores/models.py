"""Arguments and results of the store ports: frozen values that know no store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import overload

from msgspec import Struct, field

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Task, TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_datetime

MESSAGE_EVENT = b'{"message":'
"""Beginning of the event of a message of the client, which versions of the protocol without
generations do not show.
"""


class IdempotencyKey(Struct, frozen=True, gc=False):
    """Key of an idempotent request: the same request finds the same task, another request with this
    key is an error.

    It is unique within the scope and the conversation given by the client; ``context_id`` is empty
    when it named none. It is deleted with its task.
    """

    key: str
    request_hash: bytes
    context_id: str = ""


class Deferral(Struct, frozen=True, gc=False):
    """A job of a task for workers: it is put into a queue in the transaction of a creation or a
    change, and may be fetched after the delay.
    """

    queue: str
    priority: int = 0
    delay_seconds: float = 0.0


class NewTask(Struct, frozen=True, gc=False):
    """A task to be created, with its first message, which gets the ids of the task and of its
    conversation.
    """

    context_id: str
    message: Message
    skill: str
    dialect: str
    wire_id: str | None = None  # None: the store generates one
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    idempotency_key: IdempotencyKey | None = None
    process: str | None = None  # set: claimed by this process from the start, in epoch 1
    push_config: TaskPushNotificationConfig | None = None
    record: ReplayRecord | None = None  # found by every run
    # Skills that its caller may not use: its handler reads nothing of theirs.
    hidden_skills: Sequence[str] = ()
    max_open: int | None = None  # set: refused if the scope has as many tasks that have not ended
    deferral: Deferral | None = None  # workers run it; then it has no process
    limit_key: str = ""  # whose it is for the limits of a memory store; empty: of its scope


class Chunk(Struct, frozen=True, gc=False):
    """Parts of an artifact as JSON, and its other members (``facts``: the artifact without parts,
    or empty).

    It is encoded where the handler gives it away, so that nothing later fails on its content or
    sees it changed.
    """

    artifact_id: str
    facts: bytes
    parts: bytes


class ChunkWrite(Struct, frozen=True, gc=False):
    """A chunk for an artifact, appended to it or replacing its content.

    An appended chunk may also carry a name, a description, metadata (merged key by key) and
    extensions.
    """

    chunk: Chunk
    append: bool = False
    last_chunk: bool = False


class RecordKind(StrEnum):
    """Kinds of replay records."""

    QUESTION = "question"
    ANSWER = "answer"
    ONCE = "once"
    REQUEST = "request"


class ReplayRecord(Struct, frozen=True, gc=False):
    """A recorded question, answer, request or result that a later run replays; ``body`` is JSON.

    The same kind and key replace it.
    """

    kind: RecordKind
    key: str
    body: bytes
    fingerprint: str = ""

    @property
    def size_bytes(self) -> int:
        """The bytes that it takes in memory, about."""
        return len(self.body)


class TaskChange(Struct, frozen=True, gc=False):
    """One atomic change of a task. Fields that are ``None`` or empty change nothing.

    It appends events: one for each artifact, or in a batch one for each chunk, then one for the
    state, or without a state one for each message of the client. Several chunks of one artifact
    become one row. Messages already carry the ids of their task.
    """

    state: State | None = None
    status_message: Message | None = None  # sent with the state, ignored without one
    chunks: Sequence[ChunkWrite] = ()
    is_batch: bool = False
    messages: Sequence[Message] = ()
    metadata: Mapping[str, object] | None = None  # merged key by key, not in depth
    event_metadata: Mapping[str, object] | None = None  # only for the status event
    records: Sequence[ReplayRecord] = ()
    idempotency_key: IdempotencyKey | None = None  # a repeated change is not applied again
    expected_version: int | None = None
    expected_states: frozenset[State] | None = None
    epoch: int | None = None
    process: str | None = None  # with an epoch: the process of the run
    number: int | None = None  # with an epoch: the number of this write in its run, from 1
    release_claim: bool = False  # the process releases the task (suspended, handed over)
    deferral: Deferral | None = None  # workers run the task next, if it is active after the change


class TaskQuery(Struct, frozen=True, gc=False):
    """Filters, page and level of detail of a list of tasks."""

    context_id: str | None = None
    state: State | None = None
    changed_after: datetime | None = None  # inclusive
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    include_artifacts: bool = False
    by_creation: bool = False
    """Newest task first, instead of newest status.

    No index has this order: a page takes as long as the scope, or the context, has tasks.
    """
    hidden_skills: frozenset[str] = frozenset()
    """Skills whose tasks the reader may not see: they are neither listed nor counted."""

    @property
    def is_plain(self) -> bool:
        """Return whether the list has at most a filter by state: stores keep the numbers of these
        tasks, and count all others.
        """
        return self.context_id is None and self.changed_after is None and not self.hidden_skills

    @property
    def token_filters(self) -> tuple[object, ...]:
        """The filters of the client.

        A page token is bound to them, and not to the skills that its reader may see: these may
        change between pages.
        """
        return self.context_id, self.state, self.changed_after


class LoggedEvent(Struct, frozen=True, gc=False):
    """One event of a task: its number, its canonical StreamResponse as JSON, and the state of the
    task after it.

    The number is the generation of the task, which is that of its last change. Only the last event
    of a task has a terminal state: an artifact written by the same call precedes it, with the state
    before it.

    The mark is drawn for each write of a store that can fall back to an earlier state. Two events
    with the same number and different marks show a reader that the log has done so; 0 means that it
    is not known.
    """

    seq: int
    body: bytes
    state: State
    mark: int = 0

    @property
    def is_message(self) -> bool:
        """True for a message of the client to an active task; its body is that message, and the
        status of the task is unchanged.
        """
        return self.body.startswith(MESSAGE_EVENT)


class LateEvents(Sequence[LoggedEvent]):
    """Events that are encoded when the first of them is read, and never none: most tasks in memory
    end without a reader.
    """

    __slots__ = ("_encode", "_events")

    def __init__(self, encode: Callable[[], Sequence[LoggedEvent]]) -> None:
        self._encode = encode
        self._events: Sequence[LoggedEvent] | None = None

    def _read(self) -> Sequence[LoggedEvent]:
        if self._events is None:
            self._events = self._encode()
        return self._events

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._read())

    @overload
    def __getitem__(self, index: int) -> LoggedEvent: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LoggedEvent]: ...
    def __getitem__(self, index: int | slice) -> LoggedEvent | Sequence[LoggedEvent]:
        return self._read()[index]


class ChangeResult(Struct, frozen=True, gc=False):
    """Outcome of a change: the new version and state of the task, the number of its last event, and
    the appended events.

    Readers in this process need not load the events. Not ``is_new`` if the change had been applied
    before, under its idempotency key or its number in the run; then nothing was written.
    """

    version: int
    state: State
    last_seq: int
    events: Sequence[LoggedEvent] = ()
    is_new: bool = True
    stored: StoredTask | None = None  # the task after it, if the store knew that without reading


class StoredTask(Struct, frozen=True, gc=False):
    """A task at one moment, with the members that the protocol does not show."""

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
    status_at: int  # time of its status, in milliseconds
    task: Encoded[Task]
    hidden_skills: Sequence[str] = ()
    mark: int = 0  # of its last event

    @property
    def updated_at(self) -> datetime:
        """The time of its status."""
        return to_datetime(self.status_at)

    def to_event(self) -> LoggedEvent:
        """Build the event of the whole task, with the number of the last event that is in it."""
        return LoggedEvent(self.last_seq, b'{"task":%b}' % self.task.json, self.state, self.mark)


class TaskHead(Struct, frozen=True, gc=False):
    """The columns of a task that decide whether a change is allowed.

    ``process`` is set while its latest run is under way.
    """

    state: State
    version: int
    epoch: int
    process: str | None
    status_at: int
    writes: int = 0  # of the latest run
    last_seq: int = 0


class CreateResult(Struct, frozen=True, gc=False):
    """Outcome of creating a task; not ``is_new`` if its idempotency key already had one."""

    stored: StoredTask
    is_new: bool

    @property
    def events(self) -> Sequence[LoggedEvent]:
        """The first event of a new task."""
        if self.is_new:
            return (self.stored.to_event(),)
        return ()


class TaskPage(Struct, frozen=True, gc=False):
    """One page of tasks, newest status first.

    A task that changes in the meantime moves to the front; ``changed_after`` finds those.

    The total of a list that is not plain is counted for its first page; the page tokens carry it to
    the others.
    """

    tasks: Sequence[StoredTask]
    next_page_token: str
    total_size: int


class ClaimedRun(Struct, frozen=True, gc=False):
    """A claimed task as it is now, the records of its earlier runs, oldest first, and the number of
    those that crashed.
    """

    stored: StoredTask
    records: Sequence[ReplayRecord]
    crashes: int = 0

    @property
    def attempt(self) -> int:
        """Number of this run of the task, from 1."""
        return self.stored.epoch


class RunProgress(Struct, frozen=True, gc=False):
    """Epoch and number of writes of the latest run of a task."""

    epoch: int
    writes: int


class RenewedLease(Struct, frozen=True, gc=False):
    """The claims of a process when its lease was renewed: active tasks by their keys, with the
    progress of their runs.
    """

    claimed: Mapping[str, RunProgress]
    cancel_requested: Sequence[str]  # those of them that are to be canceled


class PushFailure(Struct, frozen=True, gc=False):
    """Time and reason of the failure of a configuration; the reason may be shown to the client that
    made it.
    """

    at: datetime
    reason: str


class Delivery(Struct, frozen=True, gc=False):
    """One webhook call that is due: event, configuration, dialect, and the number of attempts, this
    one included.
    """

    id: int
    attempts: int
    config: TaskPushNotificationConfig
    dialect: str
    event: LoggedEvent
    stored: StoredTask
