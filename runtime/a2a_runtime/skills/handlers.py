"""A typed method as a handler of the engine: the one untyped port of a skill stays the only one.

    agent.add("generate-report", call(GENERATE_REPORT, service.generate_report), contract=GENERATE_REPORT)

Input is read before the method runs. Output is checked before it leaves: what does not fit fails the task, with the reason in the log and not on the
wire, because the promise that was broken is the agent's own.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import Generic, TypeVar

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.execution.context import QUESTION_KEY, Context
from a2a_runtime.execution.run import HANDLER_FAILED
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import SchemaMismatchError, SchemaValidator, extract_payload, wrap_payload

I = TypeVar("I")  # noqa: E741 - as in contract
O = TypeVar("O")  # noqa: E741

log = logging.getLogger(__name__)


class HandlerMismatchError(TypeError):
    """A method cannot do its skill: it streams and the skill does not, or the other way round."""


class _TypedHandler(Generic[I, O]):
    def __init__(self, contract: SkillContract[I, O]) -> None:
        self._contract = contract

    def _parse_call(self, context: Context) -> tuple[I, SkillContext]:
        return self._contract.parse_input(context.message), SkillContext(context, self._contract.replies)

    def _serialize_output(self, output: O, context: Context) -> Part:
        try:
            written = self._contract.output.serialize(output)
        except SchemaMismatchError as error:
            log.error("skill %s: the output does not fit its schema: %s", self._contract.id, error)  # noqa: TRY400 - where it was raised says nothing
            context.fail(HANDLER_FAILED)
        return wrap_payload(written, self._contract.output.validator)


class UnaryHandler(_TypedHandler[I, O]):
    """A method that answers once."""

    def __init__(self, contract: SkillContract[I, O], method: Callable[[I, SkillContext], Awaitable[O]]) -> None:
        super().__init__(contract)
        if inspect.isasyncgenfunction(method):
            raise HandlerMismatchError(
                f"skill {contract.id} answers once, and {method.__qualname__} yields; return the answer, or say streaming = true"
            )
        self._method = method

    async def __call__(self, context: Context) -> object:
        """Run it."""
        request, typed = self._parse_call(context)
        return self._serialize_output(await self._method(request, typed), context)


class StreamingHandler(_TypedHandler[I, O]):
    """A method that answers in chunks."""

    def __init__(self, contract: SkillContract[I, O], method: Callable[[I, SkillContext], AsyncIterator[O]]) -> None:
        super().__init__(contract)
        if inspect.iscoroutinefunction(method):
            raise HandlerMismatchError(
                f"skill {contract.id} streams, and {method.__qualname__} returns; yield each chunk, or leave out streaming = true"
            )
        self._method = method

    async def __call__(self, context: Context) -> AsyncGenerator[object, None]:
        """Run it."""
        request, typed = self._parse_call(context)
        chunks = self._method(request, typed)
        try:
            async for chunk in chunks:
                yield self._serialize_output(chunk, context)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()


# Follow-ups that answer a question: refused, while the task stays open, when they do not fit the schema that went with the question.
#
# The schema is read from the question itself, as the task's status holds it: what was asked for counts, also after a restart with other code.
#

_SCHEMA_KEY = "schema"


def check_reply(question: Message | None, reply: Message) -> None:
    """Raise ``InvalidParamsError`` when a message is no answer to a question."""
    schema = get_reply_schema(question)
    if schema is None:
        return
    law = _get_validator(json.dumps(schema, sort_keys=True))
    place = ""
    try:
        value, place = extract_payload(reply.parts, law)
        law.check(value)
    except SchemaMismatchError as error:
        raise InvalidParamsError(fields=tuple(error.prefix_fields(place) if place else error.fields)) from error


def get_reply_schema(question: Message | None) -> JsonObject | None:
    """Find the schema that a question wants its answer to fit."""
    told = (question.metadata or {}).get(QUESTION_KEY) if question else None
    schema = told.get(_SCHEMA_KEY) if is_json_object(told) else None
    return schema if is_json_object(schema) else None


@lru_cache(maxsize=256)
def _get_validator(schema: str) -> SchemaValidator:
    return SchemaValidator(json.loads(schema))
