"""Unions whose branches have no constant tag: a value that fits no branch has one error, not one
per branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import core_schema

from .core_schemas import CoreSchema, list_choices, member_names, unwrap
from .json_types import is_json_array, is_json_object


@dataclass(frozen=True)
class AnyOf:
    """Parses a value of any of several plain types."""

    kinds: str
    """Description of the accepted types."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Replace the errors of all types with one."""
        schema = handler(source)
        if schema["type"] == "nullable":
            return core_schema.nullable_schema(self._plain(schema["schema"]))
        return self._plain(schema)

    def _plain(self, union: core_schema.CoreSchema) -> core_schema.CoreSchema:
        if union["type"] != "union":
            raise TypeError("AnyOf: not a union")
        return core_schema.union_schema(
            union["choices"],
            custom_error_type="union",
            custom_error_message="Input should be of type {kinds}",
            custom_error_context={"kinds": self.kinds},
        )


@dataclass(frozen=True)
class UnionByMember:
    """Parses an object as the branch with its member: one error at one place, instead of those of
    every branch.
    """

    by: Mapping[str, str]
    """The name of the branch, by the wire name of the member that only this branch has."""
    nullable: tuple[str, ...] = ()
    """Members of which null is a value; null in any other counts as absent."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Other names of these members that are read too, each with the member."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Select the branch by member instead of trying every branch."""
        schema = handler(source)
        if schema["type"] == "nullable":
            return core_schema.nullable_schema(self._tagged(schema["schema"]))
        return self._tagged(schema)

    def _tagged(self, union: core_schema.CoreSchema) -> core_schema.CoreSchema:
        if union["type"] != "union":
            raise TypeError("UnionByMember: not a union of models")
        branches = list_choices(union)
        members = ", ".join(self.by)
        return core_schema.tagged_union_schema(
            dict(zip(self.by.values(), branches, strict=True)),
            self._branch,
            custom_error_type="union",
            custom_error_message="Input should be an object with exactly one of {members}",
            custom_error_context={"members": members},
        )

    def _branch(self, value: object) -> str | None:
        if isinstance(value, BaseModel):
            return type(value).__name__
        if not isinstance(value, dict):
            return None
        names = {**{member: member for member in self.by}, **dict(self.aliases)}
        found = {
            names[name]
            for name in names
            if name in value and (value[name] is not None or names[name] in self.nullable)
        }
        present = [self.by[member] for member in found]
        if len(present) == 1:
            return present[0]
        return None


# --- missing tags ---

# Some servers omit constants such as ``kind``. The members of an object mostly determine its type;
# the schema of the model lists them.


def supply_tags(schema: CoreSchema, document: object) -> object:
    """Return a document with its missing tags; an object that fits no type stays as it is."""
    return _supply(schema, document, {})


def _supply(schema: CoreSchema, document: object, definitions: dict[str, CoreSchema]) -> object:
    schema = unwrap(schema, definitions)
    match schema.get("type"):
        case "list" if is_json_array(document):
            return [_supply(schema.get("items_schema", {}), item, definitions) for item in document]
        case "tagged-union" if is_json_object(document):
            branch = _select_branch(schema, document, definitions)
            if branch is None:
                return document
            return _supply(branch, document, definitions)
        case "model-fields" if is_json_object(document):
            return _supply_members(schema, document, definitions)
        case _:
            return document


def _supply_members(
    schema: CoreSchema, document: dict[str, object], definitions: dict[str, CoreSchema]
) -> dict[str, object]:
    made = dict(document)
    for name, field in schema["fields"].items():
        wire = next((each for each in member_names(name, field) if each in document), None)
        if wire is not None:
            made[wire] = _supply(field["schema"], document[wire], definitions)
        elif (constant := _constant(field["schema"], definitions)) is not None:
            made[member_names(name, field)[0]] = constant
    return made


def _select_branch(
    union: CoreSchema, document: dict[str, object], definitions: dict[str, CoreSchema]
) -> CoreSchema | None:
    """Select the branch of a document: by its tag, or else the one with the most required members,
    if the document has all of them.
    """
    tag = union["discriminator"]
    choices: dict[object, CoreSchema] = union["choices"]
    if isinstance(tag, str) and tag in document:
        word = document[tag]
        if isinstance(word, str):
            return choices.get(word)
        return None
    needs = ((_required(choice, definitions), choice) for choice in choices.values())
    fitting = [(required, choice) for required, choice in needs if required <= document.keys()]
    return max(fitting, key=lambda each: len(each[0]), default=(None, None))[1]


def _required(schema: CoreSchema, definitions: dict[str, CoreSchema]) -> frozenset[str]:
    return frozenset(_required_names(unwrap(schema, definitions), definitions))


def _required_names(schema: CoreSchema, definitions: dict[str, CoreSchema]) -> Iterator[str]:
    for name, field in schema.get("fields", {}).items():
        if field["schema"]["type"] != "default" and _constant(field["schema"], definitions) is None:
            yield member_names(name, field)[0]


def _constant(schema: CoreSchema, definitions: dict[str, CoreSchema]) -> object:
    schema = unwrap(schema, definitions)
    if schema.get("type") == "literal" and len(schema["expected"]) == 1:
        return schema["expected"][0]
    return None
