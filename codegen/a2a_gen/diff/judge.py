"""A real validator for each side: whether a document is what a node asks for. Every witness has to convince two of them.

A place is compiled with everything that it refers to. Where that is a great deal, only with what a document can touch: what is said about a member
that occurs nowhere in the document can neither take nor refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema_rs

from a2a_gen.diff.node import Node
from a2a_gen.diff.pattern import OPTIONS
from a2a_gen.diff.tree import Spot, Tree
from a2a_gen.source.json_text import Json
from a2a_gen.source.positions import escaped

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
_NAMES_OF_FILES = frozenset({"$id", "$schema", "$anchor"})
_MANY = 120


class Judge:
    """The validators of one tree, made when they are needed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._large: set[Spot] = set()
        self._made: dict[tuple[Spot, frozenset[str] | None], jsonschema_rs.Validator | None] = {}

    def accepts(self, node: Node, value: Json) -> bool | None:
        """Ask; without an answer when a schema cannot be made into a validator, or a pattern takes too long."""
        answers = [self._one(spot, value) for spot in node.spots]
        return False if False in answers else None if None in answers else True

    def _one(self, spot: Spot, value: Json) -> bool | None:
        validator = self._validator(spot, value)
        try:
            return None if validator is None else validator.is_valid(value)
        except (ValueError, jsonschema_rs.ValidationError):
            return None

    def _validator(self, spot: Spot, value: Json) -> jsonschema_rs.Validator | None:
        touched = frozenset(_names(value)) if spot in self._large else None
        if (spot, touched) not in self._made:
            schema = _Bundle(self._tree, touched).of(spot)
            if schema is None:
                self._large.add(spot)
                return self._validator(spot, value)
            try:
                made = jsonschema_rs.validator_for(schema, validate_formats=True, pattern_options=OPTIONS, offline=True)
            except (ValueError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
                made = None
            self._made[spot, touched] = made
        return self._made[spot, touched]


class _Bundle:
    """One place and all that it refers to, as a schema of its own."""

    def __init__(self, tree: Tree, touched: frozenset[str] | None) -> None:
        self._tree = tree
        self._touched = touched
        self._numbers: dict[Spot, int] = {}

    def of(self, spot: Spot) -> dict[str, Json] | None:
        """Write the schema; nothing when it becomes large and nobody has said what a document touches."""
        waiting, definitions = [spot], dict[str, Json]()
        self._numbers[spot] = 0
        while waiting:
            current = waiting.pop()
            known = len(self._numbers)
            definitions[str(self._numbers[current])] = self._moved(current)
            if self._touched is None and len(self._numbers) > _MANY:
                return None
            waiting += list(self._numbers)[known:]
        root = self._tree.documents[spot.file].data
        draft = root.get("$schema", _DRAFT) if isinstance(root, dict) else _DRAFT
        return {"$schema": draft, "allOf": [{"$ref": "#/$defs/0"}], "$defs": definitions}

    def _moved(self, spot: Spot) -> Json:
        data = spot.data
        if isinstance(data, list):
            return [self._moved(Spot(spot.file, f"{spot.pointer}/{index}", each)) for index, each in enumerate(data)]
        return dict(self._members(spot, data)) if isinstance(data, dict) else data

    def _members(self, spot: Spot, data: dict[str, Json]) -> Iterator[tuple[str, Json]]:
        for word, value in data.items():
            if word == "$ref" and isinstance(value, str):
                target = self._tree.target(spot, value)
                yield word, value if target is None else f"#/$defs/{self._numbers.setdefault(target, len(self._numbers))}"
            elif word in _DATA:
                yield word, value
            elif word == "properties" and isinstance(value, dict) and self._touched is not None:
                yield word, {name: self._moved(Spot(spot.file, "", each)) if name in self._touched else True for name, each in value.items()}
            elif not (word in _NAMES_OF_FILES and isinstance(value, str)):
                yield word, self._moved(Spot(spot.file, f"{spot.pointer}/{escaped(word)}", value))


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each)
