"""Groups of members of which one must be there (``x-a2a-oneof``)."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import members
from a2a_gen.diff.change import Change, Scene
from a2a_gen.diff.rules.rule import SAME, rule

MEMBER_REMOVED = rule("A2A073 oneof-member-removed", "group narrows E I E", "{name} is no longer one of the choices", mirror="oneof-member-added")
MEMBER_ADDED = rule("A2A074 oneof-member-added", "group widens I W I", "{name} is a new choice", mirror="oneof-member-removed")
REGROUPED = rule("A2A075 oneof-regrouped", "group both E E E", "{name} was moved into or out of a group of choices", mirror=SAME)
GROUP_ADDED = rule("A2A076 oneof-added", "group narrows E I E", "one of {new} must be there now", mirror="oneof-removed")
GROUP_REMOVED = rule("A2A077 oneof-removed", "group widens I E E", "none of {old} need be there any more", mirror="oneof-added")

RULES = (MEMBER_REMOVED, MEMBER_ADDED, REGROUPED, GROUP_ADDED, GROUP_REMOVED)


def compare_presence(scene: Scene) -> Iterator[Change]:
    """Compare the groups of two objects."""
    old, new = members.presence(scene.old.node), members.presence(scene.new.node)
    for label in dict.fromkeys((*old, *new)):
        below = label.partition(" ")[0]
        if label not in old:
            yield scene.change(GROUP_ADDED, below, new=_told(new[label]))
        elif label not in new:
            yield scene.change(GROUP_REMOVED, below, old=_told(old[label]))
        elif old[label] != new[label]:
            yield from _choices(scene, below, old[label], new[label])


def _choices(scene: Scene, below: str, old: frozenset[frozenset[str]], new: frozenset[frozenset[str]]) -> Iterator[Change]:
    known = {*members.names(scene.old.node)}, {*members.names(scene.new.node)}
    for gone in sorted(old - new, key=sorted):
        moved = gone <= known[1]
        yield scene.change(REGROUPED if moved else MEMBER_REMOVED, below, name=" with ".join(sorted(gone)))
    for added in sorted(new - old, key=sorted):
        moved = added <= known[0] or not added
        yield scene.change(REGROUPED if moved else MEMBER_ADDED, below, name=" with ".join(sorted(added)))


def _told(branches: frozenset[frozenset[str]]) -> str:
    return ", ".join(" with ".join(sorted(each)) or "nothing" for each in sorted(branches, key=sorted))
