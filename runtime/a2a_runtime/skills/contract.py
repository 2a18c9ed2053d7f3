"""A skill as its schemas say. Generated code makes one of these for each skill; server and client read the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import AgentExtension, Message
from a2a_runtime.skills.schema import TEXT, SchemaMismatchError, TypedSchema, extract_payload

I = TypeVar("I")  # noqa: E741 - the input of a skill, beside O, its output
O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, eq=False, slots=True)
class SkillContract(Generic[I, O]):
    """What a skill takes, gives and asks; the output of one that streams is that of each chunk."""

    id: str
    input: TypedSchema[I]
    output: TypedSchema[O]
    streams: bool = False
    replies: tuple[TypedSchema[Any], ...] = ()  # each has a type of its own

    @property
    def schemas(self) -> Mapping[str, TypedSchema[Any]]:
        """The schemas that a client needs, by what they are for; plain text has none."""
        return {name: form for name, form in (("input", self.input), ("output", self.output)) if form is not TEXT}

    @property
    def input_schema(self) -> JsonObject | None:
        """The schema of the input; plain text has none."""
        return None if self.input is TEXT else self.input.schema

    def check_message(self, message: Message) -> None:
        """Raise ``InvalidParamsError`` when the input in a message does not fit; a skill that takes any text takes any message."""
        if self.input is not TEXT:
            self.parse_input(message)

    def parse_input(self, message: Message) -> I:
        """Read the input from a message, or raise ``InvalidParamsError`` with every wrong place."""
        place = "message.parts"
        try:
            value, place = extract_payload(message.parts, self.input.validator)
            return self.input.parse(value)
        except SchemaMismatchError as error:
            fields = error.fields if place == "message.parts" and not self.input.validator.is_text else error.prefix_fields(place)
            raise InvalidParamsError(fields=tuple(fields)) from error


AnyContract: TypeAlias = SkillContract[Any, Any]
"""The contract of a skill, for whoever only asks whether messages fit."""


# The schemas of skills on a card, as an extension that 1.0 and 0.3 have in the same form.
#
#     {"uri": …, "params": {"skills": {"generate-report": {"streaming": false,
#         "input": {"$id": …, "sha256": …, "url": …}, "output": {…}}}}}
#
# The URL serves the schema as the agent applies it; the hash is of its bytes. Text in or out has no schema, and is left out.
#

EXTENSION_URI = "urn:a2a-gen:extension:skill-schemas:v1"
SCHEMAS_PATH = "/schemas"
"""Where the schemas are, below the surface."""


def build_schema_path(skill: str, use: str) -> str:
    """Say where a schema is served, below the surface."""
    return f"{SCHEMAS_PATH}/{skill}/{use}.json"


def build_schemas_extension(skills: Sequence[AnyContract], base_url: str) -> AgentExtension | None:
    """Make the extension of a card; none where no skill has a schema."""
    described = {skill.id: _describe_skill(skill, base_url) for skill in skills if skill.schemas}
    if not described:
        return None
    return AgentExtension(uri=EXTENSION_URI, description="JSON Schemas of the skills", required=False, params={"skills": described})


def _describe_skill(skill: AnyContract, base_url: str) -> dict[str, object]:
    forms: dict[str, object] = {
        use: {"$id": form.id, "sha256": form.digest, "url": base_url + build_schema_path(skill.id, use)} for use, form in skill.schemas.items()
    }
    return {"streaming": skill.streams, **forms}
