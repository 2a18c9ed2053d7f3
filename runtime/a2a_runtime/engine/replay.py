"""Replay of the records of earlier runs. Pure: no store, no clock.

A key identifies a question and its answer: the key of the handler, or ``#n`` for the n-th question
without one. Each question carries a fingerprint of the kind of answer that it expects. If a handler
expects another kind under the same key, the task fails: the recorded answer does not fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from math import inf

from msgspec import Struct, field
from msgspec.structs import asdict
from pydantic_core import from_json, to_json

from a2a_contract.base import JsonObject
from a2a_contract.v1_0 import Message
from a2a_runtime.base.clock import Clock
from a2a_runtime.base.origin import DEADLINE
from a2a_runtime.engine.signals import HandlerChangedError
from a2a_runtime.stores.models import RecordKind, ReplayRecord


def fingerprint(kind: str, schema: JsonObject | None) -> str:
    """Compute the fingerprint of an expected answer; the order of the keys of a schema makes no
    difference.
    """
    text = (
        f"{kind}\n{json.dumps(schema, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Replay:
    """Records of a task, with the position of one run in them."""

    def __init__(self, records: Sequence[ReplayRecord] = ()) -> None:
        self._records = {(record.kind, record.key): record for record in records}
        self._pending = {record.key for record in records if record.kind is RecordKind.ANSWER}
        self._question_count = 0

    @property
    def is_replaying(self) -> bool:
        """Return whether the run has not yet reached the last recorded answer: earlier runs have
        written its status texts until there.
        """
        return bool(self._pending)

    def next_key(self, explicit_key: str | None) -> str:
        """Return the key of the next question."""
        if explicit_key is not None:
            return explicit_key
        self._question_count += 1
        return f"#{self._question_count}"

    def find_answer(self, key: str, expected: str) -> Message | None:
        """Find the recorded answer to a question; ``None`` if there is none yet."""
        question = self._records.get((RecordKind.QUESTION, key))
        answer = self._records.get((RecordKind.ANSWER, key))
        if question is not None and question.fingerprint != expected:
            raise HandlerChangedError(
                f"handler changed: question {key} expected another kind of answer before"
            )
        self._pending.discard(key)
        if answer is None:
            return None
        return Message.model_validate_json(answer.body)

    def find_result(self, key: str) -> ReplayRecord | None:
        """Find the recorded result of ``ctx.once``."""
        return self._records.get((RecordKind.ONCE, key))

    def add_result(self, record: ReplayRecord) -> None:
        """Add a result of this run."""
        self._records[record.kind, record.key] = record


class RequestInfo(Struct, frozen=True, gc=False):
    """Request that started a task, without its message.

    It is recorded, so that a later run in another process has it too.
    """

    metadata: JsonObject = field(default_factory=dict[str, object])
    """The metadata of the request; the message has its own."""
    accepted_output_modes: Sequence[str] = ()
    """The media types that the caller accepts; none means all."""
    extensions: Sequence[str] = ()
    """The active extensions: requested by the caller and supported by the agent."""
    is_streaming: bool = False
    """True if the caller reads a stream, for skills that return less in chunks than at once."""
    caller: JsonObject = field(default_factory=dict[str, object])
    """The caller as later runs know them, see ``Caller.to_json``."""
    origin: JsonObject = field(default_factory=dict[str, object])
    """Where the request comes from, see ``Origin.to_record``."""

    @property
    def record(self) -> ReplayRecord | None:
        """The replay record of this request; ``None`` if it is empty."""
        if self is EMPTY_REQUEST_INFO:
            return None
        is_empty = not (
            self.metadata
            or self.accepted_output_modes
            or self.extensions
            or self.is_streaming
            or self.caller
            or self.origin
        )
        # Handlers may change the metadata, and later runs get what the client has sent.
        if self.metadata:
            return ReplayRecord(RecordKind.REQUEST, "", self.to_json())
        if is_empty:
            return None
        return RequestRecord(RecordKind.REQUEST, "", b"", info=self)

    def to_json(self) -> bytes:
        """Serialize the request for later runs."""
        return to_json(asdict(self))

    @classmethod
    def from_records(cls, records: Sequence[ReplayRecord]) -> RequestInfo:
        """Find the request among the records of a task."""
        for record in records:
            if type(record) is RequestRecord:
                return record.info
            if record.kind is RecordKind.REQUEST:
                return RequestInfo(
                    **{
                        name: value
                        for name, value in from_json(record.body).items()
                        if name in cls.__struct_fields__
                    }
                )
        return EMPTY_REQUEST_INFO


class RequestRecord(ReplayRecord, frozen=True, gc=False, kw_only=True):
    """Record of a request in the process that has accepted it.

    Its body is encoded where it is stored, and parsed by other processes only: both took 17 of the
    112 µs of a message with ``acceptedOutputModes``.
    """

    info: RequestInfo

    @property  # type: ignore[misc]  # read as the member of the class above
    def body(self) -> bytes:  # pyright: ignore[reportIncompatibleVariableOverride]  # as above
        """The request as JSON."""
        return self.info.to_json()

    @property
    def size_bytes(self) -> int:
        """The bytes of its lists, which clients fill."""
        return sum(map(len, self.info.accepted_output_modes)) + sum(map(len, self.info.extensions))


def find_deadline(
    timeout_seconds: float | None, info: RequestInfo, clock: Clock, *, has_answer: bool = False
) -> float:
    """Find the end of a run on the monotonic clock: the time limit of its skill, or that of a
    caller who waits for the task from its beginning.
    """
    now = clock.monotonic()
    limit = inf if timeout_seconds is None else timeout_seconds
    deadline = None if has_answer else info.origin.get(DEADLINE)
    if isinstance(deadline, int):
        limit = min(limit, (deadline - clock.millis()) / 1000)
    return now + limit


def has_answer(records: Sequence[ReplayRecord]) -> bool:
    """Return whether the caller of a task has answered a question of it."""
    return any(record.kind is RecordKind.ANSWER for record in records)


EMPTY_REQUEST_INFO = RequestInfo()

RETRY_MARKER = "a2a-gen/retries"
"""Key of the record with the number of runs that have raised."""


def count_failures(records: Sequence[ReplayRecord]) -> int:
    """Count the earlier runs that raised and were retried."""
    return next(
        (
            int(record.body)
            for record in records
            if (record.kind, record.key) == (RecordKind.ONCE, RETRY_MARKER)
        ),
        0,
    )
