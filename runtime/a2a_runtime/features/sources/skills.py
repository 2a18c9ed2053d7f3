"""A descriptor as a skill of an agent: its contract, its handler and its options.

Schemas are checked as those of generated skills are: by ``SkillContract`` before a task exists, by
the handler before output is sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from a2a_contract.base import JsonObject
from a2a_contract.v1_0 import Artifact, Message, Part
from a2a_runtime.agent import Agent, SkillDefinition
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.ports.skill_source import SkillDescriptor, SkillSource
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import StreamingHandler, UnaryHandler
from a2a_runtime.skills.options import SkillOptions
from a2a_runtime.skills.schema import TEXT, TypedSchema

_ANYTHING: JsonObject = {}


@dataclass(frozen=True, eq=False, slots=True)
class SourceContract(SkillContract[Any, Any]):
    """Contract of a skill from a source, which may read the parts of a message itself, or take the
    whole message.
    """

    parse: Callable[[Sequence[Part]], object] | None = None
    reads_message: bool = False

    @property
    def reads_parts(self) -> bool:
        """True if the source reads the parts."""
        return self.parse is not None

    def check_message(self, message: Message) -> None:
        """Raise ``InvalidParamsError`` if the input of a message cannot be read, or does not
        match.
        """
        if self.parse is None:
            super(SourceContract, self).check_message(message)
        else:
            self.parse(message.parts)

    def parse_input(self, message: Message) -> Any:  # noqa: ANN401 - any JSON
        """Parse the input of a message, or raise ``InvalidParamsError``."""
        if self.reads_message:
            return join_texts(message)
        if self.parse is not None:
            return self.parse(message.parts)
        return super(SourceContract, self).parse_input(message)


class _BuiltOutput:
    """Passes the parts and artifacts that a source builds itself; values are checked against the
    schema of the output.
    """

    def _serialize_output(self, output: Any, context: Context) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(output, Artifact | Message | Part):
            return output
        # The class beside this one has the method.
        return super()._serialize_output(output, context)  # type: ignore[misc]  # as said above


class SourceHandler(_BuiltOutput, UnaryHandler[Any, Any]):
    """Handler of a skill that returns one output."""

    def __init__(
        self, source: SkillSource, skill: SkillDescriptor, contract: SkillContract[Any, Any]
    ) -> None:
        super().__init__(contract, partial(source.call, skill))


class StreamingSourceHandler(_BuiltOutput, StreamingHandler[Any, Any]):
    """Handler of a skill that streams: chunks for a caller that reads a stream, one output for
    others.
    """

    def __init__(
        self, source: SkillSource, skill: SkillDescriptor, contract: SkillContract[Any, Any]
    ) -> None:
        super().__init__(contract, partial(source.stream, skill))
        self._call = partial(source.call, skill)

    async def __call__(
        self, context: Context, **dependencies: object
    ) -> AsyncGenerator[object, None]:
        """Call the skill."""
        if not context.request.is_streaming:
            request, typed = self._parse_call(context)
            yield self._serialize_output(await self._call(request, typed), context)
            return
        async with aclosing(super().__call__(context, **dependencies)) as chunks:
            async for chunk in chunks:
                yield chunk


def define_skill(agent: Agent, source: SkillSource, skill: SkillDescriptor) -> SkillDefinition:
    """Define a skill of an agent by its descriptor; ``SkillSourceError`` for one that cannot be
    offered.
    """
    given = TEXT
    if skill.input_schema is not None:
        given = _build_schema(source, skill, "input", skill.input_schema)
    schema = _ANYTHING if skill.output_schema is None else skill.output_schema
    contract = SourceContract(
        skill.id,
        given,
        _build_schema(source, skill, "output", schema),
        parse=skill.parse,
        reads_message=skill.reads_message,
    )

    async def check(message: Message, caller: Caller) -> None:
        await source.check(skill, contract.parse_input(message), caller)

    options = SkillOptions(
        name=skill.name or skill.id,
        description=skill.description,
        tags=skill.tags,
        examples=skill.examples,
        input_modes=skill.input_modes,
        output_modes=skill.output_modes,
        only_extended=skill.is_protected,
        asks=skill.asks,
        contract=contract,
        timeout=skill.timeout,
        restartable=skill.is_restartable,
        can_merge=skill.streams,
        check=check,
    )
    if skill.annotations:
        options["card_members"] = dict(skill.annotations)
    handler_class = StreamingSourceHandler if skill.streams else SourceHandler
    handler = handler_class(source, skill, contract)
    try:
        return agent.define(skill.id, handler, **options)
    except ValueError as error:
        raise SkillSourceError(f"{describe_source(source)}: {error}") from None


def _build_schema(
    source: SkillSource, skill: SkillDescriptor, use: str, schema: JsonObject
) -> TypedSchema[Any]:
    typed = TypedSchema[Any](Any, schema)
    try:
        # A schema is read on its first use. A wrong one is an error at start.
        typed.validator.check  # noqa: B018
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise SkillSourceError(
            f"{describe_source(source)}: skill {skill.id!r}: its {use} schema cannot be "
            f"used: {reason}; correct the schema"
        ) from None
    return typed


def describe_source(source: SkillSource) -> str:
    """Name a source in messages."""
    return f"source {type(source).__qualname__}"
