"""A skill as its schemas say. Generated code makes one of these for each skill; server and client read the same one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import Message
from a2a_runtime.skills.form import TEXT, Form, WrongValueError
from a2a_runtime.skills.reading import carried

I = TypeVar("I")  # noqa: E741 - the input of a skill, beside O, its output
O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, eq=False, slots=True)
class SkillContract(Generic[I, O]):
    """What a skill takes, gives and asks; the output of one that streams is that of each chunk."""

    id: str
    input: Form[I]
    output: Form[O]
    streams: bool = False
    replies: tuple[Form[Any], ...] = ()  # each has a type of its own

    @property
    def schemas(self) -> Mapping[str, Form[Any]]:
        """The schemas that a client needs, by what they are for; plain text has none."""
        return {name: form for name, form in (("input", self.input), ("output", self.output)) if form is not TEXT}

    @property
    def input_schema(self) -> JsonObject | None:
        """The schema of the input; plain text has none."""
        return None if self.input is TEXT else self.input.schema

    def check(self, message: Message) -> None:
        """Raise ``InvalidParamsError`` when the input in a message does not fit; a skill that takes any text takes any message."""
        if self.input is not TEXT:
            self.read(message)

    def read(self, message: Message) -> I:
        """Read the input from a message, or raise ``InvalidParamsError`` with every wrong place."""
        place = "message.parts"
        try:
            value, place = carried(message.parts, self.input.law)
            return self.input.read(value)
        except WrongValueError as error:
            fields = error.fields if place == "message.parts" and not self.input.law.is_text else error.at(place)
            raise InvalidParamsError(fields=tuple(fields)) from error


AnyContract: TypeAlias = SkillContract[Any, Any]
"""The contract of a skill, for whoever only asks whether messages fit."""
