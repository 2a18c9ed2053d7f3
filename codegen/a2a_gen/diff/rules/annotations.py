"""Annotations of members: protocol buffer numbers, defaults, aliases, deprecation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import chain

from a2a_gen.diff.change import RuleContext, SchemaChange
from a2a_gen.diff.rules.properties import (
    REMOVED_FROM_CLOSED,
    REMOVED_OPTIONAL,
    REMOVED_REQUIRED,
    get_proto_number,
)
from a2a_gen.diff.rules.rule import ITSELF, define_rule
from a2a_gen.diff.tree import canonical, members
from a2a_gen.diff.tree.member_names import as_list
from a2a_gen.diff.tree.schema_node import SchemaNode
from a2a_gen.source.json_text import Json

NUMBER_CHANGED = define_rule(
    "A2A090 proto-number-changed",
    "proto none E E E",
    "the number of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
NUMBER_REUSED = define_rule(
    "A2A091 proto-number-reused",
    "proto none E E E",
    "{new} reuses the number {name} of {old}",
    mirror=ITSELF,
)
PROTO_TYPE_CHANGED = define_rule(
    "A2A092 proto-type-changed",
    "proto none E E E",
    "the protocol buffer type of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
NOT_RESERVED = define_rule(
    "A2A093 number-deleted-not-reserved",
    "proto none E E E",
    "{name} was removed without reserving its number {old}",
    'add "x-reserved": {"properties": [name], "numbers": [number]} to the type',
    waiver="a removed reservation is reported by reserve-removed",
)
RESERVE_REMOVED = define_rule(
    "A2A094 reserve-removed",
    "proto none E E I",
    "{name} is no longer reserved",
    "keep the reservation",
    waiver="a new reservation breaks no client",
)
ALIAS_REMOVED = define_rule(
    "A2A095 alias-removed",
    "property narrows E I I",
    "{name} is no longer read under its alias {old}",
    "keep the alias",
    mirror="alias-added",
)
ALIAS_ADDED = define_rule(
    "A2A096 alias-added",
    "property none I I I",
    "{name} is also read under the alias {new}",
    mirror="alias-removed",
)
DEFAULT_CHANGED = define_rule(
    "A2A100 default-changed",
    "property none W I W",
    "the default of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
DEPRECATED = define_rule(
    "A2A110 deprecated-added",
    "property none I I I",
    "{name} is deprecated and may be removed{new}",
    waiver="a removed deprecation breaks no client",
)
AFTER_SUNSET = define_rule(
    "A2A111 removed-after-sunset",
    "property none I I I",
    "{name} was removed after its sunset date {old}",
    waiver="a past date stays in the past",
)
BEFORE_SUNSET = define_rule(
    "A2A112 removed-before-sunset",
    "property narrows E E E",
    "{name} was removed before its sunset date {old}",
    "keep it until then",
    waiver="a member that is added back is reported as an addition",
)
DOC_CHANGED = define_rule(
    "A2A140 doc-changed", "text none I I I", "the description of {name} changed", mirror=ITSELF
)

RULES = (
    NUMBER_CHANGED,
    NUMBER_REUSED,
    PROTO_TYPE_CHANGED,
    NOT_RESERVED,
    RESERVE_REMOVED,
    ALIAS_REMOVED,
    ALIAS_ADDED,
    DEFAULT_CHANGED,
    DEPRECATED,
    AFTER_SUNSET,
    BEFORE_SUNSET,
    DOC_CHANGED,
)

REMOVALS = frozenset({REMOVED_OPTIONAL, REMOVED_REQUIRED, REMOVED_FROM_CLOSED})


def compare_member_annotations(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the annotations of members and of the type."""
    old = context.old.node
    new = context.new.node
    common = [name for name in members.list_names(old) if members.find_member(new, name)]
    for name in common:
        yield from _compare_number(context, name)
        yield from _compare_default(context, name)
        yield from _compare_aliases(context, name)
        if _has_flag(new, name, "deprecated") and not _has_flag(old, name, "deprecated"):
            sunset = members.get_member_keyword(new, name, "x-sunset")
            yield context.build_change(
                DEPRECATED, "properties", name, name=name, new=f" after {sunset}" if sunset else ""
            )
    removed = [name for name in members.list_names(old) if name not in common]
    yield from _compare_removed(context, removed)
    yield from _compare_reserved(context)


def _compare_number(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    old = get_proto_number(context, 0, name)
    new = get_proto_number(context, 1, name)
    if old is not None and old != new:
        yield context.build_change(
            NUMBER_CHANGED, "properties", name, name=name, old=str(old), new=str(new)
        )
    types = [_describe_proto(node, name) for node in context.nodes]
    if old is not None and types[0] != types[1]:
        yield context.build_change(
            PROTO_TYPE_CHANGED, "properties", name, name=name, old=types[0], new=types[1]
        )


def _describe_proto(node: SchemaNode, name: str) -> str:
    facts = members.get_member_keyword(node, name, "x-proto")
    if not isinstance(facts, dict):
        facts = {}
    return f"{'optional ' if facts.get('optional') else ''}{facts.get('type') or 'what JSON tells'}"


def _compare_default(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    defaults = [members.get_member_keyword(node, name, "default") for node in context.nodes]
    read_defaults = [_get_read_default(node, name) for node in context.nodes]
    for old, new in (defaults, read_defaults):
        if old is not None and canonical.to_key(old) != canonical.to_key(new):
            yield context.build_change(
                DEFAULT_CHANGED,
                "properties",
                name,
                name=name,
                old=canonical.to_key(old),
                new=canonical.to_key(new),
            )


def _get_read_default(node: SchemaNode, name: str) -> Json:
    return next(
        (
            value[name]
            for value in node.values("x-a2a-read")
            if isinstance(value, dict) and name in value
        ),
        None,
    )


def _compare_aliases(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    old, new = (
        list(map(str, as_list(members.get_member_keyword(node, name, "x-a2a-aliases"))))
        for node in context.nodes
    )
    for alias in old:
        if alias not in new:
            yield context.build_change(ALIAS_REMOVED, "properties", name, name=name, old=alias)
    for alias in new:
        if alias not in old:
            yield context.build_change(ALIAS_ADDED, "properties", name, name=name, new=alias)


def _compare_removed(context: RuleContext, removed: list[str]) -> Iterator[SchemaChange]:
    numbers = {get_proto_number(context, 0, name): name for name in removed}
    numbers.pop(None, None)
    new_names = {
        get_proto_number(context, 1, name): name for name in members.list_names(context.new.node)
    }
    reserved = _list_reserved(context.new.node, "numbers")
    for number, name in numbers.items():
        if number in new_names and members.find_member(context.old.node, new_names[number]) is None:
            if _get_type(context.old.node, name) != _get_type(context.new.node, new_names[number]):
                yield context.build_change(
                    NUMBER_REUSED,
                    "properties",
                    new_names[number],
                    name=str(number),
                    old=name,
                    new=new_names[number],
                )
        elif number not in new_names and number not in reserved:
            yield context.build_change(NOT_RESERVED, "properties", name, name=name, old=str(number))
    for name in removed:
        sunset = members.get_member_keyword(context.old.node, name, "x-sunset")
        if isinstance(sunset, str) and _has_flag(context.old.node, name, "deprecated"):
            yield context.build_change(
                AFTER_SUNSET if is_past(sunset) else BEFORE_SUNSET,
                "properties",
                name,
                name=name,
                old=sunset,
            )


def _get_type(node: SchemaNode, name: str) -> Json:
    schema = members.find_member(node, name)
    if schema:
        return schema.members.get("type", schema.members.get("$ref"))
    return None


def _compare_reserved(context: RuleContext) -> Iterator[SchemaChange]:
    for keyword in ("properties", "numbers"):
        for each in _list_reserved(context.old.node, keyword):
            if each not in _list_reserved(context.new.node, keyword):
                yield context.build_change(RESERVE_REMOVED, "x-reserved", name=str(each))


def _list_reserved(node: SchemaNode, keyword: str) -> list[Json]:
    listed = (value.get(keyword) for value in node.values("x-reserved") if isinstance(value, dict))
    return list(chain.from_iterable(map(as_list, listed)))


def _has_flag(node: SchemaNode, name: str, keyword: str) -> bool:
    return members.get_member_keyword(node, name, keyword) is True


def is_past(day: str) -> bool:
    """Return true if a date has passed; an invalid date never has."""
    try:
        return date.fromisoformat(day) < datetime.now(UTC).date()
    except ValueError:
        return False
