"""The input of a module, from the parts of a message.

part      an object is expected                  a text is expected       no schema
data      its value                              its value                its value
text      the JSON in it; else the value of      the text                 the JSON object in it, or
          the only property, if that is a text                            ``{"text": …}``
file      ``{uri, name, mimeType}``, if the      refused                  refused
          schema has a ``uri``

The first part of a declared media type counts; a text for an object is the last resort. The module
finds the others in its context.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic_core import from_json

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.errors import ContentTypeNotSupportedError, InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import Part

NO_PARTS = "Message must contain at least one Part"
NOT_JSON = "Invalid JSON in TextPart"

_URI = "uri"
_OPEN_DATA = "data:{};base64,{}"


class SelectedPart(NamedTuple):
    """The part that holds the input."""

    position: int
    value: object


@dataclass(frozen=True)
class InputReader:
    """Reads the input of one module."""

    schema: JsonObject | None

    def __call__(self, parts: Sequence[Part]) -> object:
        """Return the input, or raise ``InvalidParamsError``."""
        return self.select(parts).value

    def select(self, parts: Sequence[Part]) -> SelectedPart:
        """Select the part with the input."""
        if not parts:
            raise InvalidParamsError(NO_PARTS, fields=(("message.parts", NO_PARTS),))
        for index, part in enumerate(parts):
            if part.data is not None:
                value = None if part.data is JSON_NULL else part.data
                return SelectedPart(index, value)
            if part.text is not None and self._takes_text:
                return SelectedPart(index, self._read_text(part.text, index))
            if part.text is None and self._file_property is not None:
                return SelectedPart(index, self._wrap_file(part))
        for index, part in enumerate(parts):
            if part.text is not None:
                return SelectedPart(index, self._read_text(part.text, index))
        raise ContentTypeNotSupportedError(
            fields=tuple(
                (f"message.parts[{index}]", "The skill takes no files")
                for index in range(len(parts))
            )
        )

    @cached_property
    def _is_text(self) -> bool:
        return self.schema is not None and self.schema.get("type") == "string"

    @cached_property
    def _text_property(self) -> str | None:
        if self.schema is None:
            return "text"
        return find_text_property(self.schema)

    @cached_property
    def _takes_text(self) -> bool:
        return self._is_text or self._text_property is not None

    @cached_property
    def _file_property(self) -> str | None:
        return find_file_property(self.schema)

    def _read_text(self, text: str, index: int) -> object:
        if self._is_text:
            return text
        try:
            value: object = from_json(text, allow_inf_nan=False)
        except ValueError:
            value = None
        if is_json_object(value):
            return value
        if self._text_property is not None:
            return {self._text_property: text}
        raise InvalidParamsError(
            NOT_JSON, fields=((f"message.parts[{index}].text", "The skill takes a JSON object"),)
        )

    def _wrap_file(self, part: Part) -> JsonObject:
        uri = part.url or _OPEN_DATA.format(
            part.media_type or "", base64.b64encode(part.raw or b"").decode()
        )
        members = ((_URI, uri), ("name", part.filename), ("mimeType", part.media_type))
        file: JsonObject = {name: value for name, value in members if value is not None}
        if self._file_property:
            return {self._file_property: file}
        return file


def find_text_property(schema: JsonObject) -> str | None:
    """Find the only property of an object, if it is a text."""
    properties = schema.get("properties")
    if not is_json_object(properties) or len(properties) != 1:
        return None
    ((name, each),) = properties.items()
    if is_json_object(each) and each.get("type") == "string":
        return name
    return None


def find_file_property(schema: JsonObject | None) -> str | None:
    """Find the property that is a file: empty if the input itself is one, ``None`` if there is
    none.
    """
    properties = (schema or {}).get("properties")
    if not is_json_object(properties):
        return None
    if _URI in properties:
        return ""
    definitions = (schema or {}).get("$defs")
    for name, each in properties.items():
        target = each
        if (
            is_json_object(each)
            and isinstance(reference := each.get("$ref"), str)
            and is_json_object(definitions)
        ):
            target = definitions.get(reference.rpartition("/")[2])
        if (
            is_json_object(target)
            and is_json_object(inner := target.get("properties"))
            and _URI in inner
        ):
            return name
    return None
