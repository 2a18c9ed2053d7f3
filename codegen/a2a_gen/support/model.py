"""The bases of every generated model.

    WireModel     names of the wire in JSON, names of Python in Python; unknown members are ignored; never changed once made
    ├── OpenModel keeps unknown members, as free JSON
    └── Oneof     exactly one member of a group is present

A copy with `model_copy(update=...)` is not checked; make a new object where the values come from elsewhere.
"""

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from .free_json import JSON_NULL, JsonAny


class WireModel(BaseModel):
    """A JSON object of a protocol. None is a member that is absent, and is never written."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        val_json_bytes="base64",
        allow_inf_nan=False,
        protected_namespaces=(),
    )

    def to_json(self) -> bytes:
        """Write the object as JSON."""
        # Straight from Pydantic's serializer: `model_dump_json` makes a text of the bytes, which every caller would undo.
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_none=True)

    def to_dict(self) -> dict[str, object]:
        """Write the object as what its JSON would be in Python."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def wire_name(cls, member: str) -> str:
        """Say what a member is called on the wire."""
        return cls.model_fields[member].serialization_alias or member


class OpenModel(WireModel):
    """A JSON object that keeps the members it does not know, in `model_extra`."""

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, JsonAny]  # pyright: ignore[reportIncompatibleVariableOverride]  # the way that Pydantic documents to give extras a type


class Oneof(WireModel):
    """A JSON object that has exactly one of some members; None counts as absent."""

    __oneof__: ClassVar[frozenset[str]] = frozenset()
    """The members, by their names in Python."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        values = self.__dict__
        present = 0
        for name in self.__oneof__:
            if values[name] is not None:
                present += 1
        if present != 1:
            self._settle(present)
        return self

    def _settle(self, present: int) -> None:
        """Take a None for the JSON value `null` where no other member is there; refuse everything else."""
        fields = type(self).model_fields
        members = [name for name in fields if name in self.__oneof__]
        null = next((name for name in members if fields[name].annotation is object and name in self.model_fields_set), None)
        if present or null is None:
            names = ", ".join(type(self).wire_name(name) for name in members)
            raise PydanticCustomError("oneof", "Exactly one of {members} must be there", {"members": names})
        object.__setattr__(self, null, JSON_NULL)  # frozen for everyone else
