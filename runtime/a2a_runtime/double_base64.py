"""Bytes of files as a2a-sdk 0.3 for Python has them over HTTP+JSON: base64 of base64.

Its ProtoJSON form of 0.3 carries the text of the base64 as bytes, which JSON encodes once more: ``ff fe 00`` is ``Ly80QQ==`` instead of ``//4A``.
Nothing in a request shows that, so both sides have a switch. Pure functions over JSON; everything but files stays as it is.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable

from pydantic_core import from_json, to_json

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v0_3_proto import FilePart, Part

_BYTES = FilePart.wire_name("file_with_bytes")
_NAMES = (_BYTES, "file_with_bytes")
_MARKS = tuple(f'"{name}"'.encode() for name in _NAMES)
_FREE = frozenset((Part.wire_name("data"), Part.wire_name("metadata")))
"""Members with data of applications, in which nothing is a file."""


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
    return {
        name: convert(each) if name in _NAMES and isinstance(each, str) else each if name in _FREE else _walk(each, convert)
        for name, each in value.items()
    }
