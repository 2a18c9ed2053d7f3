"""Models that their schemas check, for a package of plain schemas.

JSON text is checked before it becomes a model, a model that is made in Python after its members are
known. Only the outermost model of a value checks, because its schema includes those of all within.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

from pydantic import (
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticSerializationError

from .field_paths import FieldPath
from .finite import NOT_FINITE, TOO_LARGE, is_finite, iter_non_finite
from .json_types import is_json_array, is_json_object
from .schema_models import (
    SCHEMAS_FILE,
    BranchSelector,
    DefaultValue,
    Json,
    Number,
    RestItems,
    SchemaModel,
    read_package_schemas,
)
from .text_formats import (
    Base16Text,
    Base64Text,
    BinaryText,
    DateText,
    DateTimeText,
    DurationText,
    TimeText,
    UuidText,
)
from .typed_schema import (
    SchemaMismatchError,
    SchemaValidator,
    TypedSchema,
    list_type_errors,
    write_out_integers,
)

__all__ = [
    "Base16Text",
    "Base64Text",
    "BinaryText",
    "BranchSelector",
    "CheckedModel",
    "ClosedCheckedModel",
    "DateText",
    "DateTimeText",
    "DefaultValue",
    "DurationText",
    "Json",
    "Number",
    "PackageSchema",
    "RestItems",
    "SchemaMismatchError",
    "TimeText",
    "UuidText",
]

T = TypeVar("T")

_FILE: Final = Path(__file__).parent.parent / "types" / SCHEMAS_FILE
_is_checking: ContextVar[bool] = ContextVar("_is_checking", default=False)


@cache
def _load_validator(name: str) -> SchemaValidator:
    package = read_package_schemas(_FILE)
    return SchemaValidator(package.types[name], package.registry, package.documents)


@contextmanager
def _leave_check_to_caller() -> Generator[None]:
    token = _is_checking.set(True)
    try:
        yield
    finally:
        _is_checking.reset(token)


class CheckedModel(SchemaModel):
    """A JSON object that matches its schema; unknown members are kept in ``model_extra`` and
    serialized again.
    """

    __schema__: ClassVar[str] = ""
    """Name of the type in ``schemas.json``."""

    @model_validator(mode="wrap")
    @classmethod
    def _check(
        cls,
        value: Any,  # noqa: ANN401 - anything may be given
        handler: ModelWrapValidatorHandler[Self],
        info: ValidationInfo,
    ) -> Self:
        if _is_checking.get() or not cls.__schema__ or isinstance(value, cls):
            return handler(value)
        if info.mode == "json":
            if not is_finite((value,)):
                cls._raise_errors(value, ((steps, TOO_LARGE) for steps in iter_non_finite(value)))
            cls._raise_mismatches(value)
        with _leave_check_to_caller():
            try:
                model = handler(value)
            except ValidationError as error:
                if (written := write_out_integers(value, error)) is None:
                    if info.mode == "json":
                        cls._raise_errors(value, list_type_errors(error, value))
                    raise
                model = handler(written)
        if info.mode != "json":
            try:
                document = model.model_dump(mode="json", by_alias=True)
            except PydanticSerializationError:
                cls._raise_errors(value, ((steps, NOT_FINITE) for steps in iter_non_finite(model)))
                raise
            cls._raise_mismatches(document)
        return model

    @classmethod
    def _raise_mismatches(cls, document: object) -> None:
        validator = _load_validator(cls.__schema__)
        if not validator.is_valid(document):
            cls._raise_errors(document, validator.list_errors(document))

    @classmethod
    def _raise_errors(cls, document: object, errors: Iterable[tuple[FieldPath, str]]) -> None:
        details = [
            InitErrorDetails(
                type=PydanticCustomError("schema", "{reason}", {"reason": text}),
                loc=steps,
                input=_find_value(document, steps),
            )
            for steps, text in errors
        ]
        if details:
            raise ValidationError.from_exception_data(cls.__name__, details)


def _find_value(document: object, steps: FieldPath) -> object:
    """Return the value at a path, or the last one on the way to a missing member."""
    for step in steps:
        if is_json_object(document) and step in document:
            document = document[str(step)]
        elif is_json_array(document) and isinstance(step, int):
            document = document[step]
    return document


class ClosedCheckedModel(CheckedModel):
    """A JSON object without additional members."""

    model_config = ConfigDict(extra="forbid")


class PackageSchema(TypedSchema[T]):
    """A schema of this package with its Python type."""

    omits_none = False

    # `Any`, since no checker has one type yet for a class, a union and an alias.
    def __init__(self, python_type: Any, name: str) -> None:  # noqa: ANN401
        super().__init__(python_type, {})
        self._name = name

    @cached_property
    def document(self) -> bytes:
        """The schema as a document without external references."""
        return json.dumps(_build_document(self._name), ensure_ascii=False).encode()

    @cached_property
    def validator(self) -> SchemaValidator:
        """The validator of the schema."""
        return _load_validator(self._name)

    def parse(self, value: object) -> T:
        """Parse JSON values (dicts, lists, texts …) into a value, or raise
        ``SchemaMismatchError``.
        """
        with _leave_check_to_caller():
            return super().parse(value)


def _build_document(name: str) -> Mapping[str, object]:
    """Build the schema of a type, with the definitions that it reaches."""
    package = read_package_schemas(_FILE)
    places = [each["$ref"] for each in package.types[name]["allOf"]]
    shared = package.documents[places[0].partition("#")[0]]
    holder = "$defs" if "$defs" in shared else "definitions"
    waiting = [f"#{place.partition('#')[2]}" for place in places]
    reached = dict[str, object]()
    body = {"$schema": shared["$schema"], "allOf": [{"$ref": each} for each in waiting]}
    while waiting:
        definition = waiting.pop().split("/")[2].replace("~1", "/").replace("~0", "~")
        if definition not in reached:
            reached[definition] = shared[holder][definition]
            waiting.extend(_iter_references(reached[definition]))
    return {**body, holder: dict(sorted(reached.items()))}


def _iter_references(value: object) -> Iterator[str]:
    if is_json_array(value):
        for each in value:
            yield from _iter_references(each)
    elif is_json_object(value):
        for key, each in value.items():
            if key == "$ref" and isinstance(each, str) and each.startswith("#/"):
                yield each
            else:
                yield from _iter_references(each)
