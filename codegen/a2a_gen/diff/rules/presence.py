"""Groups of members of which one is required (``x-a2a-oneof``)."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, define_rule
from a2a_gen.diff.tree import members

MEMBER_REMOVED = define_rule(
    "A2A073 oneof-member-removed",
    "group narrows E I E",
    "{name} was removed from the group",
    mirror="oneof-member-added",
)
MEMBER_ADDED = define_rule(
    "A2A074 oneof-member-added",
    "group widens I E I",
    "{name} was added to the group",
    mirror="oneof-member-removed",
)
REGROUPED = define_rule(
    "A2A075 oneof-regrouped",
    "group both E E E",
    "{name} was moved into or out of the group",
    mirror=ITSELF,
)
GROUP_ADDED = define_rule(
    "A2A076 oneof-added",
    "group narrows E I E",
    "one of {new} is now required",
    mirror="oneof-removed",
)
GROUP_REMOVED = define_rule(
    "A2A077 oneof-removed",
    "group widens I E E",
    "one of {old} is no longer required",
    mirror="oneof-added",
)

RULES = (MEMBER_REMOVED, MEMBER_ADDED, REGROUPED, GROUP_ADDED, GROUP_REMOVED)


def compare_presence(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the groups of two objects."""
    old = members.collect_presence_groups(context.old.node)
    new = members.collect_presence_groups(context.new.node)
    for label in dict.fromkeys((*old, *new)):
        below = label.partition(" ")[0]
        if label not in old:
            yield context.build_change(GROUP_ADDED, below, new=_render_groups(new[label]))
        elif label not in new:
            yield context.build_change(GROUP_REMOVED, below, old=_render_groups(old[label]))
        elif old[label] != new[label]:
            yield from _compare_choices(context, below, old[label], new[label])


def _compare_choices(
    context: RuleContext, below: str, old: frozenset[frozenset[str]], new: frozenset[frozenset[str]]
) -> Iterator[SchemaChange]:
    known = {*members.list_names(context.old.node)}, {*members.list_names(context.new.node)}
    for removed in sorted(old - new, key=sorted):
        moved = removed <= known[1]
        yield context.build_change(
            REGROUPED if moved else MEMBER_REMOVED, below, name=" with ".join(sorted(removed))
        )
    for added in sorted(new - old, key=sorted):
        moved = added <= known[0] or not added
        yield context.build_change(
            REGROUPED if moved else MEMBER_ADDED, below, name=" with ".join(sorted(added))
        )


def _render_groups(branches: frozenset[frozenset[str]]) -> str:
    return ", ".join(
        " with ".join(sorted(each)) or "nothing" for each in sorted(branches, key=sorted)
    )
