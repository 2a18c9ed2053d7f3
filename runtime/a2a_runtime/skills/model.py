"""Base classes of models generated from a project's schemas.

    SkillModel       unknown members are kept in ``model_extra`` and serialized again
    └── ClosedModel  unknown members are rejected

The schema decides: an object allows other members unless it forbids them.

An absent member is ``None`` or the default of its schema; a member that was not set is not serialized. If a schema also allows null, ``None`` that
was set becomes null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, GetPydanticSchema, SerializationInfo, SerializerFunctionWrapHandler, model_serializer
from pydantic_core import core_schema


class SkillModel(BaseModel):
    """A JSON object of a skill, with the schema's names in JSON and Python names in Python."""

    model_config = ConfigDict(
        extra="allow",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
        protected_namespaces=(),
    )

    __nullable__: ClassVar[frozenset[str]] = frozenset()
    """Optional members that may be null, by Python name."""
    __tags__: ClassVar[frozenset[str]] = frozenset()
    """Required members with one possible value, by Python name: always serialized, never set by hand."""
    __optional__: ClassVar[Mapping[str, str]] = {}
    """Members that may be absent: Python name to JSON name."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_facts: object) -> None:
        """Collect the members that may be absent."""
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
        """Collect members that are null on purpose: ``exclude_none``, which models of the protocol need, drops them."""
        nulls: dict[str, None] = {name: None for name, value in (self.model_extra or {}).items() if value is None}
        for name, value in self.__dict__.items():
            if value is None and (name in self.__nullable__ if name in self.__optional__ else True) and name in self.model_fields_set:
                field = type(self).model_fields[name]
                nulls[name if by_name else field.serialization_alias or field.alias or name] = None
        return nulls


class ClosedModel(SkillModel):
    """A JSON object without additional members."""

    model_config = ConfigDict(extra="forbid")


def _build_number_schema(*_: object) -> core_schema.CoreSchema:
    return core_schema.union_schema([core_schema.int_schema(strict=True), core_schema.float_schema(allow_inf_nan=False)], mode="left_to_right")


Number: TypeAlias = Annotated[float, GetPydanticSchema(_build_number_schema)]
"""A number; an integer keeps all of its digits."""

Json: TypeAlias = object
"""Any JSON value."""
