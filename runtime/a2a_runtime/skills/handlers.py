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
from a2a_contract.json_types import is_object
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.execution.context import QUESTION, Context
from a2a_runtime.execution.run import FAILED
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import Law, WrongValueError, carried, carrier

I = TypeVar("I")  # noqa: E741 - as in contract
O = TypeVar("O")  # noqa: E741

log = logging.getLogger(__name__)


class WrongMethodError(TypeError):
    """A method cannot do its skill: it streams and the skill does not, or the other way round."""


class _Port(Generic[I, O]):
    def __init__(self, contract: SkillContract[I, O]) -> None:
        self._contract = contract

    def _opened(self, context: Context) -> tuple[I, SkillContext]:
        return self._contract.read(context.message), SkillContext(context, self._contract.replies)

    def _written(self, answer: O, context: Context) -> Part:
        try:
            written = self._contract.output.write(answer)
        except WrongValueError as error:
            log.error("skill %s: the output does not fit its schema: %s", self._contract.id, error)  # noqa: TRY400 - where it was raised says nothing
            context.fail(FAILED)
        return carrier(written, self._contract.output.law)


class Call(_Port[I, O]):
    """A method that answers once."""

    def __init__(self, contract: SkillContract[I, O], method: Callable[[I, SkillContext], Awaitable[O]]) -> None:
        super().__init__(contract)
        if inspect.isasyncgenfunction(method):
            raise WrongMethodError(f"skill {contract.id} answers once, and {method.__qualname__} yields; return the answer, or say streaming = true")
        self._method = method

    async def __call__(self, context: Context) -> object:
        """Run it."""
        request, typed = self._opened(context)
        return self._written(await self._method(request, typed), context)


class Stream(_Port[I, O]):
    """A method that answers in chunks."""

    def __init__(self, contract: SkillContract[I, O], method: Callable[[I, SkillContext], AsyncIterator[O]]) -> None:
        super().__init__(contract)
        if inspect.iscoroutinefunction(method):
            raise WrongMethodError(f"skill {contract.id} streams, and {method.__qualname__} returns; yield each chunk, or leave out streaming = true")
        self._method = method

    async def __call__(self, context: Context) -> AsyncGenerator[object, None]:
        """Run it."""
        request, typed = self._opened(context)
        chunks = self._method(request, typed)
        try:
            async for chunk in chunks:
                yield self._written(chunk, context)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()


# Follow-ups that answer a question: refused, while the task stays open, when they do not fit the schema that went with the question.
#
# The schema is read from the question itself, as the task's status holds it: what was asked for counts, also after a restart with other code.
#

_SCHEMA = "schema"


def check_reply(question: Message | None, reply: Message) -> None:
    """Raise ``InvalidParamsError`` when a message is no answer to a question."""
    schema = asked_schema(question)
    if schema is None:
        return
    law = _law(json.dumps(schema, sort_keys=True))
    place = ""
    try:
        value, place = carried(reply.parts, law)
        law.check(value)
    except WrongValueError as error:
        raise InvalidParamsError(fields=tuple(error.at(place) if place else error.fields)) from error


def asked_schema(question: Message | None) -> JsonObject | None:
    """Find the schema that a question wants its answer to fit."""
    told = (question.metadata or {}).get(QUESTION) if question else None
    schema = told.get(_SCHEMA) if is_object(told) else None
    return schema if is_object(schema) else None


@lru_cache(maxsize=256)
def _law(schema: str) -> Law:
    return Law(json.loads(schema))
