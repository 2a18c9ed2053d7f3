"""What members say about themselves beside their values: numbers in the protocol buffer, defaults, other names, whether they are on their way out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from a2a_gen.diff import canonical, members
from a2a_gen.diff.change import Change, Scene
from a2a_gen.diff.rules.properties import REMOVED_FROM_CLOSED, REMOVED_OPTIONAL, REMOVED_REQUIRED, proto_number
from a2a_gen.diff.rules.rule import SAME, rule
from a2a_gen.diff.schema_node import Node
from a2a_gen.source.json_text import Json

NUMBER_CHANGED = rule("A2A090 proto-number-changed", "proto none E E E", "the number of {name} went from {old} to {new}", mirror=SAME)
NUMBER_REUSED = rule("A2A091 proto-number-reused", "proto none E E E", "{new} has the number {name}, which was that of {old}", mirror=SAME)
PROTO_TYPE_CHANGED = rule("A2A092 proto-type-changed", "proto none E E E", "the protocol buffer type of {name} went from {old} to {new}", mirror=SAME)
NOT_RESERVED = rule(
    "A2A093 number-deleted-not-reserved", "proto none E E E",
    "{name} was removed, and nothing keeps its number {old} from being used again",
    'add "x-reserved": {"properties": [name], "numbers": [number]} to the type',
    waiver="a number that is no longer reserved is told by reserve-removed",
)  # fmt: skip
RESERVE_REMOVED = rule(
    "A2A094 reserve-removed", "proto none E E I", "{name} is no longer reserved", "reserve it for ever", waiver="to reserve something harms nobody"
)
ALIAS_REMOVED = rule(
    "A2A095 alias-removed",
    "property narrows E I I",
    "{name} is no longer read under its older name {old}",
    "go on reading it",
    mirror="alias-added",
)
ALIAS_ADDED = rule("A2A096 alias-added", "property none I I I", "{name} is also read under the name {new}", mirror="alias-removed")
DEFAULT_CHANGED = rule("A2A100 default-changed", "property none W I W", "what is meant where {name} is missing went from {old} to {new}", mirror=SAME)
DEPRECATED = rule(
    "A2A110 deprecated-added", "property none I I I", "{name} is on its way out{new}", waiver="to keep what was on its way out harms nobody"
)
AFTER_SUNSET = rule(
    "A2A111 removed-after-sunset", "property none I I I", "{name} was removed after its last day, {old}", waiver="a day that is over stays over"
)
BEFORE_SUNSET = rule(
    "A2A112 removed-before-sunset", "property narrows E E E", "{name} was removed, and was promised until {old}", "keep it until then",
    waiver="a day that has not come is all there is to say",
)  # fmt: skip
DOC_CHANGED = rule("A2A140 doc-changed", "text none I I I", "what is said about {name} to people changed", mirror=SAME)

RULES = (
    NUMBER_CHANGED, NUMBER_REUSED, PROTO_TYPE_CHANGED, NOT_RESERVED, RESERVE_REMOVED, ALIAS_REMOVED, ALIAS_ADDED, DEFAULT_CHANGED, DEPRECATED,
    AFTER_SUNSET, BEFORE_SUNSET, DOC_CHANGED,
)  # fmt: skip

REMOVALS = frozenset({REMOVED_OPTIONAL, REMOVED_REQUIRED, REMOVED_FROM_CLOSED})


def compare_member_facts(scene: Scene) -> Iterator[Change]:
    """Compare what is said about members, and about the type as a whole."""
    old, new = scene.old.node, scene.new.node
    kept = [name for name in members.names(old) if members.spot_of(new, name)]
    for name in kept:
        yield from _number(scene, name)
        yield from _default(scene, name)
        yield from _aliases(scene, name)
        if _is(new, name, "deprecated") and not _is(old, name, "deprecated"):
            sunset = members.member_fact(new, name, "x-sunset")
            yield scene.change(DEPRECATED, "properties", name, name=name, new=f" after {sunset}" if sunset else "")
    gone = [name for name in members.names(old) if name not in kept]
    yield from _gone(scene, gone)
    yield from _reserved(scene)


def _number(scene: Scene, name: str) -> Iterator[Change]:
    old, new = proto_number(scene, 0, name), proto_number(scene, 1, name)
    if old is not None and old != new:
        yield scene.change(NUMBER_CHANGED, "properties", name, name=name, old=str(old), new=str(new))
    types = [members.member_fact(atom.node, name, "x-proto") for atom in (scene.old, scene.new)]
    said = [(each.get("type"), each.get("optional")) if isinstance(each, dict) else (None, None) for each in types]
    if old is not None and said[0] != said[1]:
        yield scene.change(PROTO_TYPE_CHANGED, "properties", name, name=name, old=_proto(said[0]), new=_proto(said[1]))


def _proto(said: tuple[Json, Json]) -> str:
    return f"{'optional ' if said[1] else ''}{said[0] or 'what JSON tells'}"


def _default(scene: Scene, name: str) -> Iterator[Change]:
    for keyword, table in (("default", False), ("x-a2a-read", True)):
        old, new = ((_read(atom.node, name) if table else members.member_fact(atom.node, name, keyword)) for atom in (scene.old, scene.new))
        if old is not None and canonical.key(old) != canonical.key(new):
            yield scene.change(DEFAULT_CHANGED, "properties", name, name=name, old=canonical.key(old), new=canonical.key(new))


def _read(whole: Node, name: str) -> Json:
    return next((value[name] for value in whole.values("x-a2a-read") if isinstance(value, dict) and name in value), None)


def _aliases(scene: Scene, name: str) -> Iterator[Change]:
    listed = (members.member_fact(atom.node, name, "x-a2a-aliases") for atom in (scene.old, scene.new))
    old, new = ([str(each) for each in words] if isinstance(words, list) else [] for words in listed)
    for word in old:
        if word not in new:
            yield scene.change(ALIAS_REMOVED, "properties", name, name=name, old=word)
    for word in new:
        if word not in old:
            yield scene.change(ALIAS_ADDED, "properties", name, name=name, new=word)


def _gone(scene: Scene, gone: list[str]) -> Iterator[Change]:
    numbers = {proto_number(scene, 0, name): name for name in gone}
    numbers.pop(None, None)
    taken = {proto_number(scene, 1, name): name for name in members.names(scene.new.node)}
    reserved = _list(scene.new.node, "numbers")
    for number, name in numbers.items():
        if number in taken and members.spot_of(scene.old.node, taken[number]) is None:
            if _kind(scene.old.node, name) != _kind(scene.new.node, taken[number]):
                yield scene.change(NUMBER_REUSED, "properties", taken[number], name=str(number), old=name, new=taken[number])
        elif number not in taken and number not in reserved:
            yield scene.change(NOT_RESERVED, "properties", name, name=name, old=str(number))
    for name in gone:
        sunset = members.member_fact(scene.old.node, name, "x-sunset")
        if isinstance(sunset, str) and _is(scene.old.node, name, "deprecated"):
            yield scene.change(AFTER_SUNSET if is_past(sunset) else BEFORE_SUNSET, "properties", name, name=name, old=sunset)


def _kind(whole: Node, name: str) -> Json:
    spot = members.spot_of(whole, name)
    return spot.members.get("type", spot.members.get("$ref")) if spot else None


def _reserved(scene: Scene) -> Iterator[Change]:
    for keyword in ("properties", "numbers"):
        for each in _list(scene.old.node, keyword):
            if each not in _list(scene.new.node, keyword):
                yield scene.change(RESERVE_REMOVED, "x-reserved", name=str(each))


def _list(whole: Node, keyword: str) -> list[Json]:
    listed = (value.get(keyword) for value in whole.values("x-reserved") if isinstance(value, dict))
    return [each for values in listed if isinstance(values, list) for each in values]


def _is(whole: Node, name: str, keyword: str) -> bool:
    return members.member_fact(whole, name, keyword) is True


def is_past(day: str) -> bool:
    """Whether a day is over; what is no day never is."""
    try:
        return date.fromisoformat(day) < datetime.now(UTC).date()
    except ValueError:
        return False
