"""Listed values: enumerations and constants. A constant is an enumeration of one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from a2a_gen.diff import value_set
from a2a_gen.diff.change import Change, Focus, Scene
from a2a_gen.diff.rules.rule import SAME, Level, Levels, Rule, rule
from a2a_gen.diff.schema_node import Node
from a2a_gen.source.json_text import Json

VALUE_REMOVED = rule("A2A050 enum-value-removed", "enum narrows E I E", "the value {name} is no longer allowed", mirror="enum-value-added")
VALUE_ADDED = rule(
    "A2A051 enum-value-added", "enum widens I E I", "the value {name} is new, and readers that list all values refuse it",
    'mark an enumeration that may grow with "x-extensible-enum": true before it does', mirror="enum-value-removed",
)  # fmt: skip
ENUM_CLOSED = rule("A2A052 enum-closed", "enum narrows E I W", "only listed values are allowed now", mirror="enum-opened")
ENUM_OPENED = rule("A2A053 enum-opened", "enum widens I E W", "values that are not listed are allowed now", mirror="enum-closed")
CONST_CHANGED = rule("A2A054 const-changed", "enum both E E E", "the constant {old} became {new}", mirror=SAME)
VALUE_RENAMED = rule(
    "A2A055 enum-value-renamed", "enum both E E E", "the value {old} is now called {new}; its number says that they are one", mirror=SAME
)

RULES = (VALUE_REMOVED, VALUE_ADDED, ENUM_CLOSED, ENUM_OPENED, CONST_CHANGED, VALUE_RENAMED)

_MOST = 25


def compare_values(scene: Scene) -> Iterator[Change]:
    """Compare listed values, or a list with the lack of one."""
    old, new = scene.old.values, scene.new.values
    below = "const" if any("const" in spot.members for spot in scene.new.node.spots) else "enum"
    if old is not None and new is not None:
        yield from _lists(scene, dict(old), dict(new), below)
    elif old is None and new is not None:
        yield scene.change(ENUM_CLOSED, below)
    elif old is not None:
        refused = [name for name, value in old.items() if not value_set.satisfies(scene.new.node, value)]
        yield from _each(scene, VALUE_REMOVED, refused, below)
        yield scene.change(ENUM_OPENED, below)
    if old is not None and new is not None and is_open(scene.old.node) != is_open(scene.new.node):
        yield _opening(scene, is_open(scene.new.node))


def is_open(whole: Node) -> bool:
    """Whether readers keep values that are not listed."""
    return any(value is True for value in whole.values("x-extensible-enum"))


def _opening(scene: Scene, opened: bool) -> Change:  # noqa: FBT001 - which of the two it is
    """Say that readers changed their mind about unknown values; the listed values are what they were."""
    levels = Levels(Level.INFO, Level.WARNING, Level.WARNING) if opened else Levels(Level.WARNING, Level.INFO, Level.WARNING)
    return scene.change(ENUM_OPENED if opened else ENUM_CLOSED, "x-extensible-enum", levels=levels)


def _lists(scene: Scene, old: dict[str, Json], new: dict[str, Json], below: str) -> Iterator[Change]:
    if len(old) == len(new) == 1 and old.keys() != new.keys() and below == "const":
        yield scene.change(CONST_CHANGED, below, old=next(iter(old)), new=next(iter(new)))
        return
    renamed = _renamed(scene, old, new)
    for before, after in renamed.items():
        yield scene.change(VALUE_RENAMED, below, old=before, new=after)
    yield from _each(scene, VALUE_REMOVED, [name for name in old if name not in new and name not in renamed], below)
    yield from _each(scene, VALUE_ADDED, [name for name in new if name not in old and name not in renamed.values()], below)


def _each(scene: Scene, found: Rule, names: list[str], below: str) -> Iterator[Change]:
    """Tell of each value; of a great many, the first few and how many more."""
    levels = Levels.of("I I I") if found is VALUE_ADDED and is_open(scene.old.node) else None
    for name in islice(names, _MOST):
        yield scene.change(found, below, name=name, levels=levels, focus=Focus(value=name))
    if len(names) > _MOST:
        yield scene.change(found, below, name=f"{names[_MOST]} and {len(names) - _MOST - 1} others", levels=levels)


def _renamed(scene: Scene, old: dict[str, Json], new: dict[str, Json]) -> dict[str, str]:
    before = {number: name for name, number in _numbers(scene.old.node).items() if name in old}
    after = {number: name for name, number in _numbers(scene.new.node).items() if name in new}
    return {name: after[number] for number, name in before.items() if number in after and name not in new and after[number] not in old}


def _numbers(whole: Node) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in whole.values("x-proto"):
        listed = value.get("values") if isinstance(value, dict) else None
        for name, number in listed.items() if isinstance(listed, dict) else ():
            if isinstance(number, int):
                found[f'"{name}"'] = number
    return found
