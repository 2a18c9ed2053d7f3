"""Messages to an existing task.

    the task is …     the message is …
    suspended         the answer to its question: recorded with the new state and its event in one commit; then the handler runs again
    active            added to its history, where its handler can read it
    ended             refused

A message with an idempotency key is accepted once. A repetition returns the task in its present state, also when it has ended.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from a2a_contract.errors import TaskNotFoundError
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
    """A message that is part of a task: the task as it was found, and the number of the last event that belongs to the message."""

    stored: StoredTask
    cursor: int
    is_new: bool = True


class FollowUpMessages:
    """Accepts messages for existing tasks."""

    def __init__(self, store: TaskStore, publisher: EventPublisher, runner: Runner) -> None:
        self._store, self._publisher, self._runner = store, publisher, runner

    async def accept(self, scope: TaskScope, wire_id: str, message: Message, idempotency_key: IdempotencyKey | None = None) -> AcceptedMessage:
        """Add a message to a task in its present state; retry if the state changes at the same moment."""
        for _ in range(_MAX_ATTEMPTS):
            stored = await self._store.load_task(scope, wire_id, 0, include_artifacts=False)
            if stored is None:
                raise TaskNotFoundError(details={"task_id": wire_id})
            bound = message.model_copy(update={"task_id": stored.wire_id, "context_id": stored.context_id})
            try:
                check_follow_up(stored, message)
            except TaskStateError:
                if idempotency_key is None or not await self._is_repeated(stored, bound, idempotency_key):
                    raise
                return AcceptedMessage(stored, stored.last_seq, is_new=False)
            with suppress(ConcurrencyError):
                return await self._accept_in_state(stored, bound, idempotency_key)
        raise ConcurrencyError

    async def _accept_in_state(self, stored: StoredTask, message: Message, idempotency_key: IdempotencyKey | None) -> AcceptedMessage:
        is_active = stored.state in ACTIVE
        change = TaskChange(messages=(message,), expected_states=ACTIVE) if is_active else build_answer_change(stored, message)
        result = await self._store.update_task(stored.scope, stored.key, replace(change, idempotency_key=idempotency_key))
        if is_active or not result.is_new:
            return AcceptedMessage(stored, stored.last_seq, is_new=result.is_new)
        self._publisher.publish(stored.key, result.events)
        with suppress(StoreUnavailableError):  # the answer is recorded: the next orphan scan finds the task
            await self._runner.resume(stored.key)
        return AcceptedMessage(stored, result.events[-1].seq)

    async def _is_repeated(self, stored: StoredTask, message: Message, idempotency_key: IdempotencyKey) -> bool:
        """Look up an idempotency key with a change that the store refuses: it checks the key before the state."""
        change = TaskChange(messages=(message,), expected_states=ACTIVE, idempotency_key=idempotency_key)
        try:
            return not (await self._store.update_task(stored.scope, stored.key, change)).is_new
        except ConcurrencyError:
            return False


def check_follow_up(stored: StoredTask, message: Message) -> None:
    """Raise if a task cannot accept a message."""
    if message.context_id and message.context_id != stored.context_id:
        raise ContextMismatchError(fields=(_CONTEXT_MISMATCH,))
    if is_terminal(stored.state):
        raise TaskTerminalError(f"The task has ended ({stored.state.name})")
    if not accepts_messages(stored.state):
        raise TaskNotAcceptingMessagesError


def build_answer_change(stored: StoredTask, message: Message) -> TaskChange:
    """Build the change of an answer: question and answer go into the history, and the task waits to be run."""
    question = stored.task.model.status.message
    record = ReplayRecord(RecordKind.ANSWER, parse_question_key(question), message.to_json())
    messages = (message,) if question is None else (question, message)
    return TaskChange(state=State.SUBMITTED, messages=messages, records=(record,), expected_states=INTERRUPTED, expected_version=stored.version)
