"""Contract of a skill, shared by server and client, and the extension of the card that publishes
its schemas.

    {"uri": …, "params": {"skills": {"generate-report": {"streaming": false,
        "input": {"id": …, "sha256": …, "url": …}, "output": {…}}}}}

1.0 and 0.3 have the extension in the same form. The URL serves the schema that the agent applies;
the hash is of its bytes. Plain text has no schema: a skill of plain text is listed if it streams.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.extensions import SchemaReference, SkillSchemas, SkillSchemasParams
from a2a_contract.v1_0 import Message
from a2a_runtime.skills.schema import TEXT, SchemaMismatchError, TypedSchema, extract_payload

I = TypeVar("I")  # noqa: E741 - the input of a skill, beside O, its output
O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, eq=False, slots=True)
class SkillContract(Generic[I, O]):
    """Input, output and replies of a skill; the output of a streaming skill is that of each
    chunk.
    """

    id: str
    input: TypedSchema[I]
    output: TypedSchema[O]
    streams: bool = False
    replies: tuple[TypedSchema[Any], ...] = ()  # each with its own type

    @property
    def reads_parts(self) -> bool:
        """True if the skill reads the parts of a message itself, whatever their media types."""
        return False

    @property
    def schemas(self) -> Mapping[str, TypedSchema[Any]]:
        """The schemas by use, ``input`` and ``output``; plain text has none."""
        return {
            name: form
            for name, form in (("input", self.input), ("output", self.output))
            if form is not TEXT
        }

    @property
    def input_schema(self) -> JsonObject | None:
        """The schema of the input; ``None`` for plain text."""
        if self.input is TEXT:
            return None
        return self.input.schema

    def check_message(self, message: Message) -> None:
        """Raise ``InvalidParamsError`` if the input of a message does not match; a skill of plain
        text accepts any message.
        """
        if self.input is not TEXT:
            self.parse_input(message)

    def parse_input(self, message: Message) -> I:
        """Parse the input of a message, or raise ``InvalidParamsError`` with all field errors."""
        path = "message.parts"
        try:
            value, path = extract_payload(message.parts, self.input.validator)
            return self.input.parse(value)
        except SchemaMismatchError as error:
            fields: Sequence[tuple[str, str]] = error.fields
            if path != "message.parts" or self.input.validator.is_text:
                fields = error.prefix_fields(path)
            raise InvalidParamsError(fields=tuple(fields)) from error


AnyContract: TypeAlias = SkillContract[Any, Any]
"""A contract whose types do not matter."""


SCHEMAS_PATH = "/schemas"
"""Path of the schemas below the surface."""


def build_schema_path(skill: str, use: str) -> str:
    """Build the path of a schema below the surface."""
    return f"{SCHEMAS_PATH}/{skill}/{use}.json"


def build_schemas_params(
    skills: Sequence[AnyContract], streaming: Collection[str], base_url: str
) -> SkillSchemasParams | None:
    """Build the parameters of the extension; ``None`` if no skill has a schema or streams.

    ``streaming`` has the ids of the skills that stream, also of those without a contract.
    """
    described = {skill.id: _describe_skill(skill, base_url) for skill in skills if skill.schemas}
    for skill_id in streaming:
        described.setdefault(skill_id, SkillSchemas(streaming=True))
    if described:
        return SkillSchemasParams(skills=described)
    return None


def _describe_skill(skill: AnyContract, base_url: str) -> SkillSchemas:
    references = {
        use: SchemaReference(
            id=form.id, sha256=form.digest, url=base_url + build_schema_path(skill.id, use)
        )
        for use, form in skill.schemas.items()
    }
    return SkillSchemas(
        streaming=skill.streams, input=references.get("input"), output=references.get("output")
    )
