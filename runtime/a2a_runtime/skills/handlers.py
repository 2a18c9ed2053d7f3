"""Typed methods as handlers of the engine, and checks of replies to questions.

    handler = UnaryHandler(GENERATE_REPORT, service.generate_report)
    agent.add("generate-report", handler, contract=GENERATE_REPORT)

The input is parsed before the method runs, and the output is checked before it is sent. An output
that does not match fails the task: the reason is logged and not sent, because the agent broke its
own contract.

A reply is checked against the schema in its question, which the task's status stores; so the schema
also applies after a restart with other code. A reply that does not match is rejected, and the task
stays open.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.engine.handlers.questions import QUESTION_KEY
from a2a_runtime.engine.handlers.thread_streams import iterate_in_thread
from a2a_runtime.engine.run import HANDLER_FAILED
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import (
    SchemaMismatchError,
    SchemaValidator,
    extract_payload,
    wrap_payload,
)

I = TypeVar("I")  # noqa: E741 - as in contract
O = TypeVar("O")  # noqa: E741

log = logging.getLogger(__name__)


class HandlerMismatchError(TypeError):
    """A method does not match its skill: only one of them streams."""


class _TypedHandler(Generic[I, O]):
    """Its signature is that of the method without the input, so that dependencies are found."""

    def __init__(self, contract: SkillContract[I, O], method: Callable[..., Any]) -> None:
        self._contract = contract
        self._method = method
        self.__wrapped__ = method
        signature = inspect.signature(method)
        self.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])

    def _parse_call(self, context: Context) -> tuple[I, SkillContext]:
        return self._contract.parse_input(context.message), SkillContext(
            context, self._contract.replies
        )

    def _serialize_output(self, output: O, context: Context) -> Part:
        try:
            document = self._contract.output.serialize(output)
        except SchemaMismatchError as error:
            # without the traceback, which adds nothing
            text = "skill %s: output does not match its schema: %s"
            log.error(text, self._contract.id, error)  # noqa: TRY400
            context.fail(HANDLER_FAILED)
        return wrap_payload(document, self._contract.output.validator)


class UnaryHandler(_TypedHandler[I, O]):
    """Handler of a method that returns one output."""

    def __init__(self, contract: SkillContract[I, O], method: Callable[..., Awaitable[O]]) -> None:
        super().__init__(contract, method)
        if inspect.isasyncgenfunction(method):
            raise HandlerMismatchError(
                f"skill {contract.id}: {method.__qualname__} yields, but the skill does not "
                "stream; return the output, or set streaming = true"
            )

    async def __call__(self, context: Context, **dependencies: object) -> object:
        """Run the method."""
        request, typed = self._parse_call(context)
        return self._serialize_output(await self._method(request, typed, **dependencies), context)


class StreamingHandler(_TypedHandler[I, O]):
    """Handler of a method that yields chunks."""

    def __init__(
        self, contract: SkillContract[I, O], method: Callable[..., AsyncIterator[O]]
    ) -> None:
        super().__init__(contract, method)
        if inspect.iscoroutinefunction(method):
            raise HandlerMismatchError(
                f"skill {contract.id}: {method.__qualname__} returns, but the skill streams; "
                "yield each chunk, or remove streaming = true"
            )

    async def __call__(
        self, context: Context, **dependencies: object
    ) -> AsyncGenerator[object, None]:
        """Run the method."""
        request, typed = self._parse_call(context)
        chunks: Any = self._method(request, typed, **dependencies)
        # the code of a plain generator has not begun yet: a thread runs it
        if isinstance(chunks, Generator):
            chunks = iterate_in_thread(partial(iter, chunks))
        try:
            async for chunk in chunks:
                yield self._serialize_output(chunk, context)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()


_SCHEMA_KEY = "schema"


def check_reply(question: Message | None, reply: Message) -> None:
    """Raise ``InvalidParamsError`` if a reply does not match the schema of its question."""
    schema = get_reply_schema(question)
    if schema is None:
        return
    validator = _get_validator(json.dumps(schema, sort_keys=True))
    path = ""
    try:
        value, path = extract_payload(reply.parts, validator)
        validator.check(value)
    except SchemaMismatchError as error:
        fields = error.prefix_fields(path) if path else error.fields
        raise InvalidParamsError(fields=tuple(fields)) from error


def get_reply_schema(question: Message | None) -> JsonObject | None:
    """Read the reply schema of a question."""
    recorded = (question.metadata or {}).get(QUESTION_KEY) if question else None
    schema = recorded.get(_SCHEMA_KEY) if is_json_object(recorded) else None
    if is_json_object(schema):
        return schema
    return None


@lru_cache(maxsize=256)
def _get_validator(schema: str) -> SchemaValidator:
    return SchemaValidator(json.loads(schema))
