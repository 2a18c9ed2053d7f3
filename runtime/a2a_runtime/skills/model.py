"""The bases of models that are generated from a user's schemas.

    SkillModel       unknown members are kept, in ``model_extra``, and written again
    └── ClosedModel  unknown members are refused

Which it is says the schema: an object may have any other members unless it says that it may not. What a caller sends and the schema allows comes
through.

A member that is absent is ``None``, or has the default of its schema; one that nobody has set is not written. Where a schema also allows null, a
``None`` that was set is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, GetPydanticSchema, SerializationInfo, SerializerFunctionWrapHandler, model_serializer
from pydantic_core import core_schema


class SkillModel(BaseModel):
    """A JSON object of a skill: names of the schema in JSON, names of Python in Python."""

    model_config = ConfigDict(
        extra="allow",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
        protected_namespaces=(),
    )

    __nullable__: ClassVar[frozenset[str]] = frozenset()
    """The optional members that may be null, by their names in Python."""
    __tags__: ClassVar[frozenset[str]] = frozenset()
    """The required members that have one value only, by their names in Python: always written, and never need to be set."""
    __optional__: ClassVar[Mapping[str, str]] = {}
    """The members that may be absent, by their names in Python, with those on the wire."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_facts: object) -> None:
        """Find the members that may be absent."""
        cls.__optional__ = {
            name: field.serialization_alias or field.alias or name
            for name, field in cls.model_fields.items()
            if not field.is_required() and name not in cls.__tags__
        }

    @model_serializer(mode="wrap")
    def _omit_absent(self, write: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, object]:
        written: dict[str, object] = write(self)
        for name, wire in self.__optional__.items():
            key = name if info.by_alias is False else wire
            if key in written and (name not in self.model_fields_set or (written[key] is None and name not in self.__nullable__)):
                del written[key]
        return {**written, **self._collect_nulls(by_name=info.by_alias is False)} if info.exclude_none else written

    def _collect_nulls(self, *, by_name: bool) -> dict[str, None]:
        """Find what is null although nothing absent is written: types of the protocol inside ask for that, and know no nulls of their own."""
        nulls: dict[str, None] = {name: None for name, value in (self.model_extra or {}).items() if value is None}
        for name, value in self.__dict__.items():
            if value is None and (name in self.__nullable__ if name in self.__optional__ else True) and name in self.model_fields_set:
                field = type(self).model_fields[name]
                nulls[name if by_name else field.serialization_alias or field.alias or name] = None
        return nulls


class ClosedModel(SkillModel):
    """A JSON object that has no other members than its own."""

    model_config = ConfigDict(extra="forbid")


def _build_number_schema(*_: object) -> core_schema.CoreSchema:
    return core_schema.union_schema([core_schema.int_schema(strict=True), core_schema.float_schema(allow_inf_nan=False)], mode="left_to_right")


Number: TypeAlias = Annotated[float, GetPydanticSchema(_build_number_schema)]
"""A number; one without a fraction keeps all of its digits."""

Json: TypeAlias = object
"""Any JSON value."""
