"""What a typed method sees of the world: a little of the untyped context, with types where that has schemas. The rest is at ``untyped``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.caller import Caller
from a2a_runtime.execution.context import ArtifactWriter, Context, TaskContext
from a2a_runtime.execution.replay import RequestInfo
from a2a_runtime.execution.signals import TaskEnded
from a2a_runtime.skills.model import SkillModel
from a2a_runtime.skills.schema import TypedSchema, attach_fields, extract_payload

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """What the caller is asked: in words, and where there is more to look at, with a piece of JSON."""

    text: str
    detail: object = None


class SkillContext:
    """The message behind a call, who sent it, and what can be done to the task besides answering."""

    def __init__(self, untyped: Context, reply_schemas: Sequence[TypedSchema[Any]] = ()) -> None:
        self.untyped = untyped
        self._reply_schemas = reply_schemas

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return self.untyped.caller

    @property
    def message(self) -> Message:
        """The whole message, with whatever it holds beside the input."""
        return self.untyped.message

    @property
    def request(self) -> RequestInfo:
        """What the request said beside the message."""
        return self.untyped.request

    @property
    def task_id(self) -> str | None:
        """The task, unless the skill answers with a message."""
        return self.untyped.task_id

    @property
    def context_id(self) -> str:
        """The conversation."""
        return self.untyped.context_id

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody wants this to stop; async methods are interrupted as well."""
        return self.untyped.is_cancelled

    @property
    def attempt(self) -> int:
        """How often this was begun, this time included."""
        return self._task.attempt

    async def progress(self, fraction: float | None = None, text: str | None = None) -> None:
        """Say how much is done, from 0 to 1, and what is going on."""
        await self._task.status(text, progress=fraction)

    async def once(self, key: str, function: Callable[[], Awaitable[T]]) -> T:
        """Do something that must not be done again when the method runs again, and give back its result, which must be JSON."""
        return await self._task.once(key, function)

    def artifact(self, name: str, *, description: str | None = None) -> ArtifactWriter:
        """Open an artifact beside the result."""
        return self._task.artifact(name, description=description)

    async def ask(self, question: Question | str, *, reply: type[R] | TypedSchema[R], key: str | None = None) -> R:
        """Ask the caller, and wait for a reply that fits its schema, however long it takes: the method runs again from the top when it comes.

        ``reply`` is the class that one of the skill's ``asks`` in ``a2a.toml`` stands for; a reply that is no object has no class, and its form in
        the table of skills (``skills.PUBLISH_ASKS_APPROVAL``) says its type to checkers. Replies that do not fit are refused before they get here.
        """
        form = self._find_schema(reply)
        asked = question if isinstance(question, Question) else Question(question)
        details = () if asked.detail is None else (_to_json(asked.detail),)
        answer = await self._task.ask(self.untyped.reply(asked.text, *details), form.schema, key=key)
        value, _ = extract_payload(answer.message.parts, form.validator)
        return form.parse(value)

    def reject(self, reason: str) -> NoReturn:
        """Refuse to do what is asked for."""
        self.untyped.reject(reason)

    def refuse(self, *fields: tuple[str, str], reason: str = "The input cannot be used") -> NoReturn:
        """Refuse the input for what its schema cannot say: each wrong place in it, and what is wrong there.

        The task is rejected; typed clients find the places in the ``fields`` of their ``RejectedError``.
        """
        text = "; ".join((reason, *(f"{place}: {said}" for place, said in fields)))
        raise TaskEnded(State.REJECTED, attach_fields(self.untyped.reply(text), fields))

    def fail(self, reason: str) -> NoReturn:
        """Give up; the caller gets to read the reason."""
        self.untyped.fail(reason)

    @property
    def _task(self) -> TaskContext:
        if not isinstance(self.untyped, TaskContext):
            raise TypeError('a skill that answers with a message has no task to do this with; give it answers = "task" in a2a.toml')
        return self.untyped

    def _find_schema(self, reply: type[R] | TypedSchema[R]) -> TypedSchema[R]:
        for form in self._reply_schemas:
            if reply in (form, form.type):
                return form
        raise TypeError(f"no schema is known for replies of type {reply!r}; name its schema under `asks` of the skill in a2a.toml")


def _to_json(value: object) -> object:
    return value.model_dump(mode="json", exclude_none=True) if isinstance(value, SkillModel) else value
