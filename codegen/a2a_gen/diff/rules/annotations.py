"""What members say about themselves beside their values: numbers in the protocol buffer, defaults, other names, whether they are on their way out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from a2a_gen.diff import canonical, members
from a2a_gen.diff.change import RuleContext, SchemaChange
from a2a_gen.diff.rules.properties import REMOVED_FROM_CLOSED, REMOVED_OPTIONAL, REMOVED_REQUIRED, get_proto_number
from a2a_gen.diff.rules.rule import ITSELF, define_rule
from a2a_gen.diff.schema_node import SchemaNode
from a2a_gen.source.json_text import Json

NUMBER_CHANGED = define_rule("A2A090 proto-number-changed", "proto none E E E", "the number of {name} went from {old} to {new}", mirror=ITSELF)
NUMBER_REUSED = define_rule("A2A091 proto-number-reused", "proto none E E E", "{new} has the number {name}, which was that of {old}", mirror=ITSELF)
PROTO_TYPE_CHANGED = define_rule(
    "A2A092 proto-type-changed", "proto none E E E", "the protocol buffer type of {name} went from {old} to {new}", mirror=ITSELF
)
NOT_RESERVED = define_rule(
    "A2A093 number-deleted-not-reserved", "proto none E E E",
    "{name} was removed, and nothing keeps its number {old} from being used again",
    'add "x-reserved": {"properties": [name], "numbers": [number]} to the type',
    waiver="a number that is no longer reserved is told by reserve-removed",
)  # fmt: skip
RESERVE_REMOVED = define_rule(
    "A2A094 reserve-removed", "proto none E E I", "{name} is no longer reserved", "reserve it for ever", waiver="to reserve something harms nobody"
)
ALIAS_REMOVED = define_rule(
    "A2A095 alias-removed",
    "property narrows E I I",
    "{name} is no longer read under its older name {old}",
    "go on reading it",
    mirror="alias-added",
)
ALIAS_ADDED = define_rule("A2A096 alias-added", "property none I I I", "{name} is also read under the name {new}", mirror="alias-removed")
DEFAULT_CHANGED = define_rule(
    "A2A100 default-changed", "property none W I W", "what is meant where {name} is missing went from {old} to {new}", mirror=ITSELF
)
DEPRECATED = define_rule(
    "A2A110 deprecated-added", "property none I I I", "{name} is on its way out{new}", waiver="to keep what was on its way out harms nobody"
)
AFTER_SUNSET = define_rule(
    "A2A111 removed-after-sunset", "property none I I I", "{name} was removed after its last day, {old}", waiver="a day that is over stays over"
)
BEFORE_SUNSET = define_rule(
    "A2A112 removed-before-sunset", "property narrows E E E", "{name} was removed, and was promised until {old}", "keep it until then",
    waiver="a day that has not come is all there is to say",
)  # fmt: skip
DOC_CHANGED = define_rule("A2A140 doc-changed", "text none I I I", "what is said about {name} to people changed", mirror=ITSELF)

RULES = (
    NUMBER_CHANGED, NUMBER_REUSED, PROTO_TYPE_CHANGED, NOT_RESERVED, RESERVE_REMOVED, ALIAS_REMOVED, ALIAS_ADDED, DEFAULT_CHANGED, DEPRECATED,
    AFTER_SUNSET, BEFORE_SUNSET, DOC_CHANGED,
)  # fmt: skip

REMOVALS = frozenset({REMOVED_OPTIONAL, REMOVED_REQUIRED, REMOVED_FROM_CLOSED})


def compare_member_annotations(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare what is said about members, and about the type as a whole."""
    old, new = context.old.node, context.new.node
    kept = [name for name in members.list_names(old) if members.find_member(new, name)]
    for name in kept:
        yield from _compare_number(context, name)
        yield from _compare_default(context, name)
        yield from _compare_aliases(context, name)
        if _has_flag(new, name, "deprecated") and not _has_flag(old, name, "deprecated"):
            sunset = members.get_member_keyword(new, name, "x-sunset")
            yield context.build_change(DEPRECATED, "properties", name, name=name, new=f" after {sunset}" if sunset else "")
    gone = [name for name in members.list_names(old) if name not in kept]
    yield from _compare_removed(context, gone)
    yield from _compare_reserved(context)


def _compare_number(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    old, new = get_proto_number(context, 0, name), get_proto_number(context, 1, name)
    if old is not None and old != new:
        yield context.build_change(NUMBER_CHANGED, "properties", name, name=name, old=str(old), new=str(new))
    types = [members.get_member_keyword(atom.node, name, "x-proto") for atom in (context.old, context.new)]
    said = [(each.get("type"), each.get("optional")) if isinstance(each, dict) else (None, None) for each in types]
    if old is not None and said[0] != said[1]:
        yield context.build_change(PROTO_TYPE_CHANGED, "properties", name, name=name, old=_describe_proto(said[0]), new=_describe_proto(said[1]))


def _describe_proto(said: tuple[Json, Json]) -> str:
    return f"{'optional ' if said[1] else ''}{said[0] or 'what JSON tells'}"


def _compare_default(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    for keyword, table in (("default", False), ("x-a2a-read", True)):
        old, new = (
            (_get_read_default(atom.node, name) if table else members.get_member_keyword(atom.node, name, keyword))
            for atom in (context.old, context.new)
        )
        if old is not None and canonical.to_key(old) != canonical.to_key(new):
            yield context.build_change(DEFAULT_CHANGED, "properties", name, name=name, old=canonical.to_key(old), new=canonical.to_key(new))


def _get_read_default(node: SchemaNode, name: str) -> Json:
    return next((value[name] for value in node.values("x-a2a-read") if isinstance(value, dict) and name in value), None)


def _compare_aliases(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    listed = (members.get_member_keyword(atom.node, name, "x-a2a-aliases") for atom in (context.old, context.new))
    old, new = ([str(each) for each in words] if isinstance(words, list) else [] for words in listed)
    for word in old:
        if word not in new:
            yield context.build_change(ALIAS_REMOVED, "properties", name, name=name, old=word)
    for word in new:
        if word not in old:
            yield context.build_change(ALIAS_ADDED, "properties", name, name=name, new=word)


def _compare_removed(context: RuleContext, removed: list[str]) -> Iterator[SchemaChange]:
    numbers = {get_proto_number(context, 0, name): name for name in removed}
    numbers.pop(None, None)
    taken = {get_proto_number(context, 1, name): name for name in members.list_names(context.new.node)}
    reserved = _list_reserved(context.new.node, "numbers")
    for number, name in numbers.items():
        if number in taken and members.find_member(context.old.node, taken[number]) is None:
            if _get_type(context.old.node, name) != _get_type(context.new.node, taken[number]):
                yield context.build_change(NUMBER_REUSED, "properties", taken[number], name=str(number), old=name, new=taken[number])
        elif number not in taken and number not in reserved:
            yield context.build_change(NOT_RESERVED, "properties", name, name=name, old=str(number))
    for name in removed:
        sunset = members.get_member_keyword(context.old.node, name, "x-sunset")
        if isinstance(sunset, str) and _has_flag(context.old.node, name, "deprecated"):
            yield context.build_change(AFTER_SUNSET if is_past(sunset) else BEFORE_SUNSET, "properties", name, name=name, old=sunset)


def _get_type(node: SchemaNode, name: str) -> Json:
    spot = members.find_member(node, name)
    return spot.members.get("type", spot.members.get("$ref")) if spot else None


def _compare_reserved(context: RuleContext) -> Iterator[SchemaChange]:
    for keyword in ("properties", "numbers"):
        for each in _list_reserved(context.old.node, keyword):
            if each not in _list_reserved(context.new.node, keyword):
                yield context.build_change(RESERVE_REMOVED, "x-reserved", name=str(each))


def _list_reserved(node: SchemaNode, keyword: str) -> list[Json]:
    listed = (value.get(keyword) for value in node.values("x-reserved") if isinstance(value, dict))
    return [each for values in listed if isinstance(values, list) for each in values]


def _has_flag(node: SchemaNode, name: str, keyword: str) -> bool:
    return members.get_member_keyword(node, name, keyword) is True


def is_past(day: str) -> bool:
    """Whether a day is over; what is no day never is."""
    try:
        return date.fromisoformat(day) < datetime.now(UTC).date()
    except ValueError:
        return False
