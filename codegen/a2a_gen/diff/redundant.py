"""Changes that another change explains: one recognized transition is one finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.rules.annotations import AFTER_SUNSET, BEFORE_SUNSET, NOT_RESERVED, REMOVALS
from a2a_gen.diff.rules.enums import ENUM_OPENED
from a2a_gen.diff.rules.presence import MEMBER_ADDED, MEMBER_REMOVED
from a2a_gen.diff.rules.properties import ADDED_OPTIONAL, REMOVED_OPTIONAL
from a2a_gen.diff.rules.rule import ChangeRule
from a2a_gen.diff.rules.types import TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED
from a2a_gen.diff.rules.unions import BRANCH_ADDED, BRANCH_REMOVED, TAG_CHANGED

_SUNSET_RULES = frozenset({AFTER_SUNSET, BEFORE_SUNSET})
_BRANCH_RULES = frozenset({BRANCH_ADDED, BRANCH_REMOVED})
_GROUP_RULES = {REMOVED_OPTIONAL: MEMBER_REMOVED, ADDED_OPTIONAL: MEMBER_ADDED}
_TYPE_RULES = frozenset({TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED})


def drop_redundant(changes: Iterable[SchemaChange]) -> Iterator[SchemaChange]:
    """Drop changes that another change at the same location already explains."""
    all_changes = tuple(dict.fromkeys(changes))
    sunset = {_get_name(change) for change in all_changes if change.rule in _SUNSET_RULES}
    removed = {_get_name(change) for change in all_changes if change.rule in REMOVALS}
    type_changes = {change.new for change in all_changes if change.rule is TYPE_CHANGED}
    has_new_tag = any(change.rule is TAG_CHANGED for change in all_changes)
    for change in all_changes:
        if change.rule in _BRANCH_RULES and has_new_tag:
            # The new discriminator changes every alternative.
            continue
        if change.rule in _GROUP_RULES and _get_name(change) in _collect_names(
            all_changes, _GROUP_RULES[change.rule]
        ):
            # The group reports it.
            continue
        is_removal = change.rule in REMOVALS or change.rule is NOT_RESERVED
        if is_removal and _get_name(change) in sunset:
            # The sunset rule reports it.
            continue
        if (
            change.rule is NOT_RESERVED
            and _get_name(change) in removed
            and change.levels.write is not NOT_RESERVED.levels.write
        ):
            continue
        if (
            change.rule in _TYPE_RULES
            and change.rule is not TYPE_CHANGED
            and change.new in type_changes
        ):
            continue
        if change.rule is ENUM_OPENED and any(
            other.rule is ENUM_OPENED and other is not change and other.new == change.new
            for other in all_changes
        ):
            continue
        yield change


def _collect_names(changes: Iterable[SchemaChange], rule: ChangeRule) -> set[str]:
    return {_get_name(change) for change in changes if change.rule is rule}


def _get_name(change: SchemaChange) -> str:
    return dict(change.arguments).get("name", "")
