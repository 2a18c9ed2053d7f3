"""Base of models that are generated from JSON Schemas: names, absent members and nulls as the
schema has them.

An absent member is ``None`` or the default of its schema; a member that was not set is not
serialized. If a schema also allows null, ``None`` that was set becomes null. Members that the
schema does not declare are kept in ``model_extra`` and serialized again.

``schemas.json``, beside the modules of types, holds the schemas that decide what types cannot:

    unions   by name: for each branch its option, the kinds of its values, its schema and the
             names of its members
    types    by name: the schema of the type, for packages whose models are checked by themselves
    schemas  by ``$id``: one document for each draft, with all schemas
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, Unpack, get_args, get_origin

import jsonschema_rs
from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticSerializationError, core_schema

from .core_schemas import list_choices
from .finite import is_finite, list_non_finite
from .json_types import is_json_array, is_json_object
from .schema_nodes import build_validator


class SchemaModel(BaseModel):
    """A JSON object, with the schema's names in JSON and Python names in Python."""

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
    """Required members with one possible value, by Python name: always serialized, never set by
    hand.
    """
    __optional__: ClassVar[Mapping[str, str]] = {}
    """Members that may be absent: Python name to JSON name."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_facts: object) -> None:
        """Collect the members that may be absent."""
        cls.__optional__ = {
            name: _wire_name(name, field)
            for name, field in cls.model_fields.items()
            if not field.is_required() and name not in cls.__tags__
        }

    @model_serializer(mode="wrap")
    def _omit_absent(
        self, write: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, object]:
        """Write the members that are set; refuse numbers that JSON lacks, which Pydantic turns into
        null.
        """
        if (
            not (
                is_finite(self.__dict__.values())
                and is_finite((self.__pydantic_extra__ or {}).values())
            )
            and info.mode == "json"
        ):
            path, reason = list_non_finite(self)[0]
            raise PydanticSerializationError(f"{type(self).__name__}.{path}: {reason}")
        written: dict[str, object] = write(self)
        for name, wire in self.__optional__.items():
            key = name if info.by_alias is False else wire
            if key in written and (
                name not in self.model_fields_set
                or (written[key] is None and name not in self.__nullable__)
            ):
                del written[key]
        if info.exclude_none:
            return {**written, **self._collect_nulls(by_name=info.by_alias is False)}
        return written

    def _collect_nulls(self, *, by_name: bool) -> dict[str, None]:
        """Collect members that are null on purpose: ``exclude_none``, which models of protocols
        need, drops them.
        """
        nulls: dict[str, None] = {
            name: None for name, value in (self.model_extra or {}).items() if value is None
        }
        for name, value in self.__dict__.items():
            if (
                value is None
                and (name in self.__nullable__ if name in self.__optional__ else True)
                and name in self.model_fields_set
            ):
                field = type(self).model_fields[name]
                nulls[name if by_name else _wire_name(name, field)] = None
        return nulls


def _wire_name(name: str, field: FieldInfo) -> str:
    """Return the name of a member in JSON, which may be empty."""
    return next(each for each in (field.serialization_alias, field.alias, name) if each is not None)


class DefaultValue:
    """The default of a member as JSON; Pydantic converts a copy to the member's type."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __call__(self) -> Any:  # noqa: ANN401 - the type of the member, which Pydantic validates
        """Return the default."""
        return deepcopy(self._value)


SCHEMAS_FILE = "schemas.json"


class RestItems:
    """Annotation of a tuple whose last item repeats, ``tuple[A, *tuple[B, ...]]``, which Pydantic
    takes for a tuple in a tuple.
    """

    def __get_pydantic_core_schema__(
        self,
        source: Any,  # noqa: ANN401 - a type
        handler: GetCoreSchemaHandler,
    ) -> core_schema.CoreSchema:
        """Build the schema of a tuple of any length from the number of its first items on."""
        *first, rest = get_args(source)
        repeated = get_args(get_args(rest)[0] if get_origin(rest) is Unpack else rest)[0]
        return core_schema.tuple_schema(
            [handler.generate_schema(each) for each in (*first, repeated)],
            variadic_item_index=len(first),
        )


class BranchSelector:
    """Reader of a union that no tag decides: the branch of an object or an array is the one whose
    schema accepts it.
    """

    def __init__(self, module: str, union: str) -> None:
        self._file = Path(module).with_name(SCHEMAS_FILE)
        self._union = union

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Let the validators select; values that they do not know, such as objects of Python, are
        read as a plain union.
        """
        schema = handler(source)
        if schema["type"] == "nullable":
            return core_schema.nullable_schema(self._tagged(schema["schema"]))
        return self._tagged(schema)

    def _tagged(self, union: core_schema.CoreSchema) -> core_schema.CoreSchema:
        plain = core_schema.no_info_wrap_validator_function(_refuse_conversion, union)
        # Only one type is left beside null and branches without a type.
        if union["type"] != "union":
            return plain
        options = dict(enumerate(list_choices(union)))
        return core_schema.tagged_union_schema({**options, _PLAIN: plain}, self._select)

    def _select(self, value: object) -> int:
        kind = ""
        if is_json_object(value):
            kind = "object"
        elif is_json_array(value):
            kind = "array"
        try:
            if kind:
                accepting = [
                    branch
                    for branch in self._branches
                    if kind in branch.kinds and branch.is_valid(value)
                ]
            else:
                accepting = []
        except ValueError:
            # A list that is written, or made in Python, may hold models: validators know JSON only.
            return _PLAIN
        if not accepting:
            return _PLAIN
        known = value.keys() if is_json_object(value) else frozenset[str]()
        return max(accepting, key=lambda branch: len(branch.members & known)).option

    @cached_property
    def _branches(self) -> tuple[_Branch, ...]:
        package = read_package_schemas(self._file)
        return tuple(
            _Branch(
                each["option"],
                frozenset(each["kinds"]),
                frozenset(each["members"]),
                build_validator({"$ref": each["schema"]}, package.registry).is_valid,
            )
            for each in package.unions[self._union]
        )


_PLAIN = -1


def _refuse_conversion(value: object, read: core_schema.ValidatorFunctionWrapHandler) -> object:
    """Refuse a text that would become a number or a boolean, and the like: only a branch without a
    type accepts it.
    """
    made = read(value)
    is_of_another_kind = isinstance(value, bool) != isinstance(made, bool) or (
        isinstance(value, str) and isinstance(made, int | float)
    )
    if is_of_another_kind and isinstance(value, str | int | float):
        raise PydanticCustomError("another_kind", "the value is of none of the types of the union")
    return made


class _Branch(NamedTuple):
    option: int
    kinds: frozenset[str]
    members: frozenset[str]
    is_valid: Callable[[object], bool]


class PackageSchemas(NamedTuple):
    """The content of ``schemas.json``, and its documents in a registry."""

    unions: Mapping[str, Any]
    types: Mapping[str, Any]
    documents: Mapping[str, Any]
    registry: jsonschema_rs.Registry


@cache
def read_package_schemas(file: Path) -> PackageSchemas:
    """Read the schemas of a package, once."""
    document = json.loads(file.read_bytes())
    documents = document["schemas"]
    return PackageSchemas(
        document["unions"],
        document.get("types", {}),
        documents,
        jsonschema_rs.Registry([*documents.items()]),
    )


def _build_number_schema(*_: object) -> core_schema.CoreSchema:
    return core_schema.union_schema(
        [core_schema.int_schema(strict=True), core_schema.float_schema(allow_inf_nan=False)],
        mode="left_to_right",
    )


Number: TypeAlias = Annotated[float, GetPydanticSchema(_build_number_schema)]
"""A number; an integer keeps all of its digits."""

Json: TypeAlias = object
"""Any JSON value."""
