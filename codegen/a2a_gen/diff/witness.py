"""Witnesses: documents that one side takes and the other refuses, as small as can be found, and confirmed by validators of both.

A change is somewhere below a definition. First a value is looked for near the border, right where the change is; then a document of the definition is
put around it, step by step outwards; then everything that is not needed is taken away again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import jsonschema_rs

from a2a_gen.diff import canonical
from a2a_gen.diff.change import ChildPair, NodePair, SchemaChange, Step
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.regex import PATTERN_OPTIONS, generate_matches
from a2a_gen.diff.samples import Sampler
from a2a_gen.diff.schema_node import SchemaLocation, SchemaNode, SchemaTree
from a2a_gen.diff.value_set import Alternative, ComparisonTooLargeError
from a2a_gen.source.json_text import Json, escape_key

# A real validator for each side: whether a document is what a node asks for. Every witness has to convince two of them.
#
# A place is compiled with everything that it refers to. Where that is a great deal, only with what a document can touch: what is said about a member
# that occurs nowhere in the document can neither take nor refuse it.
#

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DATA_KEYWORDS = frozenset({"const", "default", "enum", "example", "examples"})
_IDENTITY_KEYWORDS = frozenset({"$id", "$schema", "$anchor"})
_MAX_BUNDLED_SCHEMAS = 120


class ValidatorPair:
    """The validators of one tree, made when they are needed."""

    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._oversized: set[SchemaLocation] = set()
        self._validators: dict[tuple[SchemaLocation, frozenset[str] | None], jsonschema_rs.Validator | None] = {}

    def accepts(self, node: SchemaNode, value: Json) -> bool | None:
        """Ask; without an answer when a schema cannot be made into a validator, or a pattern takes too long."""
        answers = [self._is_accepted(spot, value) for spot in node.schemas]
        return False if False in answers else None if None in answers else True

    def _is_accepted(self, location: SchemaLocation, value: Json) -> bool | None:
        validator = self._get_validator(location, value)
        try:
            return None if validator is None else validator.is_valid(value)
        except (ValueError, jsonschema_rs.ValidationError):
            return None

    def _get_validator(self, location: SchemaLocation, value: Json) -> jsonschema_rs.Validator | None:
        touched = frozenset(_iter_member_names(value)) if location in self._oversized else None
        if (location, touched) not in self._validators:
            schema = _SchemaBundle(self._tree, touched).build(location)
            if schema is None:
                self._oversized.add(location)
                return self._get_validator(location, value)
            try:
                made = jsonschema_rs.validator_for(schema, validate_formats=True, pattern_options=PATTERN_OPTIONS, offline=True)
            except (ValueError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
                made = None
            self._validators[location, touched] = made
        return self._validators[location, touched]


class _SchemaBundle:
    """One place and all that it refers to, as a schema of its own."""

    def __init__(self, tree: SchemaTree, touched: frozenset[str] | None) -> None:
        self._tree = tree
        self._member_names = touched
        self._numbers: dict[SchemaLocation, int] = {}

    def build(self, schema: SchemaLocation) -> dict[str, Json] | None:
        """Write the schema; nothing when it becomes large and nobody has said what a document touches."""
        waiting, definitions = [schema], dict[str, Json]()
        self._numbers[schema] = 0
        while waiting:
            current = waiting.pop()
            known = len(self._numbers)
            definitions[str(self._numbers[current])] = self._rewrite(current)
            if self._member_names is None and len(self._numbers) > _MAX_BUNDLED_SCHEMAS:
                return None
            waiting += list(self._numbers)[known:]
        root = self._tree.documents[schema.file].data
        draft = root.get("$schema", _DRAFT) if isinstance(root, dict) else _DRAFT
        return {"$schema": draft, "allOf": [{"$ref": "#/$defs/0"}], "$defs": definitions}

    def _rewrite(self, schema: SchemaLocation) -> Json:
        data = schema.data
        if isinstance(data, list):
            return [self._rewrite(SchemaLocation(schema.file, f"{schema.pointer}/{index}", each)) for index, each in enumerate(data)]
        return dict(self._rewrite_members(schema, data)) if isinstance(data, dict) else data

    def _rewrite_members(self, schema: SchemaLocation, data: dict[str, Json]) -> Iterator[tuple[str, Json]]:
        for word, value in data.items():
            if word == "$ref" and isinstance(value, str):
                target = self._tree.resolve(schema, value)
                yield word, value if target is None else f"#/$defs/{self._numbers.setdefault(target, len(self._numbers))}"
            elif word in _DATA_KEYWORDS:
                yield word, value
            elif word == "properties" and isinstance(value, dict) and self._member_names is not None:
                yield (
                    word,
                    {
                        name: self._rewrite(SchemaLocation(schema.file, "", each)) if name in self._member_names else True
                        for name, each in value.items()
                    },
                )
            elif not (word in _IDENTITY_KEYWORDS and isinstance(value, str)):
                yield word, self._rewrite(SchemaLocation(schema.file, f"{schema.pointer}/{escape_key(word)}", value))


def _iter_member_names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _iter_member_names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _iter_member_names(each)


_MAX_TRIES = 600
_MAX_WRAPPED = 12
_COMMON_VALUES: tuple[Json, ...] = (None, True, "", "a", 0, 1.5, -1, [], {}, ["a"], [1], {"other": 1}, {"other": "a"})
_FILLERS: tuple[Json, ...] = (None, "a", 1, {})


@dataclass(frozen=True, slots=True)
class Witness:
    """A document: of which definition, and whether it was taken and is refused now (or the other way round)."""

    document: Json
    definition: str
    is_newly_refused: bool


class WitnessFinder:
    """Looks for the witnesses of one comparison."""

    def __init__(self, comparison: SchemaComparison) -> None:
        self._comparison = comparison
        self._validators = tuple(ValidatorPair(tree) for tree in comparison.trees)
        self._samplers = (
            Sampler(comparison.trees[0], lambda node: comparison.get_value_set(0, node)),
            Sampler(comparison.trees[1], lambda node: comparison.get_value_set(1, node)),
        )

    def find(self, change: SchemaChange, path: Sequence[ChildPair], root: NodePair, *, is_newly_refused: bool) -> Witness | None:
        """Look for a document of ``root`` that shows a change, to whose pair a path of children leads."""
        taker = 0 if is_newly_refused else 1
        for sampler in self._samplers:
            sampler.reset_budget()
        try:
            found = next(self._generate_documents(change, path, root, taker), None)
        except (ComparisonTooLargeError, RecursionError):
            found = None
        if found is None:
            return None
        definition = self._comparison.trees[taker].definitions.get((root.old_location, root.new_location)[taker])
        return Witness(found[0], definition.name if definition else "", is_newly_refused)

    def is_witness(self, pair: NodePair, value: Json, accepting_side: int) -> bool:
        """Whether one side takes a value and the other refuses it."""
        sides = (pair.old, pair.new)
        refuses = self._validators[1 - accepting_side].accepts(sides[1 - accepting_side], value) is False
        return refuses and self._validators[accepting_side].accepts(sides[accepting_side], value) is True

    def _generate_documents(self, change: SchemaChange, path: Sequence[ChildPair], root: NodePair, accepting_side: int) -> Iterator[tuple[Json]]:
        """Yield confirmed documents, each in a tuple of its own: null is a document too."""
        pair = change.pair
        if pair is None:
            return

        def shows(value: Json) -> bool:
            return change.focus.can_show(value, accepting_side) and self.is_witness(pair, value, accepting_side)

        values = islice(self._generate_border_values(pair, accepting_side, change.focus.alternative), _MAX_TRIES)
        for found in islice((value for value in values if shows(value)), _MAX_WRAPPED):
            value = _minimize(found, shows)
            for document in islice(self._wrap(value, path, accepting_side), _MAX_WRAPPED):
                if self.is_witness(root, document, accepting_side):
                    yield (_minimize(document, self._build_predicate(root, accepting_side, path, canonical.to_key(value))),)

    def _build_predicate(self, root: NodePair, accepting_side: int, path: Sequence[ChildPair], kept: str) -> Callable[[Json], bool]:
        """Say which smaller documents still show the change: those that hold the value which does."""
        return lambda document: self.is_witness(root, document, accepting_side) and _has_value(document, path, kept)

    def _generate_border_values(self, pair: NodePair, accepting_side: int, only: Alternative | None) -> Iterator[Json]:
        sides = (pair.old, pair.new)
        shapes = (self._comparison.get_value_set(0, pair.old), self._comparison.get_value_set(1, pair.new))
        sampler = self._samplers[accepting_side]
        if only is not None:
            yield from sampler.generate_for(only)
            return
        for atom in shapes[accepting_side]:
            others = shapes[1 - accepting_side].alternatives.get(atom.kind, ())
            for other in others or (None,):
                yield from sampler.generate_for(atom, 0, other)
        yield from self._samplers[1 - accepting_side].generate(sides[1 - accepting_side])
        yield from _COMMON_VALUES

    def _wrap(self, value: Json, path: Sequence[ChildPair], accepting_side: int) -> Iterator[Json]:
        values: list[Json] = [value]
        for child in reversed(path):
            values = [outer for inner in values for outer in islice(self._wrap_once(child, inner, accepting_side), 6)][:_MAX_WRAPPED]
        yield from values

    def _wrap_once(self, child: ChildPair, inner: Json, accepting_side: int) -> Iterator[Json]:
        atom = (child.old, child.new)[accepting_side]
        sampler = self._samplers[accepting_side]
        match child.step:
            case ("member", str(name)):
                yield from sampler.generate_objects_with(atom, name, inner)
            case ("any member", _):
                yield from sampler.generate_objects_with(atom, "other", inner)
            case ("matching member", str(pattern)):
                for name in generate_matches(pattern):
                    yield from sampler.generate_objects_with(atom, name, inner)
            case ("name", _) if isinstance(inner, str):
                for filler in _FILLERS:
                    yield from sampler.generate_objects_with(atom, inner, filler)
            case ("item", int(index)):
                yield from sampler.generate_lists_with(atom, index, inner)
            case ("itself", _):
                yield inner
            case _:
                return


def _minimize(document: Json, shows: Callable[[Json], bool]) -> Json:
    """Take away members and items as long as the document still shows the change."""
    tries = _MAX_TRIES
    candidates = _generate_smaller(document)
    while tries and (candidate := next(candidates, None)) is not None:
        tries -= 1
        if shows(candidate):
            document, candidates = candidate, _generate_smaller(candidate)
    return document


def _has_value(document: Json, path: Sequence[ChildPair], expected: str) -> bool:
    """Whether the value to which a path leads is still there."""
    values = [document]
    for child in path:
        values = [inner for value in values for inner in _iter_inner(value, child.step)]
    return any(canonical.to_key(value) == expected for value in values)


def _iter_inner(value: Json, step: Step) -> Iterable[Json]:
    match step, value:
        case ("itself", _), _:
            return [value]
        case ("member", str(name)), dict():
            return [value[name]] if name in value else []
        case ("name", _), dict():
            return list(value)
        case (_, _), dict():
            return value.values()
        case ("item", _), list():
            return value
        case _:
            return []


def _generate_smaller(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for name in value:
            yield {each: inner for each, inner in value.items() if each != name}
        for name, inner in value.items():
            yield from ({**value, name: less} for less in _generate_smaller(inner))
    elif isinstance(value, list):
        half = len(value) // 2
        if half:
            yield from (value[:half], value[half:])
        yield from (value[:index] + value[index + 1 :] for index in range(min(len(value), 20)))
        for index, inner in enumerate(value[:20]):
            yield from ([*value[:index], less, *value[index + 1 :]] for less in _generate_smaller(inner))
    elif isinstance(value, str) and len(value) > 1:
        yield from (value[: len(value) // 2], value[:-1], value[1:])
