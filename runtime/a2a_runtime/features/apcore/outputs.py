"""The output of a module as an artifact.

output               its parts
object, list         data
text                 text
bytes                a file
bytes in an object   a file for each, and the other members as data
``None``             none
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.engine.handlers.results import BYTES, RESULT, to_json_value

_JSON = "application/json"
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)
"""First bytes of files, by media type."""
_RIFF_KINDS = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_TYPE_NAMES = ("media_type", "mediaType", "mime_type", "mimeType", "content_type", "contentType")
_FILE_NAMES = ("filename", "file_name", "name")


class _FoundFile(NamedTuple):
    path: tuple[str, ...]
    data: bytes
    beside: JsonObject
    """The object that holds the bytes."""


def build_artifact(output: object) -> Artifact:
    """Build the artifact of an output; a chunk of a stream is one as well."""
    return Artifact(artifact_id=RESULT, name=RESULT, parts=list(_build_parts(output)))


def _build_parts(output: object) -> Iterator[Part]:
    if isinstance(output, BaseModel):
        output = output.model_dump(by_alias=True)
    if output is None:
        return
    if isinstance(output, str):
        yield Part(text=output)
    elif isinstance(output, bytes | bytearray):
        yield Part(raw=bytes(output), media_type=detect_media_type(bytes(output)))
    elif is_json_object(output):
        yield from _build_object_parts(output)
    else:
        yield _build_data(output)


def _build_data(value: object) -> Part:
    """Build a part with its media type, which parts of 0.3 hold in their metadata."""
    return Part(data=to_json_value(value), media_type=_JSON, metadata={"mediaType": _JSON})


def _build_object_parts(output: JsonObject) -> Iterator[Part]:
    """Build a file for each member with bytes.

    Members that describe the only file beside them are its name and media type, and no data.
    """
    files = [*_find_bytes(output, ())]
    rest = _drop_bytes(output)
    if len(files) == 1 and files[0].beside is output and is_json_object(rest):
        rest = {
            name: value for name, value in rest.items() if name not in {*_TYPE_NAMES, *_FILE_NAMES}
        }
    if rest or not files:
        yield _build_data(rest)
    for file in files:
        filename = _find_text(file.beside, _FILE_NAMES)
        media_type = _find_text(file.beside, _TYPE_NAMES) or detect_media_type(
            file.data, filename or ""
        )
        yield Part(raw=file.data, filename=filename or ".".join(file.path), media_type=media_type)


def _find_bytes(value: object, path: tuple[str, ...]) -> Iterator[_FoundFile]:
    members: JsonObject = {}
    if is_json_object(value):
        members = value
    elif is_json_array(value):
        members = {str(position): each for position, each in enumerate(value)}
    for name, each in members.items():
        if isinstance(each, bytes | bytearray):
            yield _FoundFile((*path, name), bytes(each), members)
        else:
            yield from _find_bytes(each, (*path, name))


def _drop_bytes(value: object) -> object:
    if is_json_object(value):
        return {
            name: _drop_bytes(each)
            for name, each in value.items()
            if not isinstance(each, bytes | bytearray)
        }
    if is_json_array(value):
        return [_drop_bytes(each) for each in value if not isinstance(each, bytes | bytearray)]
    return value


def _find_text(beside: JsonObject, names: tuple[str, ...]) -> str | None:
    for name in names:
        text = beside.get(name)
        if isinstance(text, str) and text:
            return text
    return None


def detect_media_type(data: bytes, filename: str = "") -> str:
    """Detect the media type of bytes by their name, or by how they begin."""
    if (by_name := mimetypes.guess_type(filename)[0]) is not None:
        return by_name
    if data[:4] == b"RIFF" and (kind := _RIFF_KINDS.get(data[8:12])) is not None:
        return kind
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    return "text/plain" if _is_text(data) else BYTES


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    if text.isprintable():
        return True
    return not any(ord(each) < ord(" ") and each not in "\t\n\r" for each in text)
