"""Conversion of the values that a handler returns or yields.

value                       its parts
str                         one text
dict, list, number, bool    one piece of JSON
model, dataclass, tuple     one piece of JSON
JSON_NULL                   the JSON value null
bytes                       one file without a name
Part, list with Parts       itself, one for each
Artifact, Message           its own
LastChunk                   those of its value

value        returned by a task's handler       as a message  yielded
Artifact     that artifact                      the message   that artifact, or more of it
Message      what the final status says         the message   what the status says
LastChunk    refused                            refused       as its value, with ``lastChunk``
Job          the task goes on until it is done  refused       refused
None         no result                          refused       refused
any other    artifact "result"                  the message   chunk of "result"

Models, dataclasses, dates, sets and whatever else Pydantic can serialize may also stand inside
lists and objects; a model is serialized under its JSON names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from typing import cast

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from a2a_contract.base import JSON_NULL, JsonNull
from a2a_contract.finite import list_lost_numbers
from a2a_contract.v1_0 import Artifact, Message, Part
from a2a_runtime.stores.fragments import encode_chunk, encode_text_part
from a2a_runtime.stores.models import Chunk

RESULT = "result"

BYTES = "application/octet-stream"
_RESULT_FACTS = encode_chunk(Artifact(artifact_id=RESULT, name=RESULT, parts=[])).facts
_JSON_TYPES: tuple[type, ...] = (dict, list, tuple, int, float, JsonNull)


@dataclass(frozen=True, slots=True)
class LastChunk:
    """A yielded value that is the last chunk of its artifact: only the handler knows that before it
    ends.
    """

    value: object


class ResultTypeError(TypeError):
    """A handler has returned a value that no message part can carry."""


def to_json_value(value: object, subject: str = "handler result") -> object:
    """Convert a value to JSON; models, dataclasses, dates and the like may stand in it at any
    depth.
    """
    try:
        jsonable: object = to_jsonable_python(value, by_alias=True)
        lost = list_lost_numbers(value, jsonable)
    except PydanticSerializationError as error:
        raise ResultTypeError(
            f"{subject}: {type(value).__qualname__} cannot be serialized as JSON: {error}"
        ) from error
    if lost:
        raise ResultTypeError(
            f"{subject}: {type(value).__qualname__} cannot be serialized as JSON: "
            f"{': '.join(lost[0])}"
        )
    return jsonable


def to_json_part(value: object, media_type: str | None = None) -> Part:
    """Convert a value to a part; ``None`` is null.

    Most values are JSON already, which only the part finds out.
    """
    data = JSON_NULL if value is None else value
    try:
        return Part(data=data, media_type=media_type)
    except ValidationError:
        return Part(data=to_json_value(data), media_type=media_type)


def to_parts(value: object) -> list[Part]:
    """Convert a value to message parts."""
    if isinstance(value, str):
        return [Part(text=str(value))]
    if isinstance(value, Part):
        return [value]
    if isinstance(value, LastChunk):
        raise ResultTypeError(
            "handler result: LastChunk marks a value that is yielded; return the value "
            "itself, which is whole"
        )
    if isinstance(value, Artifact | Message):
        return value.parts
    if isinstance(value, bytes | bytearray):
        return [Part(raw=bytes(value), media_type=BYTES)]
    if isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type)):
        return [Part(data=to_json_value(value))]
    if isinstance(value, _JSON_TYPES):
        return _list_parts(value)
    allowed = "text, JSON, a model, a dataclass, bytes, a Part, a Message or an Artifact"
    raise ResultTypeError(
        f"handler result: {type(value).__qualname__} is not supported; return {allowed}"
    )


def _list_parts(value: object) -> list[Part]:
    """Convert a JSON value; a list with parts is the parts of its items."""
    items = _list_items(value)
    if any(isinstance(each, Part) for each in items):
        parts: list[Part] = []
        for each in items:
            parts += to_parts(each)
        return parts
    return [to_json_part(value)]


def _list_items(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return cast("Sequence[object]", value)
    return ()


def to_artifact(value: object, *, is_lossy: bool = False) -> Artifact:
    """Convert a value to an artifact.

    A lossy conversion takes any value: one that is no JSON becomes the text of its ``str``.
    """
    if isinstance(value, Artifact):
        return value
    try:
        parts = to_parts(value)
    except (ResultTypeError, ValidationError):
        if not is_lossy:
            raise
        parts = [Part(text=json.dumps(value, default=str))]
    return Artifact(artifact_id=RESULT, name=RESULT, parts=parts)


def to_chunk(value: object, *, is_lossy: bool = False) -> Chunk:
    """Convert a value to a chunk of an artifact."""
    if type(value) is str:
        try:
            return Chunk(RESULT, _RESULT_FACTS, encode_text_part(value))
        except PydanticSerializationError:
            pass  # half a surrogate pair: the model names it
    return encode_chunk(to_artifact(value, is_lossy=is_lossy))


def find_data(parts: Sequence[Part]) -> object:
    """Find the first JSON part; ``None`` without one, ``JSON_NULL`` for null."""
    return next((part.data for part in parts if part.data is not None), None)
