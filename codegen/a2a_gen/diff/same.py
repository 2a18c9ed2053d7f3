"""Which definitions say the same, found by walking both texts side by side before anything is spread out: most of two versions is equal."""

from __future__ import annotations

from a2a_gen.diff.keywords import is_annotation
from a2a_gen.diff.tree import Spot, Tree
from a2a_gen.source.json_text import Json

# Say nothing about values, and yet rules look at them.
_LOOKED_AT = frozenset({"default", "deprecated", "discriminator"})
_SETS = frozenset({"required", "enum", "type"})


class Sameness:
    """What is known about pairs of schemas; two that refer to each other's like are the same unless something else differs."""

    def __init__(self, old: Tree, new: Tree) -> None:
        self._trees = (old, new)
        self._known: dict[tuple[Spot, Spot], bool] = {}

    def holds(self, old: Spot, new: Spot) -> bool:
        """Tell whether two schemas say the same; False only means that they must be compared."""
        if (old, new) in self._known:
            return self._known[old, new]
        assumed: set[tuple[Spot, Spot]] = {(old, new)}
        waiting = [(old, new)]
        while waiting:
            left, right = waiting.pop()
            pairs: list[tuple[Spot, Spot]] = []
            if not self._agree(left, right, pairs):
                self._known[old, new] = False
                return False
            for pair in pairs:
                if self._known.get(pair) is False:
                    self._known[old, new] = False
                    return False
                if pair not in assumed and pair not in self._known:
                    assumed.add(pair)
                    waiting.append(pair)
        self._known.update(dict.fromkeys(assumed, True))
        return True

    def _agree(self, left: Spot, right: Spot, pairs: list[tuple[Spot, Spot]]) -> bool:
        try:
            return self._texts(left.data, right.data, (left, right), pairs)
        except RecursionError:
            return False  # what is nested so deeply is compared step by step

    def _texts(self, old: Json, new: Json, spots: tuple[Spot, Spot], pairs: list[tuple[Spot, Spot]], under: str = "") -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            names = [each if under else _asserting(each) for each in (old, new)]
            if names[0].keys() != names[1].keys():
                return False
            return all(self._member(word, old[word], new[word], spots, pairs, under) for word in names[0])
        if isinstance(old, list) and isinstance(new, list):
            if under in _SETS:
                return len(old) == len(new) and sorted(map(repr, old)) == sorted(map(repr, new))
            return len(old) == len(new) and all(self._texts(*each, spots, pairs) for each in zip(old, new, strict=True))
        return type(old) is type(new) and old == new

    def _member(self, word: str, old: Json, new: Json, spots: tuple[Spot, Spot], pairs: list[tuple[Spot, Spot]], under: str) -> bool:
        if word == "$ref" and not under and isinstance(old, str) and isinstance(new, str):
            left, right = self._trees[0].target(spots[0], old), self._trees[1].target(spots[1], new)
            if left is None or right is None:
                return left is right and old == new
            pairs.append((left, right))
            return True
        if word in {"const", "default", "discriminator"} or word.startswith("x-"):
            return type(old) is type(new) and old == new
        plain = under or word not in {"properties", "patternProperties", "dependentSchemas", "enum", "required", "type"}
        return self._texts(old, new, spots, pairs, "" if plain else word)


def _asserting(members: dict[str, Json]) -> dict[str, Json]:
    return {word: each for word, each in members.items() if not is_annotation(word) or word in _LOOKED_AT or word.startswith("x-")}
