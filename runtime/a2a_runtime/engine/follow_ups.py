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

import asyncio
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from a2a_contract.errors import TaskGenerationMismatchError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.lifecycle import ACTIVE, INTERRUPTED, accepts_messages, is_active, is_terminal
from a2a_runtime.engine.background import BackgroundTasks
from a2a_runtime.engine.dependencies import RunDependencies
from a2a_runtime.engine.handlers.questions import parse_question_key
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.readers import TaskReaders
from a2a_runtime.engine.runner import InProcessRunner
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.errors import (
    ConcurrencyError,
    ContextMismatchError,
    StoreUnavailableError,
    TaskNotAcceptingMessagesError,
    TaskStateError,
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

_MAX_ATTEMPTS = 8
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


class FollowUps:
    """Adds messages to the tasks of an engine."""

    def __init__(
        self,
        dependencies: RunDependencies,
        skills: Skills,
        readers: TaskReaders,
        runner: InProcessRunner,
        background: BackgroundTasks,
    ) -> None:
        self._store = dependencies.store
        self._hub = dependencies.hub
        self._settings = dependencies.settings
        self._skills = skills
        self._readers = readers
        self._runner = runner
        self._background = background

    async def send(
        self,
        scope: TaskScope,
        wire_id: str,
        message: Message,
        idempotency_key: IdempotencyKey | None = None,
        authorization: str | None = None,
        if_last_seq: int | None = None,
    ) -> AcceptedMessage:
        """Add a message to a task in its present state; retry if the state changes."""
        conflicts: tuple[type[Exception], ...] = (ConcurrencyError,)
        if if_last_seq is not None:
            # A task that has changed is read again, and has a later event: that is the error then.
            conflicts = (ConcurrencyError, TaskStateError)
        for _ in range(_MAX_ATTEMPTS):
            stored = await self._readers.load(scope, wire_id, 0, include_artifacts=False)
            bound = message.model_copy(
                update={"task_id": stored.wire_id, "context_id": stored.context_id}
            )
            if authorization is not None:
                check_authorization(stored, authorization)
            try:
                check_last_seq(stored, if_last_seq)
                check_follow_up(stored, message, self._skills.find(scope.surface, stored.skill))
            except (TaskStateError, TaskGenerationMismatchError):
                # A message that the task has already may have led to the state that refuses it.
                if idempotency_key is None or not await is_repeated(
                    self._store, stored, bound, idempotency_key
                ):
                    raise
                return AcceptedMessage(stored, stored.last_seq, stored.mark, is_new=False)
            accepting = self._accept_in_state(
                stored, bound, idempotency_key, is_conditional=if_last_seq is not None
            )
            with suppress(*conflicts):
                if not self._store.is_durable:
                    return await accepting
                # The commit and the start of the run belong together: no disconnect of the client
                # comes in between.
                return await asyncio.shield(self._background.start(accepting))
        raise ConcurrencyError

    async def _accept_in_state(
        self,
        stored: StoredTask,
        message: Message,
        idempotency_key: IdempotencyKey | None,
        *,
        is_conditional: bool,
    ) -> AcceptedMessage:
        has_run = stored.state in ACTIVE
        deferral = None
        if has_run:
            # The same version has the same last event.
            version = stored.version if is_conditional else None
            change = TaskChange(
                messages=(message,), expected_states=ACTIVE, expected_version=version
            )
        else:
            change = build_answer_change(stored, message)
            skill = self._skills.find(stored.scope.surface, stored.skill)
            if skill is not None:
                deferral = skill.build_deferral(self._settings.runs_on, stored.scope.surface)
        change = replace(change, idempotency_key=idempotency_key, deferral=deferral)
        result = await self._store.update_task(stored.scope, stored.key, change)
        if not result.is_new:
            return AcceptedMessage(stored, stored.last_seq, stored.mark, is_new=False)
        self._hub.publish(stored.key, result)
        if has_run:
            self._runner.notify_message(stored.key)
        elif deferral is None:
            # The answer is recorded: the next orphan scan finds the task.
            with suppress(StoreUnavailableError):
                await self._runner.resume(stored.key)
        return AcceptedMessage(stored, result.last_seq, result.events[-1].mark)


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


def check_last_seq(stored: StoredTask, if_last_seq: int | None) -> None:
    """Raise if the last event of a task is not the one that a message names."""
    if if_last_seq not in {None, stored.last_seq}:
        raise TaskGenerationMismatchError(
            (
                f"The task is at generation {stored.last_seq}, not {if_last_seq}; read it, and "
                "send the message again if it still applies"
            ),
            details={
                "task_id": stored.wire_id,
                "expected_generation": str(if_last_seq),
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
