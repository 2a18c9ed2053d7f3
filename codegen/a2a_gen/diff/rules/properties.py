"""Members of objects: added, removed, renamed, required or optional."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.diff.change import ComparisonItem, Focus, RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, ChangeLevel, ChangeLevels, define_rule
from a2a_gen.diff.tree import members

ADDED_OPTIONAL = define_rule(
    "A2A020 property-added-optional",
    "property none I I I",
    "{name} was added as an optional member",
    mirror="property-removed-optional",
)
ADDED_TO_CLOSED = define_rule(
    "A2A021 property-added-optional-to-closed",
    "property widens I E I",
    "{name} was added to a closed object, and old readers reject it",
    mirror="property-removed-from-closed",
)
ADDED_REQUIRED = define_rule(
    "A2A022 property-added-required",
    "property narrows E I E",
    "{name} was added as a required member",
    "make it optional, or give readers a default in x-a2a-read",
    mirror="property-removed-required",
)
ADDED_WITH_DEFAULT = define_rule(
    "A2A023 property-added-required-with-default",
    "property narrows W I W",
    "{name} was added as a required member; readers fill in a default",
    "no action needed where readers are lenient; requests are read strictly",
    mirror="property-removed-required",
)
REMOVED_OPTIONAL = define_rule(
    "A2A024 property-removed-optional",
    "property none W W E",
    "{name} was removed; readers ignore it",
    'mark it "deprecated" first, and reserve its name and number',
    mirror="property-added-optional",
)
REMOVED_REQUIRED = define_rule(
    "A2A025 property-removed-required",
    "property widens I E E",
    "{name} was removed, and was required",
    mirror="property-added-required",
)
REMOVED_FROM_CLOSED = define_rule(
    "A2A026 property-removed-from-closed",
    "property narrows E W E",
    "{name} was removed from a closed object, and is now rejected",
    mirror="property-added-optional-to-closed",
)
RENAMED = define_rule(
    "A2A027 property-renamed",
    "property both E E E",
    "{old} was renamed to {new}",
    'keep the old name in "x-a2a-aliases"',
    mirror=ITSELF,
)
RENAMED_ALIAS = define_rule(
    "A2A028 property-renamed-alias-kept",
    "property both I E E",
    "{old} was renamed to {new}; readers accept both names",
    mirror=ITSELF,
)
SHAPED = define_rule(
    "A2A029 free-object-shaped",
    "property narrows E I W",
    "{name} was added to an object without named members, which may have held another value",
    waiver="removing the last named member is reported by property-removed-optional",
)
BECAME_REQUIRED = define_rule(
    "A2A030 became-required",
    "property narrows E I E",
    "{name} is now required",
    mirror="became-optional",
)
BECAME_OPTIONAL = define_rule(
    "A2A031 became-optional",
    "property widens I E E",
    "{name} is now optional",
    mirror="became-required",
)

RULES = (
    ADDED_OPTIONAL,
    ADDED_TO_CLOSED,
    ADDED_REQUIRED,
    ADDED_WITH_DEFAULT,
    REMOVED_OPTIONAL,
    REMOVED_REQUIRED,
    REMOVED_FROM_CLOSED,
    RENAMED,
    RENAMED_ALIAS,
    SHAPED,
    BECAME_REQUIRED,
    BECAME_OPTIONAL,
)


def compare_members(context: RuleContext) -> Iterator[ComparisonItem]:
    """Compare the members that either side names."""
    old = context.old.node
    new = context.new.node
    renamed = _find_renamed(context)
    for name in dict.fromkeys((*members.list_names(old), *members.list_names(new))):
        if name in renamed or name in renamed.values():
            continue
        before = members.find_member(old, name)
        after = members.find_member(new, name)
        if before and after:
            yield _build_child(context, name)
        elif after:
            yield from _compare_added(context, name)
        else:
            yield from _compare_removed(context, name)
    for name, now in renamed.items():
        has_alias = now in members.list_names(new) and name in _list_aliases(context, now)
        yield context.build_change(
            RENAMED_ALIAS if has_alias else RENAMED,
            "properties",
            now,
            focus=Focus(present_members=(name, now), missing_members=(now, name)),
            old=name,
            new=now,
        )
    yield from _compare_required(context, renamed)


def _compare_required(context: RuleContext, renamed: Mapping[str, str]) -> Iterator[SchemaChange]:
    old = context.old.node
    new = context.new.node
    both = {*members.list_names(old)} & {*members.list_names(new)}
    nameless = (
        (members.list_required(old) ^ members.list_required(new))
        - {*members.list_names(old)}
        - {*members.list_names(new)}
    )
    for name in sorted((both | nameless) - renamed.keys() - set(renamed.values())):
        was = name in members.list_required(old)
        must = name in members.list_required(new)
        if must and not was:
            filled = members.has_entry(new, "x-a2a-read", name)
            yield context.build_change(
                BECAME_REQUIRED,
                "required",
                name=name,
                levels=ChangeLevels.parse("W I W") if filled else None,
                focus=_focus_without(name),
            )
        elif was and not must:
            filled = members.has_entry(old, "x-a2a-read", name)
            yield context.build_change(
                BECAME_OPTIONAL,
                "required",
                name=name,
                levels=ChangeLevels.parse("I W W") if filled else None,
                focus=_focus_without(name),
            )


def _build_child(context: RuleContext, name: str) -> ComparisonItem:
    old, new = (members.build_member_node(*side, name) for side in context.sides)
    return context.build_child(old, new, ("member", name), "properties", name)


def _compare_added(context: RuleContext, name: str) -> Iterator[ComparisonItem]:
    before = members.build_member_node(*context.sides[0], name)
    must = name in members.list_required(context.new.node)
    knew = name in members.list_required(context.old.node)
    if must and not knew:
        filled = members.has_entry(context.new.node, "x-a2a-read", name)
        yield context.build_change(
            ADDED_WITH_DEFAULT if filled else ADDED_REQUIRED,
            "properties",
            name,
            name=name,
            focus=_focus_without(name),
        )
    if knew and not must:
        yield context.build_change(
            BECAME_OPTIONAL, "required", name=name, focus=_focus_without(name)
        )
    if before.is_impossible:
        yield context.build_change(
            ADDED_TO_CLOSED, "properties", name, name=name, focus=_focus_with(name)
        )
    elif knew or not before.is_unconstrained:
        yield _build_child(context, name)
    elif not members.list_names(context.old.node):
        yield from _compare_shaped(context, name)
    elif not must:
        yield context.build_change(ADDED_OPTIONAL, "properties", name, name=name)


def _compare_shaped(context: RuleContext, name: str) -> Iterator[SchemaChange]:
    if not members.build_member_node(*context.sides[1], name).is_unconstrained:
        yield context.build_change(SHAPED, "properties", name, name=name, focus=_focus_with(name))


def _compare_removed(context: RuleContext, name: str) -> Iterator[ComparisonItem]:
    after = members.build_member_node(*context.sides[1], name)
    was = name in members.list_required(context.old.node)
    must = name in members.list_required(context.new.node)
    softer = _soften_levels(context, name)
    if must and not was:
        yield context.build_change(
            BECAME_REQUIRED, "required", name=name, focus=_focus_without(name)
        )
    if after.is_impossible:
        levels = ChangeLevels(
            ChangeLevel.ERROR, ChangeLevel.ERROR if was else ChangeLevel.WARNING, ChangeLevel.ERROR
        )
        yield context.build_change(
            REMOVED_FROM_CLOSED,
            "properties",
            name,
            name=name,
            levels=softer or levels,
            focus=_focus_with(name),
        )
        if was:
            yield context.build_change(
                REMOVED_REQUIRED,
                "properties",
                name,
                name=name,
                levels=softer,
                focus=_focus_without(name),
            )
    elif was and not must:
        filled = members.has_entry(context.old.node, "x-a2a-read", name)
        yield context.build_change(
            REMOVED_REQUIRED,
            "properties",
            name,
            name=name,
            levels=softer or (ChangeLevels.parse("I W E") if filled else None),
            focus=_focus_without(name),
        )
    elif after.is_unconstrained and not must:
        yield context.build_change(REMOVED_OPTIONAL, "properties", name, name=name, levels=softer)
    if not after.is_impossible and (must or not after.is_unconstrained):
        yield _build_child(context, name)
    elif (
        after.is_unconstrained
        and not members.list_names(context.new.node)
        and not members.build_member_node(*context.sides[0], name).is_unconstrained
    ):
        yield context.build_change(
            REMOVED_OPTIONAL, "properties", name, name=name, levels=ChangeLevels.parse("W E E")
        )


def _focus_without(name: str) -> Focus:
    return Focus(missing_members=(name, name))


def _focus_with(name: str) -> Focus:
    return Focus(present_members=(name, name))


def _soften_levels(context: RuleContext, name: str) -> ChangeLevels | None:
    """Return lower levels if the contract reserves the name of a removed member."""
    reserved = (
        value.get("properties")
        for value in context.new.node.values("x-reserved")
        if isinstance(value, dict)
    )
    if any(isinstance(each, list) and name in each for each in reserved):
        return ChangeLevels.parse("I I E")
    return None


def _list_aliases(context: RuleContext, name: str) -> list[str]:
    listed = members.get_member_keyword(context.new.node, name, "x-a2a-aliases")
    if isinstance(listed, list):
        return [str(each) for each in listed]
    return []


def _find_renamed(context: RuleContext) -> dict[str, str]:
    """Find members that are equal but renamed: by ``x-renamed-from``, by alias, or by their
    number.
    """
    old = context.old.node
    new = context.new.node
    removed = [name for name in members.list_names(old) if members.find_member(new, name) is None]
    added = [name for name in members.list_names(new) if members.find_member(old, name) is None]
    found: dict[str, str] = {}
    for name in added:
        said = members.get_member_keyword(new, name, "x-renamed-from")
        before = [each for each in removed if each == said or each in _list_aliases(context, name)]
        number = get_proto_number(context, 1, name)
        before += [
            each
            for each in removed
            if number is not None
            and get_proto_number(context, 0, each) == number
            and _is_same_type(context, each, name)
        ]
        if before and before[0] not in found:
            found[before[0]] = name
    return found


def _is_same_type(context: RuleContext, before: str, after: str) -> bool:
    """Return true if two members of one number have the same type; otherwise the number was reused,
    not renamed.
    """
    schemas = (
        members.find_member(context.old.node, before),
        members.find_member(context.new.node, after),
    )
    said = [schema.members.get("type", schema.members.get("$ref")) for schema in schemas if schema]
    return len(said) == 2 and said[0] == said[1]  # noqa: PLR2004 - both exist


def get_proto_number(context: RuleContext, side: int, name: str) -> int | None:
    """Return the protocol buffer number of a member."""
    said = members.get_member_keyword((context.old.node, context.new.node)[side], name, "x-proto")
    number = said.get("number") if isinstance(said, dict) else None
    if isinstance(number, int):
        return number
    return None
