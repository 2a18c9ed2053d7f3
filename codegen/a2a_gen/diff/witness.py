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
from a2a_gen.diff.change import Change, Child, Pair, Step
from a2a_gen.diff.compare import Comparison
from a2a_gen.diff.regex import OPTIONS, matching
from a2a_gen.diff.samples import Sampler
from a2a_gen.diff.schema_node import Node, Spot, Tree
from a2a_gen.diff.value_set import Atom, TooLargeError
from a2a_gen.source.json_text import Json, escaped

# A real validator for each side: whether a document is what a node asks for. Every witness has to convince two of them.
#
# A place is compiled with everything that it refers to. Where that is a great deal, only with what a document can touch: what is said about a member
# that occurs nowhere in the document can neither take nor refuse it.
#

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


_MOST_TRIED = 600
_MOST_WRAPPED = 12
_ANYTHING: tuple[Json, ...] = (None, True, "", "a", 0, 1.5, -1, [], {}, ["a"], [1], {"other": 1}, {"other": "a"})
_FILLERS: tuple[Json, ...] = (None, "a", 1, {})


@dataclass(frozen=True, slots=True)
class Witness:
    """A document: of which definition, and whether it was taken and is refused now (or the other way round)."""

    document: Json
    definition: str
    was_taken: bool


class Witnesses:
    """Looks for the witnesses of one comparison."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._judges = tuple(Judge(tree) for tree in comparison.trees)
        self._samplers = (
            Sampler(comparison.trees[0], lambda node: comparison.shape(0, node)),
            Sampler(comparison.trees[1], lambda node: comparison.shape(1, node)),
        )

    def find(self, change: Change, path: Sequence[Child], root: Pair, *, was_taken: bool) -> Witness | None:
        """Look for a document of ``root`` that shows a change, to whose pair a path of children leads."""
        taker = 0 if was_taken else 1
        for sampler in self._samplers:
            sampler.begin()
        try:
            found = next(self._documents(change, path, root, taker), None)
        except (TooLargeError, RecursionError):
            found = None
        if found is None:
            return None
        definition = self._comparison.trees[taker].definitions.get((root.old_at, root.new_at)[taker])
        return Witness(found[0], definition.name if definition else "", was_taken)

    def shows(self, pair: Pair, value: Json, taker: int) -> bool:
        """Whether one side takes a value and the other refuses it."""
        sides = (pair.old, pair.new)
        refuses = self._judges[1 - taker].accepts(sides[1 - taker], value) is False
        return refuses and self._judges[taker].accepts(sides[taker], value) is True

    def _documents(self, change: Change, path: Sequence[Child], root: Pair, taker: int) -> Iterator[tuple[Json]]:
        """Yield confirmed documents, each in a tuple of its own: null is a document too."""
        pair = change.pair
        if pair is None:
            return

        def shows(value: Json) -> bool:
            return change.focus.shows(value, taker) and self.shows(pair, value, taker)

        values = islice(self._near(pair, taker, change.focus.atom), _MOST_TRIED)
        for found in islice((value for value in values if shows(value)), _MOST_WRAPPED):
            value = _smallest(found, shows)
            for document in islice(self._wrapped(value, path, taker), _MOST_WRAPPED):
                if self.shows(root, document, taker):
                    yield (_smallest(document, self._still(root, taker, path, canonical.key(value))),)

    def _still(self, root: Pair, taker: int, path: Sequence[Child], kept: str) -> Callable[[Json], bool]:
        """Say which smaller documents still show the change: those that hold the value which does."""
        return lambda document: self.shows(root, document, taker) and _holds(document, path, kept)

    def _near(self, pair: Pair, taker: int, only: Atom | None) -> Iterator[Json]:
        sides = (pair.old, pair.new)
        shapes = (self._comparison.shape(0, pair.old), self._comparison.shape(1, pair.new))
        sampler = self._samplers[taker]
        if only is not None:
            yield from sampler.of(only)
            return
        for atom in shapes[taker]:
            others = shapes[1 - taker].atoms.get(atom.kind, ())
            for other in others or (None,):
                yield from sampler.of(atom, 0, other)
        yield from self._samplers[1 - taker].values(sides[1 - taker])
        yield from _ANYTHING

    def _wrapped(self, value: Json, path: Sequence[Child], taker: int) -> Iterator[Json]:
        values: list[Json] = [value]
        for child in reversed(path):
            values = [outer for inner in values for outer in islice(self._outer(child, inner, taker), 6)][:_MOST_WRAPPED]
        yield from values

    def _outer(self, child: Child, inner: Json, taker: int) -> Iterator[Json]:
        atom = (child.old, child.new)[taker]
        sampler = self._samplers[taker]
        match child.step:
            case ("member", str(name)):
                yield from sampler.around(atom, name, inner)
            case ("any member", _):
                yield from sampler.around(atom, "other", inner)
            case ("matching member", str(pattern)):
                for name in matching(pattern):
                    yield from sampler.around(atom, name, inner)
            case ("name", _) if isinstance(inner, str):
                for filler in _FILLERS:
                    yield from sampler.around(atom, inner, filler)
            case ("item", int(index)):
                yield from sampler.list_with(atom, index, inner)
            case ("itself", _):
                yield inner
            case _:
                return


def _smallest(document: Json, shows: Callable[[Json], bool]) -> Json:
    """Take away members and items as long as the document still shows the change."""
    tries = _MOST_TRIED
    candidates = _less(document)
    while tries and (candidate := next(candidates, None)) is not None:
        tries -= 1
        if shows(candidate):
            document, candidates = candidate, _less(candidate)
    return document


def _holds(document: Json, path: Sequence[Child], wanted: str) -> bool:
    """Whether the value to which a path leads is still there."""
    values = [document]
    for child in path:
        values = [inner for value in values for inner in _inside(value, child.step)]
    return any(canonical.key(value) == wanted for value in values)


def _inside(value: Json, step: Step) -> Iterable[Json]:
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


def _less(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for name in value:
            yield {each: inner for each, inner in value.items() if each != name}
        for name, inner in value.items():
            yield from ({**value, name: less} for less in _less(inner))
    elif isinstance(value, list):
        half = len(value) // 2
        if half:
            yield from (value[:half], value[half:])
        yield from (value[:index] + value[index + 1 :] for index in range(min(len(value), 20)))
        for index, inner in enumerate(value[:20]):
            yield from ([*value[:index], less, *value[index + 1 :]] for less in _less(inner))
    elif isinstance(value, str) and len(value) > 1:
        yield from (value[: len(value) // 2], value[:-1], value[1:])
