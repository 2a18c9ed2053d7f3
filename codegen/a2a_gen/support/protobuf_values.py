"""Values of protocol buffers: free JSON in Struct and Value, timestamps, and the wire format of what is written.

    reading     message of upb ── read_* ──► JSON as Python objects; what JSON cannot express becomes an ``Unreadable`` at its place
    writing     JSON as Python objects ── write_* ──► wire format; what a message cannot carry raises ``UnwritableError`` with its place

Numbers of a Value are doubles: integers that a double does not hold are refused, never rounded.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import copysign, isfinite
from struct import pack
from typing import Any, Final, TypeAlias

from pydantic_core import PydanticSerializationError, from_json, to_json

from .binding import AnyBinding
from .json_types import is_json_array, is_json_object
from .scalars import timestamp_from_text

Json: TypeAlias = dict[str, object]
Theirs: TypeAlias = Any
"""A message of any implementation of protocol buffers, or a container of such."""
Ours: TypeAlias = Mapping[str, Any]
"""JSON of a dialect, which its own model has checked."""

MAX_ITEMS: Final = 100_000
"""Items of one list that are read: an empty message takes two bytes on the wire and a thousand times as much as an object."""

_MAX_LEVELS: Final = 80
"""Levels of messages in a Value; readers of protocol buffers stop at 100, and envelopes are above it."""
_LIST_LEVELS, _OBJECT_LEVELS = 2, 3
_EXACT: Final = 2**53
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_INT32: Final = 2**31
_SEVEN_BITS: Final = 0x80
_ALL_BITS: Final = (1 << 64) - 1
_NANOS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Codec:
    """A message by its full name, with the functions that read and write it."""

    name: str
    read: Callable[[Theirs], Json]
    write: Callable[[Ours], bytearray]


EMPTY: Final = Codec("google.protobuf.Empty", lambda _: {}, lambda _: bytearray())


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a service: its path, the operation in its dialect, and its messages."""

    path: str
    binding: AnyBinding
    request: Codec
    response: Codec


class UnwritableError(ValueError):
    """A value that no message can carry, with its place."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason, self.path = reason, path


class UnreadableError(ValueError):
    """A message with values that JSON cannot express, each with its place."""

    def __init__(self, fields: tuple[tuple[str, str], ...]) -> None:
        super().__init__("; ".join(f"{path}: {reason}" for path, reason in fields))
        self.fields = fields


class Unreadable:
    """Stands for a value that JSON cannot express."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


def read_message(codec: Codec, message: object) -> bytes:
    """Read a message as the JSON of its dialect."""
    document = codec.read(message)
    try:
        return to_json(document)
    except PydanticSerializationError:  # an ``Unreadable``
        raise UnreadableError(tuple(_find_unreadable(document, ""))) from None


def write_message(codec: Codec, json: bytes) -> bytes:
    """Write the JSON of a dialect as a message."""
    document = from_json(json)
    try:
        return bytes(codec.write(document))
    except UnwritableError as error:
        path = next(_find_unwritable(document, ""), "")
        raise UnwritableError(error.reason, path) from None


def _find_unreadable(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Unreadable):
        yield path, value.reason
    elif is_json_object(value):
        for key, each in value.items():
            yield from _find_unreadable(each, f"{path}.{key}" if path else key)
    elif is_json_array(value):
        for index, each in enumerate(value):
            yield from _find_unreadable(each, f"{path}[{index}]")


def _find_unwritable(value: object, path: str) -> Iterator[str]:
    if is_json_object(value):
        for key, each in value.items():
            yield from _find_unwritable(each, f"{path}.{key}" if path else key)
    elif is_json_array(value):
        for index, each in enumerate(value):
            yield from _find_unwritable(each, f"{path}[{index}]")
    else:
        try:
            write_value(value)
        except UnwritableError:
            yield path


# --- reading ---


def read_list(theirs: Theirs, read: Callable[[Theirs], object]) -> object:
    """Read the items of a repeated field."""
    if len(theirs) > MAX_ITEMS:
        return Unreadable(f"has more than {MAX_ITEMS} items")
    return [read(each) for each in theirs]


def read_struct(theirs: Theirs) -> object:
    """Read a JSON object."""
    fields = theirs.fields
    if len(fields) > MAX_ITEMS:
        return Unreadable(f"has more than {MAX_ITEMS} members")
    return {key: read_value(each) for key, each in fields.items()}


def read_value(theirs: Theirs) -> object:
    """Read any JSON value; an integral number is an integer as far as doubles are exact."""
    kind = theirs.WhichOneof("kind")
    if kind == "string_value":
        return theirs.string_value
    if kind == "number_value":
        return _read_number(theirs.number_value)
    if kind == "struct_value":
        return read_struct(theirs.struct_value)
    if kind == "list_value":
        return read_list(theirs.list_value.values, read_value)
    if kind == "bool_value":
        return theirs.bool_value
    return None if kind == "null_value" else Unreadable("is a Value without a kind")


def _read_number(number: float) -> object:
    if number.is_integer() and -_EXACT <= number <= _EXACT:
        return int(number) if number or copysign(1.0, number) > 0 else number
    return number if isfinite(number) else Unreadable("is no finite number")


def base64_text(data: bytes) -> str:
    """Encode bytes as JSON has them."""
    return b64encode(data).decode()


def read_timestamp(theirs: Theirs) -> object:
    """Read a timestamp as text; digits beyond microseconds are cut."""
    try:
        if 0 <= theirs.nanos < _NANOS:
            moment = _EPOCH + timedelta(seconds=theirs.seconds, microseconds=theirs.nanos // 1000)
            return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
    except OverflowError:
        pass
    return Unreadable("is outside of the range of timestamps")


# --- writing ---


def put_text(out: bytearray, tag: bytes, text: str) -> None:
    """Append a text."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise UnwritableError("is no Unicode text") from None
    put_message(out, tag, data)


def put_message(out: bytearray, tag: bytes, data: bytes | bytearray) -> None:
    """Append bytes, or a message."""
    out += tag
    size = len(data)
    if size < _SEVEN_BITS:
        out.append(size)
    else:
        put_varint(out, size)
    out += data


def put_number(out: bytearray, tag: bytes, number: int) -> None:
    """Append an integer, a boolean or the number of a word."""
    if not -_LARGEST_INT32 <= number < _LARGEST_INT32:
        raise UnwritableError("does not fit into 32 bits")
    out += tag
    put_varint(out, number & _ALL_BITS)


def put_varint(out: bytearray, number: int) -> None:
    """Append a number in groups of seven bits, the lowest first."""
    while number >= _SEVEN_BITS:
        out.append(number & 0x7F | _SEVEN_BITS)
        number >>= 7
    out.append(number)


def number_of(numbers: Mapping[str, int], word: str) -> int:
    """Return the number of a word."""
    try:
        return numbers[word]
    except KeyError:
        raise UnwritableError(f"{word!r} has no number in protocol buffers") from None


def base64_bytes(text: str) -> bytes:
    """Decode bytes that ``base64_text`` or a model encoded."""
    return b64decode(text)


def map_items(ours: Ours | None) -> Iterable[tuple[str, Any]]:
    """List the items of a map that may be absent."""
    return (ours or {}).items()


def map_entry(key: str) -> bytearray:
    """Begin the entry of a map."""
    entry = bytearray()
    put_text(entry, b"\n", key)
    return entry


def write_struct(ours: Ours, levels: int = 0) -> bytearray:
    """Write a JSON object."""
    out = bytearray()
    for key, each in ours.items():
        entry = map_entry(key)
        put_message(entry, b"\x12", write_value(each, levels))
        put_message(out, b"\n", entry)
    return out


def write_value(ours: object, levels: int = 0) -> bytes | bytearray:
    """Write any JSON value."""
    if isinstance(ours, str):
        out = bytearray()
        put_text(out, b"\x1a", ours)
        return out
    if ours is None:
        return b"\x08\x00"
    if isinstance(ours, bool):
        return b"\x20\x01" if ours else b"\x20\x00"
    if isinstance(ours, int | float):
        return b"\x11" + pack("<d", _to_double(ours))
    if levels > _MAX_LEVELS:
        raise UnwritableError("is nested deeper than readers of protocol buffers accept")
    out, inner = bytearray(), bytearray()
    if is_json_object(ours):
        put_message(out, b"*", write_struct(ours, levels + _OBJECT_LEVELS))
    elif is_json_array(ours):
        for each in ours:
            put_message(inner, b"\n", write_value(each, levels + _LIST_LEVELS))
        put_message(out, b"2", inner)
    return out


def _to_double(number: float) -> float:
    try:
        double = float(number)
    except OverflowError:
        double = 0.0
    if double != number:
        raise UnwritableError("is an integer beyond 2^53, which a number of protocol buffers cannot hold; send it as text")
    return double


def write_timestamp(ours: str) -> bytearray:
    """Write a timestamp."""
    passed = timestamp_from_text(ours) - _EPOCH
    out = bytearray()
    if seconds := passed.days * 86_400 + passed.seconds:
        out += b"\x08"
        put_varint(out, seconds & _ALL_BITS)
    if passed.microseconds:
        out += b"\x10"
        put_varint(out, passed.microseconds * 1000)
    return out
