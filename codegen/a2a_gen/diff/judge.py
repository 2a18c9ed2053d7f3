"""A real validator for each side: whether a document is what a node asks for. Every witness has to convince two of them."""

from __future__ import annotations

from functools import cached_property

import jsonschema_rs

from a2a_gen.diff.node import Node
from a2a_gen.diff.tree import Spot, Tree
from a2a_gen.source.json_text import Json

_HOME = "contract:///"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=2_000_000)


class Judge:
    """The validators of one tree, made when they are needed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._made: dict[tuple[Spot, ...], jsonschema_rs.Validator | None] = {}

    def accepts(self, node: Node, value: Json) -> bool | None:
        """Ask; without an answer when the schema cannot be made into a validator, or a pattern takes too long."""
        validator = self._validator(node.spots)
        if validator is None:
            return None
        try:
            return validator.is_valid(value)
        except (ValueError, jsonschema_rs.ValidationError):
            return None

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        return jsonschema_rs.Registry([(_HOME + path, _schema(document.data)) for path, document in self._tree.documents.items()])

    def _validator(self, spots: tuple[Spot, ...]) -> jsonschema_rs.Validator | None:
        if spots not in self._made:
            asked: dict[str, Json] = {"$schema": _DRAFT, "allOf": [{"$ref": f"{_HOME}{spot.file}#{_fragment(spot.pointer)}"} for spot in spots]}
            try:
                self._made[spots] = jsonschema_rs.validator_for(
                    asked if spots else True, registry=self._registry, validate_formats=True, pattern_options=_PATTERNS, offline=True
                )
            except (ValueError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
                self._made[spots] = None
        return self._made[spots]


def _schema(data: Json) -> Json:
    """Take the identifier from a file: it is found by its path here."""
    return {word: value for word, value in data.items() if word != "$id"} if isinstance(data, dict) else data


def _fragment(pointer: str) -> str:
    return "".join(each if each.isalnum() or each in "/~$-._" else "".join(f"%{byte:02X}" for byte in each.encode()) for each in pointer)
