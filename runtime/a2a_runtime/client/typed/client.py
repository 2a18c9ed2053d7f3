"""Base class of generated clients: calls of skills with typed input and output."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import Message, Role, Task
from a2a_runtime.base.card_extensions import SKILL_ID
from a2a_runtime.client import A2AClient, A2AClientError, ClientOptions
from a2a_runtime.client.typed.conversation import CallConversation, CallOptions
from a2a_runtime.client.typed.results import StreamedOutput, parse_output, with_deadline
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import SchemaMismatchError, wrap_payload

I = TypeVar("I")  # noqa: E741 - the input of a skill
O = TypeVar("O")  # noqa: E741 - its output


class SkillClient:
    """Client for the skills of the agent at a URL; the arguments are those of ``A2AClient``, which
    is at ``untyped``.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | str | None = None,
        timeout: float | None = None,
        options: ClientOptions | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.untyped = A2AClient(
            url, auth=auth, timeout=timeout, options=options, transport=transport
        )

    @classmethod
    def over(cls, client: A2AClient) -> Self:
        """Build a typed client over an untyped one, e.g. that of an agent in this process."""
        typed = cls.__new__(cls)
        typed.untyped = client
        return typed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.untyped.aclose()

    async def _call(self, skill: SkillContract[I, O], request: I, call_options: CallOptions) -> O:
        """Call a skill with one output; canceling the caller cancels the task."""
        return parse_output(
            skill.output,
            await self._finish(_build_message(skill, request, call_options), call_options),
        )

    async def _finish(self, message: Message, call_options: CallOptions) -> Task | Message:
        """Send a message and return the whole task at its end, or the message that answers."""
        last: Task | Message | None = None
        async with aclosing(
            with_deadline(
                CallConversation(self.untyped, call_options).run(message),
                call_options.get("timeout"),
            )
        ) as events:
            async for event in events:
                last = event if isinstance(event, Task | Message) else last
        if last is None:
            raise A2AClientError("Stream: ended without a result")
        return last

    async def _stream(
        self, skill: SkillContract[I, O], request: I, call_options: CallOptions
    ) -> AsyncGenerator[O, None]:
        """Call a streaming skill; closing the iteration cancels the task."""
        output = StreamedOutput(skill.output)
        message = _build_message(skill, request, call_options)
        async with aclosing(
            with_deadline(
                CallConversation(self.untyped, call_options).run(message),
                call_options.get("timeout"),
            )
        ) as events:
            async for event in events:
                for chunk in output.read(event):
                    yield chunk


def build_skill_metadata(skill_id: str) -> dict[str, object]:
    """Build the metadata of a message that selects a skill."""
    return {SKILL_ID: skill_id}


def _is_model(input_type: object) -> bool:
    return inspect.isclass(input_type) and issubclass(input_type, BaseModel)


def _check_dict(skill: SkillContract[Any, Any], request: dict[str, object]) -> object:
    """Check a dictionary that is given in place of the model of an input; its keys are the names in
    the JSON.
    """
    value: object = to_jsonable_python(request, by_alias=True)
    skill.input.parse(value)
    return value


def _build_message(
    skill: SkillContract[Any, Any], request: object, call_options: CallOptions
) -> Message:
    try:
        is_plain = _is_model(skill.input.type)
        if is_plain and is_json_object(request):
            value = _check_dict(skill, request)
        else:
            value = skill.input.serialize(request)
    except SchemaMismatchError as error:
        raise InvalidParamsError(
            f"input: does not match the schema of {skill.id}", fields=error.fields
        ) from error
    parts = [wrap_payload(value, skill.input.validator)]
    return Message(
        message_id=str(uuid4()),
        role=Role.USER,
        context_id=call_options.get("context_id"),
        parts=parts,
        metadata=build_skill_metadata(skill.id),
    )
