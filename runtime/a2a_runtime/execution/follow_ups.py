"""Messages to a task that exists.

    the task is …     the message is …
    parked            the answer to what it asks: recorded with the new state and its event in one call; then the handler runs again
    active            added to its history, where a handler sees it that looks
    ended             refused

A message that comes with an idempotency key is taken once. Whoever repeats it gets the task as it has become since, also when it has ended.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.caller import TaskScope
from a2a_runtime.errors import (
    ConcurrencyError,
    ContextMismatchError,
    StoreUnavailableError,
    TaskNotAcceptingMessagesError,
    TaskStateError,
    TaskTerminalError,
)
from a2a_runtime.execution.context import parse_question_key
from a2a_runtime.execution.runner import Runner
from a2a_runtime.execution.writer import EventPublisher
from a2a_runtime.lifecycle import ACTIVE, INTERRUPTED, accepts_messages, is_terminal
from a2a_runtime.stores.base import IdempotencyKey, RecordKind, ReplayRecord, StoredTask, TaskChange, TaskStore
from a2a_runtime.structs import struct

_MAX_ATTEMPTS = 8
_CONTEXT_MISMATCH = (f"message.{Message.wire_name('context_id')}", "is not the conversation of the task; leave it out, or send the task's own")


@struct
class AcceptedMessage:
    """A message that is now part of a task: the task as it was found, and the number of the last event that belongs to the message."""

    stored: StoredTask
    cursor: int
    is_new: bool = True


class TaskLoader(Protocol):
    """Reads tasks."""

    async def load(self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
        """Read a task, or raise that there is none."""
        ...


class FollowUpMessages:
    """Takes messages for existing tasks."""

    def __init__(self, loader: TaskLoader, store: TaskStore, publisher: EventPublisher, runner: Runner) -> None:
        self._loader, self._store, self._publisher, self._runner = loader, store, publisher, runner

    async def accept(self, scope: TaskScope, wire_id: str, message: Message, idempotency: IdempotencyKey | None = None) -> AcceptedMessage:
        """Give a message to a task, in the state in which it is found; look again when that has changed meanwhile."""
        for _ in range(_MAX_ATTEMPTS):
            stored = await self._loader.load(scope, wire_id, 0, include_artifacts=False)
            said = message.model_copy(update={"task_id": stored.wire_id, "context_id": stored.context_id})
            try:
                check_follow_up(stored, message)
            except TaskStateError:
                if idempotency is None or not await self._is_repeated(stored, said, idempotency):
                    raise
                return AcceptedMessage(stored, stored.last_seq, is_new=False)
            try:
                return await self._accept_in_state(stored, said, idempotency)
            except ConcurrencyError:
                continue
        raise ConcurrencyError

    async def _accept_in_state(self, stored: StoredTask, message: Message, idempotency: IdempotencyKey | None) -> AcceptedMessage:
        is_active = stored.state in ACTIVE
        change = TaskChange(messages=(message,), expected_states=ACTIVE) if is_active else build_answer_change(stored, message)
        written = await self._store.update_task(stored.scope, stored.key, replace(change, idempotency_key=idempotency))
        if is_active or not written.is_new:
            return AcceptedMessage(stored, stored.last_seq, is_new=written.is_new)
        self._publisher.publish(stored.key, written.events)
        with suppress(StoreUnavailableError):  # the answer is recorded: the next sweep finds the task
            await self._runner.resume(stored.key)
        return AcceptedMessage(stored, written.events[-1].seq)

    async def _is_repeated(self, stored: StoredTask, message: Message, idempotency: IdempotencyKey) -> bool:
        """Ask the store whether it knows the key: it looks at that before anything else, and at the state, which does not fit, afterwards."""
        change = TaskChange(messages=(message,), expected_states=ACTIVE, idempotency_key=idempotency)
        try:
            return not (await self._store.update_task(stored.scope, stored.key, change)).is_new
        except ConcurrencyError:
            return False


def check_follow_up(stored: StoredTask, message: Message) -> None:
    """Raise what speaks against a message to this task."""
    if message.context_id and message.context_id != stored.context_id:
        raise ContextMismatchError(fields=(_CONTEXT_MISMATCH,))
    if is_terminal(stored.state):
        raise TaskTerminalError(f"The task has ended ({stored.state.name})")
    if not accepts_messages(stored.state):
        raise TaskNotAcceptingMessagesError


def build_answer_change(stored: StoredTask, message: Message) -> TaskChange:
    """Work out what an answer changes: the question goes from the status into the history, the answer follows, and the task waits to be begun."""
    question = stored.task.model.status.message
    record = ReplayRecord(RecordKind.ANSWER, parse_question_key(question), message.to_json())
    said = (message,) if question is None else (question, message)
    return TaskChange(state=State.SUBMITTED, messages=said, records=(record,), expected_states=INTERRUPTED, expected_version=stored.version)
