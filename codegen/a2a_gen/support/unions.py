"""Unions whose branches have no constant to tell them apart by, only a member that no other branch has."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class ToldApart:
    """Reads an object as the branch that has its member: one error at one place, instead of those of every branch."""

    by: Mapping[str, str]
    """The name of the branch, by the wire name of the member that only this branch has."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Replace trying every branch by looking for the members."""
        union = handler(source)
        if union["type"] != "union":
            raise TypeError(f"{source!r} is no union of models")
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
        present = [branch for member, branch in self.by.items() if value.get(member) is not None]
        present = present or [branch for member, branch in self.by.items() if member in value]
        return present[0] if len(present) == 1 else None
