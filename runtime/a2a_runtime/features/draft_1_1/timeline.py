"""Generations of a task: its timeline, the spans of its artifacts, and the numbers of its events,
read from its log. Pure.

The log has what the protocol calls generations: the number of an event is the generation of the
task after it.

    event of the log         in the timeline                    on the wire, with its generation
    1, the task              first message, first status        the task, without one
    a status                 the status, after the message      the status
                             that it answers, if there is one
    a message of the client  the message                        the status at that time
    an artifact, or a chunk  nothing; a span of the artifact    the artifact, also with its span
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic_core import from_json, to_json

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.lifecycle import INITIAL, TERMINAL
from a2a_contract.v1_0 import Role, TaskStatus
from a2a_contract.v1_1_draft import (
    Artifact,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

JsonMembers = dict[str, object]

_TASK = "task"
_MESSAGE = "message"
_STATUS_UPDATE, _ARTIFACT_UPDATE = (
    StreamResponse.wire_name(name) for name in ("status_update", "artifact_update")
)
_GENERATION = Task.wire_name("generation")
_TIMELINE = Task.wire_name("timeline")
_ARTIFACTS = Task.wire_name("artifacts")
_HISTORY = Task.wire_name("history")
_STATUS = TaskStatusUpdateEvent.wire_name("status")
_ARTIFACT_ID, _START, _END = (
    Artifact.wire_name(name) for name in ("artifact_id", "start_generation", "end_generation")
)
_ARTIFACT = TaskArtifactUpdateEvent.wire_name("artifact")
_LAST_CHUNK = TaskArtifactUpdateEvent.wire_name("last_chunk")
_APPEND = TaskArtifactUpdateEvent.wire_name("append")
_STATE = TaskStatus.wire_name("state")
_TASK_ID = TaskStatusUpdateEvent.wire_name("task_id")
_CONTEXT_ID = TaskStatusUpdateEvent.wire_name("context_id")


@dataclass(slots=True)
class ArtifactSpan:
    """The generations of an artifact: of the chunk that its content begins with, of its newest
    chunk, and whether that one is its last.
    """

    start: int
    newest: int
    is_complete: bool


class TaskRecord:
    """The state of a task that its events add up to."""

    def __init__(self, history: Iterable[object] = (), status: JsonMembers | None = None) -> None:
        """Begin before an event; ``history`` has the messages of the task, of which those with a
        change of state are no events.
        """
        self._messages = iter(
            [
                each
                for each in history
                if is_json_object(each) and each.get("role") == Role.USER.value
            ]
        )
        self._entries: list[JsonMembers] = []
        self._spans: dict[str, ArtifactSpan] = {}
        self._status: JsonMembers = status or {}
        self.generation = 0

    @property
    def timeline(self) -> Sequence[JsonMembers]:
        """The entries, the oldest first."""
        return self._entries

    def add(self, seq: int, event: bytes) -> JsonMembers:
        """Add the next event, and return it as the protocol shows it."""
        body: JsonMembers = from_json(event)
        self.generation = seq
        if _MESSAGE in body:
            next(self._messages, None)
            self._enter(_MESSAGE, body[_MESSAGE])
            return self._show_message(body[_MESSAGE])
        if is_json_object(task := body.get(_TASK)):
            self._status = _to_object(task.get(_STATUS))
            self._enter_client_message()
            self._enter(_STATUS, self._status)
            return {_TASK: self.show_task(task)}
        if is_json_object(update := body.get(_STATUS_UPDATE)):
            self._status = _to_object(update.get(_STATUS))
            if self._status.get(_STATE) in TERMINAL:
                self._close_spans()
            # A task comes back to its first state by an answer of the client only.
            if self._status.get(_STATE) == INITIAL:
                self._enter_client_message()
            self._enter(_STATUS, self._status)
            return {_STATUS_UPDATE: {**update, _GENERATION: seq}}
        update = _to_object(body.get(_ARTIFACT_UPDATE))
        artifact = _to_object(update.get(_ARTIFACT))
        self._extend_span(str(artifact.get(_ARTIFACT_ID)), update)
        return {
            _ARTIFACT_UPDATE: {**update, _ARTIFACT: self._show_artifact(artifact), _GENERATION: seq}
        }

    def show_task(
        self, task: Mapping[str, object], timeline_length: int | None = None
    ) -> JsonMembers:
        """Return a task at this point with its generation, its timeline and the spans of its
        artifacts.
        """
        members = {**task, _GENERATION: self.generation}
        if is_json_array(artifacts := task.get(_ARTIFACTS)):
            members[_ARTIFACTS] = [self._show_artifact(_to_object(each)) for each in artifacts]
        if entries := limit_newest(self._entries, timeline_length):
            members[_TIMELINE] = entries
        return members

    def _close_spans(self) -> None:
        """The task has ended: no artifact grows any more."""
        for span in self._spans.values():
            span.is_complete = True

    def _enter_client_message(self) -> None:
        message = next(self._messages, None)
        if message is not None:
            self._enter(_MESSAGE, message)

    def _enter(self, kind: str, content: object) -> None:
        self._entries.append({kind: content, _GENERATION: self.generation})

    def _show_message(self, message: object) -> JsonMembers:
        ids = {
            name: value
            for name, value in _to_object(message).items()
            if name in {_TASK_ID, _CONTEXT_ID}
        }
        return {_STATUS_UPDATE: {**ids, _STATUS: self._status, _GENERATION: self.generation}}

    def _extend_span(self, artifact_id: str, update: Mapping[str, object]) -> None:
        span = self._spans.get(artifact_id)
        if not update.get(_APPEND):
            span = self._spans[artifact_id] = ArtifactSpan(
                self.generation, self.generation, is_complete=False
            )
        if span is None:  # it begins in a part of the log that is no longer kept
            return
        span.newest = self.generation
        span.is_complete = bool(update.get(_LAST_CHUNK))

    def _show_artifact(self, artifact: Mapping[str, object]) -> JsonMembers:
        span = self._spans.get(str(artifact.get(_ARTIFACT_ID)))
        if span is None:
            return {**artifact}
        rendered = {**artifact, _START: span.start}
        if span.is_complete:
            rendered[_END] = span.newest
        return rendered


def limit_newest(entries: Sequence[object], length: int | None) -> list[object]:
    """Return the newest entries of a list: all if the length is ``None``."""
    if length is None:
        return [*entries]
    return [*entries[len(entries) - min(length, len(entries)) :]]


def limit_history(task: JsonMembers, length: int | None) -> JsonMembers:
    """Return a task with the newest messages of its history."""
    history = task.get(_HISTORY)
    if length is None or not is_json_array(history):
        return task
    limited = {**task}
    if newest := limit_newest(history, length):
        limited[_HISTORY] = newest
    else:
        del limited[_HISTORY]
    return limited


def read_history(task: bytes) -> Sequence[object]:
    """Return the messages in the JSON of a task."""
    history = _to_object(from_json(task)).get(_HISTORY)
    if is_json_array(history):
        return history
    return ()


def number_event(seq: int, event: bytes, status: JsonMembers) -> bytes:
    """Show an event alone, for a reader without the log before it; ``status`` is that of the task
    at that time.
    """
    task = _to_object(from_json(event)).get(_TASK)
    return render(TaskRecord(read_history(render(_to_object(task))), status).add(seq, event))


def render(members: Mapping[str, object]) -> bytes:
    """Serialize a task or an event."""
    return to_json(members)


def _to_object(value: object) -> JsonMembers:
    if is_json_object(value):
        return value
    return {}
