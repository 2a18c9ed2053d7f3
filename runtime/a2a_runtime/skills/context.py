"""Context of a typed method: parts of the untyped context, with types from schemas.

The rest is at ``untyped``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import ArtifactWriter, Context, TaskContext
from a2a_runtime.engine.handlers.usage import DEFAULT_CURRENCY
from a2a_runtime.engine.replay import RequestInfo
from a2a_runtime.engine.signals import TaskEnded
from a2a_runtime.skills.model import SkillModel
from a2a_runtime.skills.schema import TypedSchema, attach_fields, extract_payload

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the caller: a text, and optional JSON with details."""

    text: str
    detail: object = None


class SkillContext:
    """Message, caller and task of one call."""

    def __init__(self, untyped: Context, reply_schemas: Sequence[TypedSchema[Any]] = ()) -> None:
        self.untyped = untyped
        self._reply_schemas = reply_schemas
        self.caller: Caller = untyped.caller
        self.request: RequestInfo = untyped.request
        """Metadata and options of the request."""
        self.task_id: str | None = untyped.task_id
        """``None`` if the skill answers with a message."""
        self.context_id: str = untyped.context_id
        """The id of the conversation."""

    @property
    def message(self) -> Message:
        """The whole message, also parts besides the input."""
        return self.untyped.message

    @property
    def is_cancelled(self) -> bool:
        """True while the task is being canceled; async methods are interrupted as well."""
        return self.untyped.is_cancelled

    @property
    def attempt(self) -> int:
        """The attempt number of this run, from 1."""
        return self._task.attempt

    async def progress(self, fraction: float | None = None, text: str | None = None) -> None:
        """Report progress from 0 to 1, with an optional text."""
        await self._task.status(text, progress=fraction)

    async def once(self, key: str, function: Callable[[], Awaitable[T]]) -> T:
        """Call a function once over all runs of the method, and return its result, which must be
        JSON.
        """
        return await self._task.once(key, function)

    async def incoming(self) -> AsyncGenerator[Message, None]:
        """Yield the messages that are sent to the task while it runs; see
        ``TaskContext.incoming``.
        """
        async with aclosing(self._task.incoming()) as messages:
            async for message in messages:
                yield message

    def usage(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost: float = 0.0,
        currency: str = DEFAULT_CURRENCY,
    ) -> None:
        """Report what the work has consumed; see ``Context.usage``."""
        self.untyped.usage(
            input_tokens=input_tokens, output_tokens=output_tokens, cost=cost, currency=currency
        )

    def artifact(self, name: str, *, description: str | None = None) -> ArtifactWriter:
        """Open an artifact besides the result."""
        return self._task.artifact(name, description=description)

    async def flush(self) -> None:
        """Wait until all chunks are stored; see ``TaskContext.flush``."""
        await self._task.flush()

    async def ask(
        self, question: Question | str, *, reply: type[R] | TypedSchema[R], key: str | None = None
    ) -> R:
        """Ask the caller and wait for a reply that matches its schema, however long it takes; then
        the method runs again from the top.

        ``reply`` is the class of one of the skill's ``asks`` in ``a2a.toml``. A reply that is not
        an object has no class; pass its schema from the generated skills
        (``skills.PUBLISH_ASKS_APPROVAL``). Replies that do not match are rejected before the method
        runs.
        """
        schema = self._find_schema(reply)
        contents: list[Any] = [question]
        if isinstance(question, Question):
            detail = question.detail
            if isinstance(detail, SkillModel):
                detail = detail.model_dump(mode="json", exclude_none=True)
            contents = [question.text]
            if detail is not None:
                contents.append(detail)
        request = self.untyped.reply(*contents)
        answer = await self._task.ask(request, schema.schema, key=key)
        value, _ = extract_payload(answer.message.parts, schema.validator)
        return schema.parse(value)

    def authorization(self, key: str) -> str:
        """Return a text by which the application releases ``require_auth``; see
        ``TaskContext.authorization``.
        """
        return self._task.authorization(key)

    async def require_auth(self, request: str, *, key: str | None = None) -> None:
        """Wait for an authorization outside of the protocol; see ``TaskContext.require_auth``."""
        await self._task.require_auth(request, key=key)

    def reject(
        self, reason: str = "The input cannot be used", *, fields: Sequence[tuple[str, str]] = ()
    ) -> NoReturn:
        """Reject the task; ``fields`` are errors of the input that its schema cannot express, each
        a field path and a message.

        Typed clients find them in the ``fields`` of their ``RejectedError``.
        """
        if not fields:
            self.untyped.reject(reason)
        text = "; ".join((reason, *(f"{path}: {problem}" for path, problem in fields)))
        raise TaskEnded(State.REJECTED, attach_fields(self.untyped.reply(text), fields))

    def fail(self, reason: str) -> NoReturn:
        """Fail the task; the caller can read the reason."""
        self.untyped.fail(reason)

    @property
    def _task(self) -> TaskContext:
        if not isinstance(self.untyped, TaskContext):
            raise TypeError(
                'skill: no task, since it answers with a message; set answers = "task" in a2a.toml'
            )
        return self.untyped

    def _find_schema(self, reply: type[R] | TypedSchema[R]) -> TypedSchema[R]:
        for schema in self._reply_schemas:
            if reply in (schema, schema.type):
                return schema
        raise TypeError(
            f"reply type {reply!r}: no schema; name one under `asks` of the skill in "
            "a2a.toml, or with asks=[…]"
        )
