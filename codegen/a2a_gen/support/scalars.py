"""Values that are text on the wire and something better in Python: bytes and points in time."""

import re
from base64 import b64encode
from datetime import UTC, datetime
from typing import Annotated, Final, TypeAlias

from pydantic import BeforeValidator, GetPydanticSchema, PlainSerializer
from pydantic_core import CoreConfig, CoreSchema, PydanticCustomError, SchemaValidator, core_schema

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
