"""Values that can be text on the wire and are something better in Python: numbers, bytes and points in time."""

import re
from base64 import b64encode
from datetime import UTC, datetime
from typing import Annotated, Final, TypeAlias

from pydantic import BeforeValidator, GetPydanticSchema, PlainSerializer
from pydantic_core import CoreConfig, CoreSchema, PydanticCustomError, SchemaValidator, core_schema

# --- numbers ---------------------------------------------------------------------------------------------------------------------------------------

# Peers that write ProtoJSON may put a number in quotes. Everything is done by Pydantic without a call of Python; a boolean is no number.
_LARGEST: Final = 10**4300  # with more digits, Python refuses to read what it wrote
_TEXT: Final = core_schema.str_schema(strict=True)
_FLOAT: Final = core_schema.float_schema(strict=True, allow_inf_nan=False)


def _integer_schema(*_: object) -> CoreSchema:
    integer = core_schema.int_schema(strict=True, gt=-_LARGEST, lt=_LARGEST)
    others = (core_schema.chain_schema([first, core_schema.int_schema()]) for first in (_TEXT, _FLOAT))
    return core_schema.union_schema(
        [integer, *others], mode="left_to_right", custom_error_type="integer", custom_error_message="Input should be an integer"
    )


def _number_schema(*_: object) -> CoreSchema:
    text = core_schema.chain_schema([_TEXT, core_schema.float_schema(allow_inf_nan=False)])
    return core_schema.union_schema(
        [_FLOAT, text], mode="left_to_right", custom_error_type="number", custom_error_message="Input should be a finite number"
    )


Integer: TypeAlias = Annotated[int, GetPydanticSchema(_integer_schema)]
"""An integer, which may be text on the wire."""

Number: TypeAlias = Annotated[float, GetPydanticSchema(_number_schema)]
"""A finite number, which may be text on the wire."""


# --- bytes -----------------------------------------------------------------------------------------------------------------------------------------


def base64_text(data: bytes) -> str:
    """Write bytes in standard base64, with padding."""
    return b64encode(data).decode()


def _bytes_schema(*_: object) -> CoreSchema:
    # JSON is decoded by Pydantic, in either alphabet, with or without padding; text in Python by the same decoder.
    python = core_schema.no_info_before_validator_function(_from_text, core_schema.bytes_schema(strict=True))
    return core_schema.json_or_python_schema(core_schema.bytes_schema(), python)


def _from_text(value: object) -> object:
    return _DECODER.validate_python(value) if isinstance(value, str) else value


_DECODER: Final = SchemaValidator(core_schema.bytes_schema(), CoreConfig(val_json_bytes="base64"))

Base64: TypeAlias = Annotated[bytes, GetPydanticSchema(_bytes_schema), PlainSerializer(base64_text, return_type=str, when_used="json-unless-none")]
"""Bytes, which are base64 on the wire."""


# --- points in time --------------------------------------------------------------------------------------------------------------------------------

# What `datetime.fromisoformat` takes and is no timestamp of any protocol (weeks, dates alone, no separators) is not let through to it.
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d{1,18})?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)


def timestamp_text(moment: datetime) -> str:
    """Write a point in time in UTC, with milliseconds and `Z`."""
    return f"{_in_utc(moment).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def timestamp_from_text(text: str) -> datetime:
    """Read a point in time of any offset and precision; without an offset it is in UTC, and what is finer than a microsecond is cut."""
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError("no date and time of RFC 3339")
    return _in_utc(datetime.fromisoformat(text.upper()))


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _moment(value: object) -> datetime:
    try:
        if isinstance(value, str):
            return timestamp_from_text(value)
        if isinstance(value, datetime):
            return _in_utc(value)
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError("timestamp", "Input should be a valid date and time: {reason}", {"reason": str(error)}) from error
    raise PydanticCustomError("timestamp_type", "Input should be a date and time as text")


Timestamp: TypeAlias = Annotated[datetime, BeforeValidator(_moment), PlainSerializer(timestamp_text, return_type=str, when_used="json-unless-none")]
"""A point in time, always in UTC."""
