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
from a2a_runtime.caller import Scope
from a2a_runtime.errors import (
    ConcurrencyError,
    ContextMismatchError,
    StoreUnavailableError,
    TaskNotAcceptingMessagesError,
    TaskStateError,
    TaskTerminalError,
)
from a2a_runtime.execution.context import question_key
from a2a_runtime.execution.runner import Runner
from a2a_runtime.execution.writer import Teller
from a2a_runtime.lifecycle import ACTIVE, INTERRUPTED, accepts_messages, is_terminal
from a2a_runtime.stores.base import Change, Idempotency, Record, RecordKind, StoredTask, TaskStore
from a2a_runtime.structs import value

_TRIES = 8
_CONTEXT = (f"message.{Message.wire_name('context_id')}", "is not the conversation of the task; leave it out, or send the task's own")


@value
class Accepted:
    """A message that is now part of a task: the task as it was found, and the number of the last event that belongs to the message."""

    stored: StoredTask
    cursor: int
    is_new: bool = True


class Loader(Protocol):
    """Reads tasks."""

    async def load(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
        """Read a task, or raise that there is none."""
        ...


class FollowUps:
    """Takes messages for existing tasks."""

    def __init__(self, loader: Loader, store: TaskStore, teller: Teller, runner: Runner) -> None:
        self._loader, self._store, self._teller, self._runner = loader, store, teller, runner

    async def take(self, scope: Scope, wire_id: str, message: Message, idempotency: Idempotency | None = None) -> Accepted:
        """Give a message to a task, in the state in which it is found; look again when that has changed meanwhile."""
        for _ in range(_TRIES):
            stored = await self._loader.load(scope, wire_id, 0, include_artifacts=False)
            said = message.model_copy(update={"task_id": stored.wire_id, "context_id": stored.context_id})
            try:
                refuse(stored, message)
            except TaskStateError:
                if idempotency is None or not await self._was_taken(stored, said, idempotency):
                    raise
                return Accepted(stored, stored.last_seq, is_new=False)
            try:
                return await self._take(stored, said, idempotency)
            except ConcurrencyError:
                continue
        raise ConcurrencyError

    async def _take(self, stored: StoredTask, message: Message, idempotency: Idempotency | None) -> Accepted:
        is_active = stored.state in ACTIVE
        change = Change(messages=(message,), expected_states=ACTIVE) if is_active else answer(stored, message)
        written = await self._store.update_task(stored.scope, stored.key, replace(change, idempotency=idempotency))
        if is_active or not written.is_new:
            return Accepted(stored, stored.last_seq, is_new=written.is_new)
        self._teller.tell(stored.key, written.events)
        with suppress(StoreUnavailableError):  # the answer is recorded: the next sweep finds the task
            await self._runner.resume(stored.key)
        return Accepted(stored, written.events[-1].seq)

    async def _was_taken(self, stored: StoredTask, message: Message, idempotency: Idempotency) -> bool:
        """Ask the store whether it knows the key: it looks at that before anything else, and at the state, which does not fit, afterwards."""
        change = Change(messages=(message,), expected_states=ACTIVE, idempotency=idempotency)
        try:
            return not (await self._store.update_task(stored.scope, stored.key, change)).is_new
        except ConcurrencyError:
            return False


def refuse(stored: StoredTask, message: Message) -> None:
    """Raise what speaks against a message to this task."""
    if message.context_id and message.context_id != stored.context_id:
        raise ContextMismatchError(fields=(_CONTEXT,))
    if is_terminal(stored.state):
        raise TaskTerminalError(f"The task has ended ({stored.state.name})")
    if not accepts_messages(stored.state):
        raise TaskNotAcceptingMessagesError


def answer(stored: StoredTask, message: Message) -> Change:
    """Work out what an answer changes: the question goes from the status into the history, the answer follows, and the task waits to be begun."""
    question = stored.task.model.status.message
    record = Record(RecordKind.ANSWER, question_key(question), message.to_json())
    said = (message,) if question is None else (question, message)
    return Change(state=State.SUBMITTED, messages=said, records=(record,), expected_states=INTERRUPTED, expected_version=stored.version)
