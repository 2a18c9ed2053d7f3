"""Witnesses: minimal documents that one side accepts and the other rejects, confirmed by validators of both.

A change is somewhere below a definition. The search starts with values near the border at the change itself, wraps them step by step into a document
of the definition, and then removes everything that is not needed.

A validator is compiled from a schema and everything that it refers to. A large schema is reduced to the members that occur in the document: the
schema of an absent member cannot affect the result.
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

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DATA_KEYWORDS = frozenset({"const", "default", "enum", "example", "examples"})
_IDENTITY_KEYWORDS = frozenset({"$id", "$schema", "$anchor"})
_MAX_BUNDLED_SCHEMAS = 120
_MAX_TRIES = 600
_MAX_WRAPPED = 12
_COMMON_VALUES: tuple[Json, ...] = (None, True, "", "a", 0, 1.5, -1, [], {}, ["a"], [1], {"other": 1}, {"other": "a"})
_FILLERS: tuple[Json, ...] = (None, "a", 1, {})


class ValidatorPair:
    """Validators of both sides, compiled on first use; side 0 is the base, side 1 the revision."""

    def __init__(self, trees: tuple[SchemaTree, SchemaTree]) -> None:
        self._trees = trees
        self._oversized: set[tuple[int, SchemaLocation]] = set()
        self._validators: dict[tuple[int, SchemaLocation, frozenset[str] | None], jsonschema_rs.Validator | None] = {}

    def is_accepted(self, side: int, node: SchemaNode, value: Json) -> bool | None:
        """Validate a value; ``None`` if a schema cannot be compiled, or a pattern exceeds the limits."""
        results = [self._is_valid(side, schema, value) for schema in node.schemas]
        return False if False in results else None if None in results else True

    def _is_valid(self, side: int, location: SchemaLocation, value: Json) -> bool | None:
        validator = self._get_validator(side, location, value)
        try:
            return None if validator is None else validator.is_valid(value)
        except (ValueError, jsonschema_rs.ValidationError):
            return None

    def _get_validator(self, side: int, location: SchemaLocation, value: Json) -> jsonschema_rs.Validator | None:
        member_names = frozenset(_iter_member_names(value)) if (side, location) in self._oversized else None
        key = (side, location, member_names)
        if key not in self._validators:
            schema = _SchemaBundle(self._trees[side], member_names).build(location)
            if schema is None:
                self._oversized.add((side, location))
                return self._get_validator(side, location, value)
            try:
                validator = jsonschema_rs.validator_for(schema, validate_formats=True, pattern_options=PATTERN_OPTIONS, offline=True)
            except (ValueError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
                validator = None
            self._validators[key] = validator
        return self._validators[key]


class _SchemaBundle:
    """One schema and everything that it refers to, as a self-contained schema."""

    def __init__(self, tree: SchemaTree, member_names: frozenset[str] | None) -> None:
        self._tree = tree
        self._member_names = member_names
        self._numbers: dict[SchemaLocation, int] = {}

    def build(self, schema: SchemaLocation) -> dict[str, Json] | None:
        """Build the schema; ``None`` if it is large and the members of the document are not given."""
        pending, definitions = [schema], dict[str, Json]()
        self._numbers[schema] = 0
        while pending:
            current = pending.pop()
            numbered = len(self._numbers)
            definitions[str(self._numbers[current])] = self._rewrite(current)
            if self._member_names is None and len(self._numbers) > _MAX_BUNDLED_SCHEMAS:
                return None
            pending += list(self._numbers)[numbered:]
        root = self._tree.documents[schema.file].data
        draft = root.get("$schema", _DRAFT) if isinstance(root, dict) else _DRAFT
        return {"$schema": draft, "allOf": [{"$ref": "#/$defs/0"}], "$defs": definitions}

    def _rewrite(self, schema: SchemaLocation) -> Json:
        data = schema.data
        if isinstance(data, list):
            return [self._rewrite(SchemaLocation(schema.file, f"{schema.pointer}/{index}", each)) for index, each in enumerate(data)]
        return dict(self._rewrite_members(schema, data)) if isinstance(data, dict) else data

    def _rewrite_members(self, schema: SchemaLocation, data: dict[str, Json]) -> Iterator[tuple[str, Json]]:
        for keyword, value in data.items():
            if keyword == "$ref" and isinstance(value, str):
                target = self._tree.resolve(schema, value)
                yield keyword, value if target is None else f"#/$defs/{self._numbers.setdefault(target, len(self._numbers))}"
            elif keyword in _DATA_KEYWORDS:
                yield keyword, value
            elif keyword == "properties" and isinstance(value, dict) and self._member_names is not None:
                yield (
                    keyword,
                    {
                        name: self._rewrite(SchemaLocation(schema.file, "", each)) if name in self._member_names else True
                        for name, each in value.items()
                    },
                )
            elif not (keyword in _IDENTITY_KEYWORDS and isinstance(value, str)):
                yield keyword, self._rewrite(SchemaLocation(schema.file, f"{schema.pointer}/{escape_key(keyword)}", value))


def _iter_member_names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _iter_member_names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _iter_member_names(each)


@dataclass(frozen=True, slots=True)
class Witness:
    """A document of a definition; newly refused, or newly sent."""

    document: Json
    definition: str
    is_newly_refused: bool


class WitnessFinder:
    """Searches for the witnesses of one comparison."""

    def __init__(self, comparison: SchemaComparison) -> None:
        self._comparison = comparison
        self._validators = ValidatorPair(comparison.trees)
        self._samplers = (
            Sampler(comparison.trees[0], lambda node: comparison.get_value_set(0, node)),
            Sampler(comparison.trees[1], lambda node: comparison.get_value_set(1, node)),
        )

    def find(self, change: SchemaChange, path: Sequence[ChildPair], root: NodePair, *, is_newly_refused: bool) -> Witness | None:
        """Search a document of ``root`` that shows a change; ``path`` leads from the root to the pair of the change."""
        accepting_side = 0 if is_newly_refused else 1
        for sampler in self._samplers:
            sampler.reset_budget()
        try:
            document = next(self._generate_documents(change, path, root, accepting_side), None)
        except (ComparisonTooLargeError, RecursionError):
            document = None
        if document is None:
            return None
        definition = self._comparison.trees[accepting_side].definitions.get((root.old_location, root.new_location)[accepting_side])
        return Witness(document[0], definition.name if definition else "", is_newly_refused)

    def is_witness(self, pair: NodePair, value: Json, accepting_side: int) -> bool:
        """Return true if one side accepts a value and the other rejects it."""
        nodes, rejecting_side = (pair.old, pair.new), 1 - accepting_side
        is_rejected = self._validators.is_accepted(rejecting_side, nodes[rejecting_side], value) is False
        return is_rejected and self._validators.is_accepted(accepting_side, nodes[accepting_side], value) is True

    def _generate_documents(self, change: SchemaChange, path: Sequence[ChildPair], root: NodePair, accepting_side: int) -> Iterator[tuple[Json]]:
        """Yield confirmed documents, each in a tuple, since null is a document too."""
        pair = change.pair
        if pair is None:
            return

        def shows(value: Json) -> bool:
            return change.focus.can_show(value, accepting_side) and self.is_witness(pair, value, accepting_side)

        values = islice(self._generate_border_values(pair, accepting_side, change.focus.alternative), _MAX_TRIES)
        for candidate in islice((value for value in values if shows(value)), _MAX_WRAPPED):
            value = _minimize(candidate, shows)
            for document in islice(self._wrap(value, path, accepting_side), _MAX_WRAPPED):
                if self.is_witness(root, document, accepting_side):
                    yield (_minimize(document, self._build_predicate(root, accepting_side, path, canonical.to_key(value))),)

    def _build_predicate(self, root: NodePair, accepting_side: int, path: Sequence[ChildPair], value_key: str) -> Callable[[Json], bool]:
        """Build the test for a smaller document: it must still contain the value that shows the change."""
        return lambda document: self.is_witness(root, document, accepting_side) and _has_value(document, path, value_key)

    def _generate_border_values(self, pair: NodePair, accepting_side: int, only: Alternative | None) -> Iterator[Json]:
        sides = (pair.old, pair.new)
        value_sets = (self._comparison.get_value_set(0, pair.old), self._comparison.get_value_set(1, pair.new))
        sampler = self._samplers[accepting_side]
        if only is not None:
            yield from sampler.generate_for(only)
            return
        for alternative in value_sets[accepting_side]:
            others = value_sets[1 - accepting_side].alternatives.get(alternative.kind, ())
            for other in others or (None,):
                yield from sampler.generate_for(alternative, 0, other)
        yield from self._samplers[1 - accepting_side].generate(sides[1 - accepting_side])
        yield from _COMMON_VALUES

    def _wrap(self, value: Json, path: Sequence[ChildPair], accepting_side: int) -> Iterator[Json]:
        values: list[Json] = [value]
        for child in reversed(path):
            values = [outer for inner in values for outer in islice(self._wrap_once(child, inner, accepting_side), 6)][:_MAX_WRAPPED]
        yield from values

    def _wrap_once(self, child: ChildPair, inner: Json, accepting_side: int) -> Iterator[Json]:
        alternative = (child.old, child.new)[accepting_side]
        sampler = self._samplers[accepting_side]
        match child.step:
            case ("member", str(name)):
                yield from sampler.generate_objects_with(alternative, name, inner)
            case ("any member", _):
                yield from sampler.generate_objects_with(alternative, "other", inner)
            case ("matching member", str(pattern)):
                for name in generate_matches(pattern):
                    yield from sampler.generate_objects_with(alternative, name, inner)
            case ("name", _) if isinstance(inner, str):
                for filler in _FILLERS:
                    yield from sampler.generate_objects_with(alternative, inner, filler)
            case ("item", int(index)):
                yield from sampler.generate_lists_with(alternative, index, inner)
            case ("itself", _):
                yield inner
            case _:
                return


def _minimize(document: Json, shows: Callable[[Json], bool]) -> Json:
    """Remove members and items as long as the document still shows the change."""
    tries = _MAX_TRIES
    candidates = _generate_smaller(document)
    while tries and (candidate := next(candidates, None)) is not None:
        tries -= 1
        if shows(candidate):
            document, candidates = candidate, _generate_smaller(candidate)
    return document


def _has_value(document: Json, path: Sequence[ChildPair], expected: str) -> bool:
    """Return true if the value at a path is still present."""
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
