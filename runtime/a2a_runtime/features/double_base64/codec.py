"""Bytes of files as a2a-sdk for Python has them in 0.3 over HTTP+JSON and gRPC: base64 of base64.

Its messages of 0.3 carry the text of the base64 as bytes. HTTP+JSON, the ProtoJSON of these
messages, encodes it once more: ``ff fe 00`` is ``Ly80QQ==`` instead of ``//4A``. So 0.3 over gRPC
is ProtoJSON here too when its files are converted. Nothing in a request shows who sent it, so both
sides have a switch. Functions over JSON and bindings; everything but files stays as it is.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace

from pydantic_core import from_json, to_json

from a2a_contract.base import Encoded, WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import V0_3_PROTO
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v0_3_proto import FilePart, Part

_BYTES = FilePart.wire_name("file_with_bytes")
_NAMES = (_BYTES, "file_with_bytes")
_MARKS = tuple(f'"{name}"'.encode() for name in _NAMES)
_FREE = frozenset((Part.wire_name("data"), Part.wire_name("metadata")))
"""Members with data of applications, in which nothing is a file."""


def has_double_base64(dialect: str) -> bool:
    """Tell whether the files of a dialect are those that the SDK encodes twice."""
    return dialect == V0_3_PROTO.name


def encode_files_twice(binding: AnyBinding) -> AnyBinding:
    """Return a binding whose results have files that are encoded twice; one of another dialect
    stays as it is.
    """
    serialize = binding.serialize
    if serialize is None or not has_double_base64(binding.dialect):
        return binding

    def serialize_twice(answer: Encoded[WireModel]) -> bytes:
        return encode_twice(serialize(answer))

    return replace(binding, serialize=serialize_twice)


def encode_twice(document: bytes) -> bytes:
    """Encode the bytes of all files once more."""
    return _convert(document, lambda text: b64encode(text.encode()).decode())


def decode_once(document: bytes) -> bytes:
    """Decode the bytes of all files once; what is no base64 of base64 stays as it is."""
    return _convert(document, _decode)


def _decode(text: str) -> str:
    try:
        inner = b64decode(text, validate=True).decode("ascii")
        b64decode(inner, validate=True)
    except ValueError:
        return text
    return inner


def _convert(document: bytes, convert: Callable[[str], str]) -> bytes:
    if not any(mark in document for mark in _MARKS):
        return document
    try:
        parsed: object = from_json(document)
    except ValueError:  # reported by the reader of the document
        return document
    return to_json(_walk(parsed, convert))


def _walk(value: object, convert: Callable[[str], str]) -> object:
    if is_json_array(value):
        return [_walk(each, convert) for each in value]
    if not is_json_object(value):
        return value
    converted: dict[str, object] = {}
    for name, each in value.items():
        if name in _NAMES and isinstance(each, str):
            converted[name] = convert(each)
        elif name in _FREE:
            converted[name] = each
        else:
            converted[name] = _walk(each, convert)
    return converted
