"""Values in a document that know their place.

The builder reads tables and schemas through nodes: a node returns the value in the requested type,
and an empty value when it is missing or of another type. The meta-schema of a file reports wrong
forms with all places; so the builder has one path and never fails halfway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.ir import model
from a2a_gen.problems import Place
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key


@dataclass(frozen=True, slots=True)
class SourceNode:
    """A value, its document and its JSON pointer."""

    document: Document
    pointer: str
    data: Json

    @property
    def place(self) -> Place:
        """Return the place of the value."""
        return self.document.place_at(self.pointer)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.data, dict) and key in self.data

    def __getitem__(self, key: str) -> SourceNode:
        """Return a member; a missing one is ``None`` at the place where it would be."""
        value = self.data.get(key) if isinstance(self.data, dict) else None
        return SourceNode(self.document, f"{self.pointer}/{escape_key(key)}", value)

    def items(self) -> Iterator[SourceNode]:
        """Iterate over the items of an array."""
        if isinstance(self.data, list):
            for index, value in enumerate(self.data):
                yield SourceNode(self.document, f"{self.pointer}/{index}", value)

    def members(self) -> Iterator[tuple[str, SourceNode]]:
        """Iterate over the members of an object."""
        if isinstance(self.data, dict):
            for key in self.data:
                yield key, self[key]

    def text(self, default: str = "") -> str:
        """Return a string."""
        if isinstance(self.data, str):
            return self.data
        return default

    def optional_text(self) -> str | None:
        """Return a string that may be missing or null."""
        if isinstance(self.data, str):
            return self.data
        return None

    def flag(self) -> bool:
        """Return a boolean; a missing one is false."""
        return self.data is True

    def texts(self) -> tuple[str, ...]:
        """Return an array of strings."""
        return tuple(each.text() for each in self.items())

    def words(self) -> Mapping[str, str]:
        """Return an object whose values are strings."""
        return {key: each.text() for key, each in self.members()}

    def freeze(self) -> model.Json:
        """Return any value, with tuples for arrays."""
        return _freeze(self.data)


def _freeze(data: Json) -> model.Json:
    match data:
        case dict():
            return {key: _freeze(value) for key, value in data.items()}
        case list():
            return tuple(map(_freeze, data))
        case _:
            return data
