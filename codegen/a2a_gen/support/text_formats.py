"""Texts that have a type in Python: points in time, dates, durations, identifiers, bytes.

A value that was read remembers its text.

    DateTimeText  datetime   date-time; a leap second is the second before it
    DateText      date       date
    TimeText      time       time, with an offset
    DurationText  timedelta  duration; a year counts 365 days, a month 30
    UuidText      UUID       uuid
    Base64Text    bytes      byte, contentEncoding base64 and base64url
    Base16Text    bytes      contentEncoding base16
    BinaryText    bytes      binary: the UTF-8 of the text

Written again, such a value is the text that it was read from, character by character; one that was
made in Python has the usual text. JSON Schema asserts no encoding: a text that is not of its
encoding is accepted, and its bytes are its UTF-8.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema


class _Text:
    """The part of a value that is its text; empty for a value that was calculated."""

    source_text: str = ""


class TextDateTime(datetime, _Text):
    """A point in time that was read."""


class TextDate(date, _Text):
    """A date that was read."""


class TextTime(time, _Text):
    """A time of day that was read."""


class TextDuration(timedelta, _Text):
    """A duration that was read."""


class TextUuid(UUID, _Text):
    """An identifier that was read."""


class TextBytes(bytes, _Text):
    """Bytes that were read."""


class TextFormat:
    """The annotation of a type whose JSON is text: reads it, remembers it, writes it."""

    def __init__(
        self,
        python_type: type,
        word: str,
        parse: Callable[[str], _Text],
        render: Callable[[Any], str],
    ) -> None:
        self._type = python_type
        self._word = word
        self._parse = parse
        self._render = render

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Take a text or a value of the type."""
        write = core_schema.plain_serializer_function_ser_schema(self._write, when_used="json")
        return core_schema.no_info_plain_validator_function(self._read, serialization=write)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the text."""
        return {"type": "string", "format": self._word}

    def _read(self, value: object) -> object:
        if isinstance(value, str):
            try:
                made = self._parse(value)
            except (ValueError, OverflowError) as error:
                raise PydanticCustomError(
                    "text_format", "not a {word} that Python has a value for", {"word": self._word}
                ) from error
            object.__setattr__(made, "source_text", value)
            return made
        if isinstance(value, self._type) and isinstance(value, datetime) == issubclass(
            self._type, datetime
        ):
            return value
        raise PydanticCustomError(
            "text_format", "neither a text nor a {type}", {"type": self._type.__name__}
        )

    def _write(self, value: object) -> object:
        if not isinstance(value, self._type):
            # Another option of the union writes it.
            return value
        return (value.source_text if isinstance(value, _Text) else "") or self._render(value)


# --- points in time ---

_LEAP_SECOND: Final = re.compile(r"(\d\d:\d\d):60")


def _parse_date_time(text: str) -> TextDateTime:
    return TextDateTime.fromisoformat(_LEAP_SECOND.sub(r"\1:59", text.upper()))


def _render_date_time(value: datetime) -> str:
    text = value.isoformat()
    if value.tzinfo is not None and text.endswith("+00:00"):
        return f"{text[:-6]}Z"
    return text


def _parse_time(text: str) -> TextTime:
    return TextTime.fromisoformat(_LEAP_SECOND.sub(r"\1:59", text.upper()))


def _render_time(value: time) -> str:
    text = value.isoformat()
    if value.tzinfo is UTC:
        return text.replace("+00:00", "Z")
    return text


# --- durations ---

_DURATION: Final = re.compile(
    r"P(?:(\d+)W|(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?"
    r"(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?)",
    re.ASCII,
)
_DAYS_OF_YEAR = 365
_DAYS_OF_MONTH = 30


def _parse_duration(text: str) -> TextDuration:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    weeks, years, months, days, hours, minutes = (int(each or 0) for each in found.groups()[:-1])
    return TextDuration(
        weeks=weeks,
        days=years * _DAYS_OF_YEAR + months * _DAYS_OF_MONTH + days,
        hours=hours,
        minutes=minutes,
        seconds=float(found[7] or 0),
    )


def _render_duration(value: timedelta) -> str:
    minutes, seconds = divmod(abs(value).seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{abs(value).microseconds:06}".rstrip("0") if value.microseconds else ""
    clock = "".join(f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M")) if number)
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    days = f"{abs(value).days}D" if abs(value).days else ""
    if days or clock:
        return f"{'-' if value < timedelta() else ''}P{days}{f'T{clock}' if clock else ''}"
    return "PT0S"


# --- bytes ---

_WHITE_SPACE: Final = re.compile(r"[ \t\r\n]+")


def _parse_base64(text: str) -> TextBytes:
    """Decode either alphabet, with or without padding."""
    plain = _WHITE_SPACE.sub("", text).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return TextBytes(b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except ValueError:
        return _parse_binary(text)


def _parse_base16(text: str) -> TextBytes:
    try:
        return TextBytes(bytes.fromhex(text))
    except ValueError:
        return _parse_binary(text)


def _parse_binary(text: str) -> TextBytes:
    return TextBytes(text.encode("utf-8", "surrogatepass"))


def _render_base64(value: bytes) -> str:
    return b64encode(value).decode()


def _render_binary(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")


DateTimeText: TypeAlias = Annotated[
    datetime, TextFormat(datetime, "date-time", _parse_date_time, _render_date_time)
]
DateText: TypeAlias = Annotated[
    date, TextFormat(date, "date", TextDate.fromisoformat, date.isoformat)
]
TimeText: TypeAlias = Annotated[time, TextFormat(time, "time", _parse_time, _render_time)]
DurationText: TypeAlias = Annotated[
    timedelta, TextFormat(timedelta, "duration", _parse_duration, _render_duration)
]
UuidText: TypeAlias = Annotated[UUID, TextFormat(UUID, "uuid", TextUuid, str)]
Base64Text: TypeAlias = Annotated[bytes, TextFormat(bytes, "byte", _parse_base64, _render_base64)]
Base16Text: TypeAlias = Annotated[bytes, TextFormat(bytes, "base16", _parse_base16, bytes.hex)]
BinaryText: TypeAlias = Annotated[bytes, TextFormat(bytes, "binary", _parse_binary, _render_binary)]
