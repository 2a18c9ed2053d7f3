"""Witnesses: documents that one side takes and the other refuses, as small as can be found, and confirmed by validators of both.

A change is somewhere below a definition. First a value is looked for near the border, right where the change is; then a document of the definition is
put around it, step by step outwards; then everything that is not needed is taken away again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from a2a_gen.diff import canonical
from a2a_gen.diff.change import Change, Child, Pair, Step
from a2a_gen.diff.compare import Comparison
from a2a_gen.diff.judge import Judge
from a2a_gen.diff.pattern import matching
from a2a_gen.diff.sample import Sampler
from a2a_gen.diff.shape import Atom, TooLargeError
from a2a_gen.source.json_text import Json

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
