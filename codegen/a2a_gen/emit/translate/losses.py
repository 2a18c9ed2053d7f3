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


def _is_read(leaf: Leaf, links: Iterable[Link], read: Sequence[Case]) -> bool:
    """Say whether a member is read whenever it is there; of several that may be there at once, only the first becomes the one that ours may have."""
    place = next((place for place, case in enumerate(read) if case.link and leaf in case.link.theirs[:1]), 0)
    earlier = [other for case in read[:place] if case.link for other in case.link.theirs[:1]]
    is_carried = any(leaf in link.theirs and link.carries(Direction.READ) for link in links)
    return is_carried and all(leaf.excludes(other) for other in earlier)


def _is_written(leaf: Leaf, cases: Iterable[Case], *, is_flat: bool) -> bool:
    if leaf.last.is_chosen and len(leaf.steps) == 1:
        return is_flat or any(case.key is leaf and case.link and case.link.carries(Direction.WRITE) for case in cases)
    return all(any(leaf in link.ours and link.carries(Direction.WRITE) for link in case.links) for case in cases)


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
        """Accept what is said about the inside of a member that a function derives, where nobody else can know."""
        inside = f"{member}."
        self._used.update(line for line in self._lines if line.type == pair.theirs and line.direction == direction and line.member.startswith(inside))

    def check(self) -> None:
        """Report the lines that nothing needed."""
        for line in self._lines:
            if line not in self._used:
                text = f"{line.type}.{line.member} is not lost on {line.direction}"
                self._report.add(line.place, "A2A-T06", text, "delete the line, or correct its type, member and direction")


def _covers(line: Loss, pair: Pair, direction: Direction, member: str) -> bool:
    is_type = line.type in (ANY_TYPE, pair.theirs)
    return is_type and line.direction == direction and line.member == member
