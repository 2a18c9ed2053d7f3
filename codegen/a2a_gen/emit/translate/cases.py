"""The cases of a translation: one for each member of a group of which exactly one is present, or a single one."""

from __future__ import annotations

from dataclasses import dataclass

from a2a_gen.emit.translate.links import Link, Linked
from a2a_gen.emit.translate.paths import Leaf
from a2a_gen.emit.translate.rules import Direction


@dataclass(frozen=True, slots=True)
class Case:
    """What holds when one member of ours is the present one: the link that carries it, and every link that has a value then."""

    key: Leaf | None
    link: Link | None
    links: tuple[Link, ...]

    def lacks(self, leaf: Leaf) -> bool:
        """Say whether a member of either side is absent in this case."""
        present = (*self.link.theirs[:1], *((self.key,) if self.key else ())) if self.link else ()
        return any(leaf.excludes(other) for other in present)


def cases(linked: Linked, direction: Direction) -> tuple[Case, ...]:
    """List the cases of a pair in one direction."""
    keys = [leaf for leaf in linked.ours if leaf.last.is_chosen and len(leaf.steps) == 1]
    active = tuple(link for link in linked.links if link.sets(direction))
    if not keys:
        return (Case(None, None, active),)
    found: list[Case] = []
    for key in keys:
        link = next((link for link in active if key in link.ours), None)
        if link:
            case = Case(key, link, ())
            found.append(Case(key, link, tuple(each for each in active if not any(map(case.lacks, (*each.theirs, *each.ours))))))
    return tuple(found)
