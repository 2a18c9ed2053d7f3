"""Values of protocol buffers: free JSON in Struct and Value, timestamps, and the wire format of
what is written.

    reading     message of upb ── read_* ──► JSON as Python objects; what JSON cannot express
                becomes an ``Unreadable`` at its place
    writing     JSON as Python objects ── write_* ──► wire format; what a message cannot carry
                raises ``UnwritableError`` with its place

Numbers of a Value are doubles: integers that a double does not hold are refused, never rounded.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
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
"""Items of one list that are read: an empty message takes two bytes on the wire and a thousand
times as much as an object.
"""

_MAX_LEVELS: Final = 80
"""Levels of messages in a Value; readers of protocol buffers stop at 100, and envelopes are above
it.
"""
_LIST_LEVELS = 2
_OBJECT_LEVELS = 3
_EXACT: Final = 2**53
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_INT32: Final = 2**31
_LARGEST_INT64: Final = 2**63
_SEVEN_BITS: Final = 0x80
_BYTES_TYPE: Final = 2
_SECOND_CHARS = len("2026-01-31T12:00:00")
_MILLIS_CHARS = len("2026-01-31T12:00:00.000Z")
_ALL_BITS: Final = (1 << 64) - 1
_NANOS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Codec:
    """A message by its full name, with the functions that read and write it."""

    name: str
    read: Callable[[Theirs], Json]
    write: Callable[[Ours], bytes]
    pool: str = ""
    """The dialect with descriptors of its own that the message belongs to."""


EMPTY: Final = Codec("google.protobuf.Empty", lambda _: {}, lambda _: b"")


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
        self.reason = reason
        self.path = path


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
    except PydanticSerializationError:
        # The value holds an ``Unreadable``.
        raise UnreadableError(tuple(_find_unreadable(document, ""))) from None


def write_message(codec: Codec, json: bytes) -> bytes:
    """Write the JSON of a dialect as a message."""
    document = from_json(json)
    try:
        return codec.write(document)
    except (UnwritableError, UnicodeEncodeError) as error:
        path = next(_find_unwritable(document, ""), "")
        raise UnwritableError(
            error.reason if isinstance(error, UnwritableError) else "is no Unicode text", path
        ) from None


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
        except (UnwritableError, UnicodeEncodeError):
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
    read = _READ_KINDS.get(theirs.WhichOneof("kind"))
    if read is None:
        return Unreadable("is a Value without a kind")
    return read(theirs)


def _read_number(number: float) -> object:
    if number.is_integer() and -_EXACT <= number <= _EXACT:
        if number or copysign(1.0, number) > 0:
            return int(number)
        return number
    if isfinite(number):
        return number
    return Unreadable("is no finite number")


_READ_KINDS: Final[Mapping[str | None, Callable[[Theirs], object]]] = {
    "string_value": lambda theirs: theirs.string_value,
    "number_value": lambda theirs: _read_number(theirs.number_value),
    "struct_value": lambda theirs: read_struct(theirs.struct_value),
    "list_value": lambda theirs: read_list(theirs.list_value.values, read_value),
    "bool_value": lambda theirs: theirs.bool_value,
    "null_value": lambda _: None,
}


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


def put_varint(out: bytearray, number: int) -> None:
    """Append a number in groups of seven bits, the lowest first."""
    while number >= _SEVEN_BITS:
        out.append(number & 0x7F | _SEVEN_BITS)
        number >>= 7
    out.append(number)


class Heads(dict[int, bytes]):
    """Beginnings of a field with bytes, by their size: its tag and the size."""

    def __init__(self, number: int) -> None:
        tag = bytearray()
        put_varint(tag, number << 3 | _BYTES_TYPE)
        super().__init__((size, bytes((*tag, size))) for size in range(_SEVEN_BITS))
        self._tag = bytes(tag)

    def __missing__(self, size: int) -> bytes:
        head = bytearray(self._tag)
        put_varint(head, size)
        return bytes(head)


@cache
def heads(number: int) -> Heads:
    """Build the beginnings of the fields of a number."""
    return Heads(number)


_KEY, _ENTRY_VALUE, _TEXT, _OBJECT, _LIST = map(heads, (1, 2, 3, 5, 6))
_ENTRY = _ITEM = _KEY


class Words(dict[str, bytes]):
    """Fields with the number of a word, by the words."""

    def __init__(self, tag: bytes, numbers: Mapping[str, int]) -> None:
        super().__init__((word, write_number(tag, number)) for word, number in numbers.items())

    def __missing__(self, word: str) -> bytes:
        raise UnwritableError(f"{word!r} has no number in protocol buffers")


def write_number(tag: bytes, number: int) -> bytes:
    """Write a field with an integer, a boolean or the number of a word."""
    if not -_LARGEST_INT32 <= number < _LARGEST_INT32:
        raise UnwritableError("does not fit into 32 bits")
    return _write_varint(tag, number)


def write_long(tag: bytes, number: int) -> bytes:
    """Write a field with an integer of 64 bits."""
    if not -_LARGEST_INT64 <= number < _LARGEST_INT64:
        raise UnwritableError("does not fit into 64 bits")
    return _write_varint(tag, number)


def _write_varint(tag: bytes, number: int) -> bytes:
    out = bytearray(tag)
    put_varint(out, number & _ALL_BITS)
    return bytes(out)


def base64_bytes(text: str) -> bytes:
    """Decode bytes that ``base64_text`` or a model encoded."""
    return b64decode(text)


def map_items(ours: Ours | None) -> Iterable[tuple[str, Any]]:
    """List the items of a map that may be absent."""
    return (ours or {}).items()


def map_entry(key: str, value: bytes) -> bytes:
    """Write the entry of a map."""
    name = key.encode()
    return b"".join((_KEY[len(name)], name, _ENTRY_VALUE[len(value)], value))


def write_struct(ours: Ours, levels: int = 0) -> bytes:
    """Write a JSON object."""
    out: list[bytes] = []
    for key, each in ours.items():
        entry = map_entry(key, write_value(each, levels))
        out += _ENTRY[len(entry)], entry
    return b"".join(out)


def write_value(ours: object, levels: int = 0) -> bytes:
    """Write any JSON value."""
    if isinstance(ours, str):
        data = ours.encode()
        return _TEXT[len(data)] + data
    if ours is None:
        return b"\x08\x00"
    if isinstance(ours, bool):
        if ours:
            return b"\x20\x01"
        return b"\x20\x00"
    if isinstance(ours, int | float):
        return b"\x11" + pack("<d", _to_double(ours))
    if levels > _MAX_LEVELS:
        raise UnwritableError("is nested deeper than readers of protocol buffers accept")
    return _write_container(ours, levels)


def _write_container(ours: object, levels: int) -> bytes:
    if is_json_object(ours):
        head = _OBJECT
        data = write_struct(ours, levels + _OBJECT_LEVELS)
    elif is_json_array(ours):
        out: list[bytes] = []
        for each in ours:
            item = write_value(each, levels + _LIST_LEVELS)
            out += _ITEM[len(item)], item
        head = _LIST
        data = b"".join(out)
    else:
        return b""
    return head[len(data)] + data


def _to_double(number: float) -> float:
    try:
        double = float(number)
    except OverflowError:
        double = 0.0
    if double != number:
        raise UnwritableError(
            "is an integer beyond 2^53, which a number of protocol buffers cannot hold; send "
            "it as text"
        )
    return double


def write_timestamp(ours: str) -> bytes:
    """Write a timestamp.

    Those with milliseconds in UTC, as models write them, are cached by their second.
    """
    if len(ours) == _MILLIS_CHARS and ours[_SECOND_CHARS] == "." and ours[-1] == "Z":
        return _write_second(ours[:_SECOND_CHARS]) + _write_millis(ours[_SECOND_CHARS:])
    return _write_moment(ours)


@lru_cache(maxsize=1024)
def _write_second(text: str) -> bytes:
    return _write_moment(f"{text}Z")


@lru_cache(maxsize=1000)
def _write_millis(fraction: str) -> bytes:
    return _write_moment(f"1970-01-01T00:00:00{fraction}")


def _write_moment(text: str) -> bytes:
    passed = timestamp_from_text(text) - _EPOCH
    out = bytearray()
    if seconds := passed.days * 86_400 + passed.seconds:
        out += b"\x08"
        put_varint(out, seconds & _ALL_BITS)
    if passed.microseconds:
        out += b"\x10"
        put_varint(out, passed.microseconds * 1000)
    return bytes(out)
