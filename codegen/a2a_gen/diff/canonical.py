"""When two values, or two schemas, are the same: without order where order means nothing, and without annotations."""

from __future__ import annotations

import json

from a2a_gen.diff.keywords import is_annotation
from a2a_gen.diff.tree import Spot, Tree
from a2a_gen.source.json_text import Json

_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"})
_SETS = frozenset({"required", "enum", "type"})
_DATA = frozenset({"const", "enum", "required", "type", "dependentRequired", "default"})


def key(value: Json) -> str:
    """Name a JSON value: two have one name exactly if JSON Schema takes them for equal (1 is 1.0, and not true)."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case _:
            return value


def without_annotations(value: Json, *, under: str = "") -> Json:
    """Take out of a schema what says nothing about values, and put into order what has none."""
    if isinstance(value, dict) and under in _BY_NAME:
        return {name: without_annotations(each) for name, each in value.items()}
    if isinstance(value, dict) and under not in _DATA:
        return {word: without_annotations(each, under=word) for word, each in value.items() if not is_annotation(word) or word.startswith("x-a2a")}
    if isinstance(value, list):
        items = [_plain(each) if under in _DATA else without_annotations(each) for each in value]
        return sorted(items, key=key) if under in _SETS else items
    return _plain(value)


def text(tree: Tree, spot: Spot, *, depth: int = 12) -> str:
    """Write down what a schema says, with every reference replaced by what it means; a definition within itself stays a name."""
    return key(_spelled(tree, spot, (), depth))


def _spelled(tree: Tree, spot: Spot, around: tuple[Spot, ...], depth: int) -> Json:
    reference = spot.members.get("$ref")
    if isinstance(reference, str):
        target = tree.target(spot, reference)
        if target is None:
            return {"$ref": reference}
        if target in around or depth == 0:
            return {"$ref": around.index(target) if target in around else target.pointer}
        rest = {word: each for word, each in spot.members.items() if word != "$ref"}
        inner = _spelled(tree, target, (*around, target), depth - 1)
        outer = _below(tree, Spot(spot.file, spot.pointer, rest), around, depth)
        return inner if not outer else {"allOf": [inner, outer]}
    return _below(tree, spot, around, depth)


def _below(tree: Tree, spot: Spot, around: tuple[Spot, ...], depth: int) -> Json:
    if not isinstance(spot.data, dict):
        return spot.data
    spelled: dict[str, Json] = {}
    for word, value in spot.data.items():
        if is_annotation(word):
            continue
        inner = Spot(spot.file, f"{spot.pointer}/{word}", value)
        if word in _DATA:
            spelled[word] = without_annotations(value, under=word)
        elif isinstance(value, list):
            spelled[word] = [_spelled(tree, Spot(spot.file, f"{inner.pointer}/{index}", each), around, depth) for index, each in enumerate(value)]
        elif word in _BY_NAME and isinstance(value, dict):
            spelled[word] = {name: _spelled(tree, Spot(spot.file, f"{inner.pointer}/{name}", each), around, depth) for name, each in value.items()}
        else:
            spelled[word] = _spelled(tree, inner, around, depth)
    return spelled
