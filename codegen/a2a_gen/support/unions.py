"""Unions whose branches have no constant to tell them apart by: what is none of them has one error, not one per branch."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class AnyOf:
    """Reads a value of any of several plain types."""

    kinds: str
    """What a value may be, in words."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Put one error in the place of those of every type."""
        schema = handler(source)
        return core_schema.nullable_schema(self._plain(schema["schema"])) if schema["type"] == "nullable" else self._plain(schema)

    def _plain(self, union: CoreSchema) -> CoreSchema:
        if union["type"] != "union":
            raise TypeError("only a union has branches")
        return core_schema.union_schema(
            union["choices"],
            custom_error_type="union",
            custom_error_message="Input should be of type {kinds}",
            custom_error_context={"kinds": self.kinds},
        )


@dataclass(frozen=True)
class ToldApart:
    """Reads an object as the branch that has its member: one error at one place, instead of those of every branch."""

    by: Mapping[str, str]
    """The name of the branch, by the wire name of the member that only this branch has."""
    nullable: tuple[str, ...] = ()
    """Those members of which null is a value; null in any other is as good as nothing."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Replace trying every branch by looking for the members."""
        schema = handler(source)
        return core_schema.nullable_schema(self._tagged(schema["schema"])) if schema["type"] == "nullable" else self._tagged(schema)

    def _tagged(self, union: CoreSchema) -> CoreSchema:
        if union["type"] != "union":
            raise TypeError("only a union of models can be told apart")
        branches = (choice[0] if isinstance(choice, tuple) else choice for choice in union["choices"])
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
        present = [branch for member, branch in self.by.items() if member in value and (value[member] is not None or member in self.nullable)]
        return present[0] if len(present) == 1 else None
