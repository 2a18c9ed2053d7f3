"""Messages to an existing task.

    the task is …     the message is …
    suspended         the answer to its question: recorded with the new state and its event
                      in one commit; then the handler runs again
    active            added to its history, where its handler takes it,
                      if its skill accepts messages; else refused
    ended             refused

A message with an idempotency key is accepted once. A repetition returns the task in its present
state, also when it has ended.
"""

from __future__ import annotations

from msgspec import Struct

from a2a_contract.errors import TaskGenerationMismatchError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.base.lifecycle import ACTIVE, INTERRUPTED, accepts_messages, is_active, is_terminal
from a2a_runtime.engine.handlers.questions import parse_question_key
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.errors import (
    ConcurrencyError,
    ContextMismatchError,
    TaskNotAcceptingMessagesError,
    TaskTerminalError,
)
from a2a_runtime.stores.base import TaskStore
from a2a_runtime.stores.models import (
    IdempotencyKey,
    RecordKind,
    ReplayRecord,
    StoredTask,
    TaskChange,
)

_NO_VERSION = 0
"""No task has this version."""
_CONTEXT_MISMATCH = (
    f"message.{Message.wire_name('context_id')}",
    "is not the conversation of the task; leave it out, or send the task's own",
)


class AcceptedMessage(Struct, frozen=True, gc=False):
    """A message that is part of a task: the task as it was found, and number and mark of the last
    event that belongs to the message.
    """

    stored: StoredTask
    cursor: int
    mark: int = 0
    is_new: bool = True


def check_follow_up(stored: StoredTask, message: Message, skill: Skill | None) -> None:
    """Raise if a task cannot accept a message."""
    if message.context_id and message.context_id != stored.context_id:
        raise ContextMismatchError(fields=(_CONTEXT_MISMATCH,))
    if is_terminal(stored.state):
        raise TaskTerminalError(f"The task has ended ({stored.state.name})")
    if not accepts_messages(stored.state):
        raise TaskNotAcceptingMessagesError
    if is_active(stored.state) and (skill is None or not skill.accepts_messages):
        raise TaskNotAcceptingMessagesError(
            f"The task is {stored.state.name}, and its skill accepts no messages until it asks"
        )


def check_generation(stored: StoredTask, generation: int | None) -> None:
    """Raise if a task is not at the generation that a message names."""
    if generation not in {None, stored.last_seq}:
        raise TaskGenerationMismatchError(
            (
                f"The task is at generation {stored.last_seq}, not {generation}; read it, and "
                "send the message again if it still applies"
            ),
            details={
                "task_id": stored.wire_id,
                "expected_generation": str(generation),
                "current_generation": str(stored.last_seq),
            },
        )


def check_authorization(stored: StoredTask, key: str) -> None:
    """Raise if a task does not wait for the authorization of a key, such as a second time."""
    if (
        stored.state is not State.AUTH_REQUIRED
        or parse_question_key(stored.task.model.status.message) != key
    ):
        raise TaskNotAcceptingMessagesError(f"The task does not wait for the authorization {key}")


def build_answer_change(stored: StoredTask, message: Message) -> TaskChange:
    """Build the change of an answer: question and answer go into the history, and the task waits to
    be run.
    """
    question = stored.task.model.status.message
    record = ReplayRecord(RecordKind.ANSWER, parse_question_key(question), message.to_json())
    messages = (message,) if question is None else (question, message)
    return TaskChange(
        state=State.SUBMITTED,
        messages=messages,
        records=(record,),
        expected_states=INTERRUPTED,
        expected_version=stored.version,
    )


async def is_repeated(
    store: TaskStore, stored: StoredTask, message: Message, idempotency_key: IdempotencyKey
) -> bool:
    """Look up an idempotency key with a change that the store refuses: it checks the key before the
    state.
    """
    change = TaskChange(
        messages=(message,),
        expected_states=ACTIVE,
        expected_version=_NO_VERSION,
        idempotency_key=idempotency_key,
    )
    try:
        return not (await store.update_task(stored.scope, stored.key, change)).is_new
    except ConcurrencyError:
        return False
