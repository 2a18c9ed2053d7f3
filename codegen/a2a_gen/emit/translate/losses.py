"""What a dialect says it cannot carry, against what its translations drop: each must be the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from a2a_gen.emit.translate.cases import Case, cases
from a2a_gen.emit.translate.links import Link, Linked
from a2a_gen.emit.translate.matches import Pair
from a2a_gen.emit.translate.paths import Leaf
from a2a_gen.emit.translate.rules import Direction, Report
from a2a_gen.ir.checks.dialects import ANY_TYPE
from a2a_gen.ir.model import Constant, Dialect, Loss
from a2a_gen.problems import Place


def dropped(linked: Linked, *, is_flat: bool) -> Iterator[tuple[Direction, str]]:
    """List the members of a pair that do not survive, or not always."""
    read = [case for case in cases(linked, Direction.READ) if case.key]
    for leaf in linked.theirs:
        if not isinstance(leaf.field.type, Constant) and not _is_read(leaf, linked.links, read):
            yield Direction.READ, leaf.name
    written = cases(linked, Direction.WRITE)
    for leaf in linked.ours:
        if not _is_written(leaf, written, is_flat=is_flat):
            yield Direction.WRITE, leaf.name


def _is_read(leaf: Leaf, links: Sequence[Link], read: Sequence[Case]) -> bool:
    """Say whether a member is read whenever it is there; of several that may be there at once, only the first becomes the one that ours has."""
    place = next((place for place, case in enumerate(read) if case.link and leaf in case.link.theirs[:1]), 0)
    earlier = [other for case in read[:place] if case.link for other in case.link.theirs[:1]]
    carriers = [link for link in links if leaf in link.theirs and link.carries(Direction.READ)]
    return any(_is_first_source(link, links) for link in carriers) and all(leaf.excludes(other) for other in earlier)


def _is_first_source(link: Link, links: Sequence[Link]) -> bool:
    """Say whether no earlier link gives a value to what this one gives a value to."""
    targets = {leaf.path for leaf in link.ours}
    earlier = (each for each in links[: links.index(link)] if each.sets(Direction.READ))
    rivals = [each for each in earlier if not targets.isdisjoint(leaf.path for leaf in each.ours)]
    return all(any(one.excludes(other) for one in each.theirs for other in link.theirs) for each in rivals)


def _is_written(leaf: Leaf, cases: Iterable[Case], *, is_flat: bool) -> bool:
    """Say whether a member is written whenever it is there; of several that are written to one, only the first always is."""
    if leaf.last.is_chosen and len(leaf.steps) == 1:
        own = [case.link for case in cases if case.key is leaf and case.link]
        return all(link.carries(Direction.WRITE) for link in own) if own else is_flat
    return all(any(_is_first(leaf, link) and link.carries(Direction.WRITE) for link in case.links) for case in cases)


def _is_first(leaf: Leaf, link: Link) -> bool:
    return leaf in (link.ours[:1] if link.kind == "rename" else link.ours)


class Losses:
    """The list ``lossy`` of a dialect, and which of its lines were needed."""

    def __init__(self, dialect: Dialect, report: Report) -> None:
        self._lines = dialect.lossy
        self._used: set[Loss] = set()
        self._report = report

    def demand(self, pair: Pair, place: Place, direction: Direction, member: str) -> None:
        """Note that a member does not survive; it is a problem if no line says so."""
        lines = [line for line in self._lines if _covers(line, pair, direction, member)]
        self._used.update(lines)
        if not lines:
            owner, verb = (pair.theirs, "reading") if direction is Direction.READ else (pair.ours, "writing")
            line = f'{{"type": "{pair.theirs}", "member": "{member}", "direction": "{direction}", "reason": …}}'
            self._report.add(place, "A2A-T05", f"{pair}: {verb} loses {owner}.{member}", f'write a rule for it, or say so in "lossy": {line}')

    def allow(self, pair: Pair, direction: Direction, member: str) -> None:
        """Accept what is said about a member that a function derives, or about its inside, where nobody else can know."""
        own = (line for line in self._lines if line.type == pair.theirs and line.direction == direction)
        self._used.update(line for line in own if line.member == member or line.member.startswith(f"{member}."))

    def check(self) -> None:
        """Report the lines that nothing needed."""
        for line in self._lines:
            if line not in self._used:
                text = f"{line.type}.{line.member} is not lost on {line.direction}"
                self._report.add(line.place, "A2A-T06", text, "delete the line, or correct its type, member and direction")


def _covers(line: Loss, pair: Pair, direction: Direction, member: str) -> bool:
    is_type = line.type in (ANY_TYPE, pair.theirs)
    return is_type and line.direction == direction and line.member == member
