"""One recognised transition is one finding: what a change explains is not told again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from a2a_gen.diff.change import Change
from a2a_gen.diff.rules.annotations import AFTER_SUNSET, BEFORE_SUNSET, NOT_RESERVED, REMOVALS
from a2a_gen.diff.rules.enums import ENUM_OPENED
from a2a_gen.diff.rules.presence import MEMBER_ADDED, MEMBER_REMOVED
from a2a_gen.diff.rules.properties import ADDED_OPTIONAL, REMOVED_OPTIONAL
from a2a_gen.diff.rules.rule import Rule
from a2a_gen.diff.rules.types import TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED
from a2a_gen.diff.rules.unions import BRANCH_ADDED, BRANCH_REMOVED, TAG_CHANGED

_SUNSETS = frozenset({AFTER_SUNSET, BEFORE_SUNSET})
_BRANCHES = frozenset({BRANCH_ADDED, BRANCH_REMOVED})
_IN_GROUPS = {REMOVED_OPTIONAL: MEMBER_REMOVED, ADDED_OPTIONAL: MEMBER_ADDED}
_TYPES = frozenset({TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED})


def unclaimed(changes: Iterable[Change]) -> Iterator[Change]:
    """Leave out changes that another one at the same place claims."""
    found = tuple(dict.fromkeys(changes))
    over = {_name(change) for change in found if change.rule in _SUNSETS}
    removed = {_name(change) for change in found if change.rule in REMOVALS}
    both_types = {change.new for change in found if change.rule is TYPE_CHANGED}
    has_new_tag = any(change.rule is TAG_CHANGED for change in found)
    for change in found:
        if change.rule in _BRANCHES and has_new_tag:
            continue  # every alternative is told apart anew
        if change.rule in _IN_GROUPS and _name(change) in _names(found, _IN_GROUPS[change.rule]):
            continue  # the group says it
        is_removal = change.rule in REMOVALS or change.rule is NOT_RESERVED
        if is_removal and _name(change) in over:
            continue  # the last day of a member says it all
        if change.rule is NOT_RESERVED and _name(change) in removed and change.levels.write is not NOT_RESERVED.levels.write:
            continue
        if change.rule in _TYPES and change.rule is not TYPE_CHANGED and change.new in both_types:
            continue
        if change.rule is ENUM_OPENED and any(other.rule is ENUM_OPENED and other is not change and other.new == change.new for other in found):
            continue
        yield change


def _names(changes: Iterable[Change], rule: Rule) -> set[str]:
    return {_name(change) for change in changes if change.rule is rule}


def _name(change: Change) -> str:
    return dict(change.words).get("name", "")
