"""Values with a text form on the wire and a richer type in Python: numbers, bytes, timestamps and
free JSON.

Free JSON is kept exactly as sent, or rejected with its place. Values that cannot be serialized
again are rejected when they are parsed or put into a model: non-finite numbers (also `1e999`, which
parsers take for infinity), integers of more digits than Python converts, text that is not Unicode,
nesting deeper than readers accept, types that JSON lacks.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from enum import Enum
from math import isfinite
from typing import Annotated, Any, Final, Literal, LiteralString, NamedTuple, TypeAlias

from pydantic import (
    BeforeValidator,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    PlainSerializer,
    ValidationError,
)
from pydantic_core import (
    CoreConfig,
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    SchemaValidator,
    core_schema,
)

from .json_types import is_json_array, is_json_object

# --- numbers ---

# Peers that write ProtoJSON may quote numbers. Pydantic does everything without a call of Python; a
# boolean is no number.
# Python does not parse integers with more digits.
_LARGEST: Final = 10**4300
_TEXT: Final = core_schema.str_schema(strict=True)
_FLOAT: Final = core_schema.float_schema(strict=True, allow_inf_nan=False)


def _integer_schema(*_: object) -> CoreSchema:
    integer = core_schema.int_schema(strict=True, gt=-_LARGEST, lt=_LARGEST)
    others = (
        core_schema.chain_schema([first, core_schema.int_schema()]) for first in (_TEXT, _FLOAT)
    )
    return core_schema.union_schema(
        [integer, *others],
        mode="left_to_right",
        custom_error_type="integer",
        custom_error_message="Input should be an integer",
    )


def _number_schema(*_: object) -> CoreSchema:
    text = core_schema.chain_schema([_TEXT, core_schema.float_schema(allow_inf_nan=False)])
    return core_schema.union_schema(
        [_FLOAT, text],
        mode="left_to_right",
        custom_error_type="number",
        custom_error_message="Input should be a finite number",
    )


Integer: TypeAlias = Annotated[int, GetPydanticSchema(_integer_schema)]
"""An integer, which may be text on the wire."""

Number: TypeAlias = Annotated[float, GetPydanticSchema(_number_schema)]
"""A finite number, which may be text on the wire."""


# --- bytes ---


def base64_text(data: bytes) -> str:
    """Encode bytes in standard base64, with padding."""
    return b64encode(data).decode()


def _bytes_schema(*_: object) -> CoreSchema:
    # Pydantic decodes JSON, in either alphabet, with or without padding; text in Python uses the
    # same decoder.
    python = core_schema.no_info_before_validator_function(
        _from_text, core_schema.bytes_schema(strict=True)
    )
    return core_schema.json_or_python_schema(core_schema.bytes_schema(), python)


def _from_text(value: object) -> object:
    if isinstance(value, str):
        return _DECODER.validate_python(value)
    return value


_DECODER: Final = SchemaValidator(core_schema.bytes_schema(), CoreConfig(val_json_bytes="base64"))

Base64: TypeAlias = Annotated[
    bytes,
    GetPydanticSchema(_bytes_schema),
    PlainSerializer(base64_text, return_type=str, when_used="json-unless-none"),
]
"""Bytes, which are base64 on the wire."""


# --- timestamps ---

# Rejects forms that `datetime.fromisoformat` accepts and no protocol uses: weeks, dates alone, no
# separators.
_TIMESTAMP: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d{1,18})?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


def timestamp_text(moment: datetime) -> str:
    """Format a timestamp in UTC, with milliseconds and `Z`."""
    if moment.tzinfo is not UTC:
        moment = _in_utc(moment)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def timestamp_from_text(text: str) -> datetime:
    """Parse a timestamp of any offset and precision; without an offset it is in UTC, and digits
    beyond microseconds are cut.
    """
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError("no date and time of RFC 3339")
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is UTC:
        return moment
    return _in_utc(moment)


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def _moment(value: object) -> datetime:
    try:
        if isinstance(value, str):
            return timestamp_from_text(value)
        if isinstance(value, datetime):
            return _in_utc(value)
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError(
            "timestamp", "Input should be a valid date and time: {reason}", {"reason": str(error)}
        ) from error
    raise PydanticCustomError("timestamp_type", "Input should be a date and time as text")


Timestamp: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_moment),
    PlainSerializer(timestamp_text, return_type=str, when_used="json-unless-none"),
]
"""A timestamp, always in UTC."""


# --- free JSON ---
MAX_DEPTH: Final = 180
"""Readers stop at 200 levels; the rest is reserved for the messages, events and envelopes around a
value.
"""

_MAX_DIGITS: Final = 4300
_MAX_INTEGER: Final = 10**_MAX_DIGITS
_NO_UNICODE: Final = "Text is not Unicode: it holds half of a surrogate pair"
_ALWAYS_FINE: Final = frozenset({str, int, bool, type(None)})


class JsonNull(Enum):
    """The JSON value `null` where it differs from an absent member."""

    NULL = None

    def __repr__(self) -> str:
        return "JSON_NULL"

    def __bool__(self) -> Literal[False]:
        """Return false, like None."""
        return False


JSON_NULL: Final = JsonNull.NULL


# --- finding flaws ---


class _Flaw(NamedTuple):
    """The reason why a value cannot be kept as JSON, and the place in it."""

    place: tuple[str | int, ...]
    kind: LiteralString
    text: str


def _is_finite(items: Iterable[Any], room: int) -> bool:
    """Check that parsed JSON can be kept: only numbers and depth can be wrong.

    The hot path: few calls, and types by identity.
    """
    for item in items:
        kind = item.__class__
        if kind in _ALWAYS_FINE:
            continue
        if kind is float:
            if not isfinite(item):
                return False
        elif not room or not _is_finite(item.values() if kind is dict else item, room - 1):
            return False
    return True


def _flaw(value: object, room: int) -> _Flaw | None:
    """Return the first flaw of any value."""
    flaw: _Flaw | None = None
    match value:
        case str():
            if not value.isascii() and not _is_unicode(value):
                flaw = _Flaw((), "json_text", _NO_UNICODE)
        case None | bool() | JsonNull():
            pass
        case int():
            if not -_MAX_INTEGER < value < _MAX_INTEGER:
                flaw = _Flaw((), "json_number", f"Integer has more than {_MAX_DIGITS} digits")
        case float():
            if not isfinite(value):
                flaw = _Flaw((), "json_number", "Number must be finite")
        case _ if is_json_object(value) or is_json_array(value):
            if room:
                flaw = _flaw_inside(value, room)
            else:
                flaw = _Flaw((), "json_depth", f"JSON is nested deeper than {MAX_DEPTH} levels")
        case _:
            flaw = _Flaw((), "json_type", f"A value of type {type(value).__name__} is no JSON")
    return flaw


def _flaw_inside(value: dict[str, object] | list[object], room: int) -> _Flaw | None:
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and not isinstance(step, str):
            return _Flaw((), "json_key", f"A key of type {type(step).__name__} is no JSON")
        if isinstance(step, str) and not step.isascii() and not _is_unicode(step):
            return _Flaw((), "json_text", _NO_UNICODE)
        if flaw := _flaw(item, room - 1):
            return flaw._replace(place=(step if isinstance(step, int) else str(step), *flaw.place))
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_flat(value: Any) -> bool:  # noqa: ANN401 - types by identity, as above
    """Check quickly for the most common object: plain texts and words, such as metadata.

    The hot path: no calls of functions.
    """
    if value.__class__ is not dict:
        return False
    for key, item in value.items():
        if key.__class__ is not str or not key.isascii():
            return False
        if not (
            item.isascii() if item.__class__ is str else item is None or item.__class__ is bool
        ):
            return False
    return True


def _refuse_flaw(value: object) -> None:
    flaw = None if _is_flat(value) else _flaw(value, MAX_DEPTH)
    if flaw:
        # A ValidationError inside a validator keeps its places: Pydantic appends them to the place
        # of the member.
        error = PydanticCustomError(flaw.kind, "{reason}", {"reason": flaw.text})
        raise ValidationError.from_exception_data(
            "JSON", [InitErrorDetails(type=error, loc=flaw.place, input=None)]
        )


# --- types ---


def _check_parsed(value: object) -> object:
    if not _is_finite((value,), MAX_DEPTH):
        _refuse_flaw(value)
    return value


def _check_value(value: object) -> object:
    _refuse_flaw(value)
    return value


def _check_parsed_or_null(value: object) -> object:
    if value is None:
        return JSON_NULL
    return _check_parsed(value)


def _check_value_or_null(value: object) -> object:
    if value is None:
        return JSON_NULL
    return _check_value(value)


def _build_annotation(
    parsed: Callable[[Any], object], made: Callable[[Any], object]
) -> GetPydanticSchema:
    """Validate parsed JSON with fewer checks than Python values, which can hold anything."""

    def schema(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler(source)
        json, python = (
            core_schema.no_info_after_validator_function(check, inner) for check in (parsed, made)
        )
        return core_schema.json_or_python_schema(json, python)

    return GetPydanticSchema(schema)


JsonObject: TypeAlias = Annotated[dict[str, object], _build_annotation(_check_parsed, _check_value)]
"""A JSON object of any form; nulls in it are None."""

JsonAny: TypeAlias = Annotated[
    object, _build_annotation(_check_parsed_or_null, _check_value_or_null)
]
"""Any JSON value; `null` is JSON_NULL, because None is an absent member."""

JsonChoice: TypeAlias = Annotated[object, _build_annotation(_check_parsed_or_null, _check_value)]
"""Any JSON value as a member of a presence union: in Python, None may mean both, and the union
decides.
"""
