"""What earlier runs of a task have recorded, and what this run may therefore skip. Pure: no store, no clock.

Questions and answers are found by their key: the handler's own, or ``#n`` for the n-th question without one. Each question carries a fingerprint
of what kind of answer it wants; when a handler asks for something else under the same key, the answer on record is not an answer to it, and the
task fails instead of going on with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter
from pydantic_core import to_json

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import Message
from a2a_runtime.execution.signals import HandlerChangedError
from a2a_runtime.stores.base import RecordKind, ReplayRecord


def fingerprint(kind: str, schema: JsonObject | None) -> str:
    """Sum up what kind of answer is wanted; the order of a schema's keys makes no difference."""
    text = kind.encode() + b"\n" + to_json(_sort_keys(schema))
    return hashlib.sha256(text).hexdigest()[:16]


@dataclass(slots=True)
class Replay:
    """The records of a task, as one run goes through them."""

    questions: dict[str, str] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)
    _question_count: int = 0
    _pending: set[str] = field(default_factory=set)

    @classmethod
    def from_records(cls, records: Sequence[ReplayRecord]) -> Replay:
        """Sort records by what they are."""
        replay = cls()
        for record in records:
            match record.kind:
                case RecordKind.QUESTION:
                    replay.questions[record.key] = record.fingerprint
                case RecordKind.ANSWER:
                    replay.answers[record.key] = record.body
                case RecordKind.ONCE:
                    replay.results[record.key] = record.body
                case RecordKind.REQUEST:
                    pass  # not something that a run has done
        replay._pending = set(replay.answers)
        return replay

    @property
    def is_replaying(self) -> bool:
        """Whether the run has yet to come to the last recorded answer: what it says until then was said before."""
        return bool(self._pending)

    def next_key(self, explicit_key: str | None) -> str:
        """Name the question that is asked now."""
        if explicit_key is not None:
            return explicit_key
        self._question_count += 1
        return f"#{self._question_count}"

    def find_answer(self, key: str, expected: str) -> Message | None:
        """Find the recorded answer to a question; ``None`` when it is still to be asked."""
        asked = self.questions.get(key)
        if asked is not None and asked != expected:
            raise HandlerChangedError(f"handler changed: question {key} was asked for another kind of answer before")
        body = self.answers.get(key)
        if body is None:
            return None
        self._pending.discard(key)
        return Message.model_validate_json(body)


def _sort_keys(value: object) -> object:
    if is_json_object(value):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    if is_json_array(value):
        return [_sort_keys(item) for item in value]
    return value


# What a request says beside its message: a handler may want to know, also when it runs again in another process.


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The request that began the work, without the message and without what the runtime sees to itself."""

    metadata: JsonObject = field(default_factory=dict[str, object])
    """The metadata of the request; that of the message is the message's."""
    accepted_output_modes: Sequence[str] = ()
    """The media types that the caller can take; none means all."""
    extensions: Sequence[str] = ()
    """The extensions that the caller has asked for and the agent has: those that are in effect."""

    @property
    def record(self) -> ReplayRecord | None:
        """Write it down for every run of the task; nothing where there is nothing to say."""
        return (
            ReplayRecord(RecordKind.REQUEST, "", _REQUEST_INFO.dump_json(self))
            if self.metadata or self.accepted_output_modes or self.extensions
            else None
        )

    @classmethod
    def from_records(cls, records: Sequence[ReplayRecord]) -> RequestInfo:
        """Find it among the records of a task."""
        body = next((record.body for record in records if record.kind is RecordKind.REQUEST), None)
        return EMPTY_REQUEST_INFO if body is None else _REQUEST_INFO.validate_json(body)


_REQUEST_INFO = TypeAdapter(RequestInfo)
EMPTY_REQUEST_INFO = RequestInfo()
