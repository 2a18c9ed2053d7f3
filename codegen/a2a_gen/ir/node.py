"""A value in a document that knows where it stands.

The builder reads tables and schemas through nodes: a node gives what is there in the type that is asked for, and an empty value when it is not there
or is something else. That the form of a file is right is for its meta-schema to say, with all places; so the builder has one path and never fails
halfway.
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
        """Where the value stands."""
        return self.document.place_at(self.pointer)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.data, dict) and key in self.data

    def __getitem__(self, key: str) -> SourceNode:
        """Step down to a member; one that is not there is ``None`` at the place where it would be."""
        value = self.data.get(key) if isinstance(self.data, dict) else None
        return SourceNode(self.document, f"{self.pointer}/{escape_key(key)}", value)

    def items(self) -> Iterator[SourceNode]:
        """Go through the items of an array."""
        if isinstance(self.data, list):
            for index, value in enumerate(self.data):
                yield SourceNode(self.document, f"{self.pointer}/{index}", value)

    def members(self) -> Iterator[tuple[str, SourceNode]]:
        """Go through the members of an object."""
        if isinstance(self.data, dict):
            for key in self.data:
                yield key, self[key]

    def text(self, default: str = "") -> str:
        """Read a string."""
        return self.data if isinstance(self.data, str) else default

    def optional_text(self) -> str | None:
        """Read a string that may be missing or null."""
        return self.data if isinstance(self.data, str) else None

    def flag(self) -> bool:
        """Read a boolean, which is false when it is missing."""
        return self.data is True

    def texts(self) -> tuple[str, ...]:
        """Read an array of strings."""
        return tuple(each.text() for each in self.items())

    def words(self) -> Mapping[str, str]:
        """Read an object whose values are strings."""
        return {key: each.text() for key, each in self.members()}

    def frozen(self) -> model.Json:
        """Read any value, with tuples for arrays."""
        return _frozen(self.data)


def _frozen(data: Json) -> model.Json:
    match data:
        case dict():
            return {key: _frozen(value) for key, value in data.items()}
        case list():
            return tuple(map(_frozen, data))
        case _:
            return data
