"""Tasks in the order of their last change of state, for lists that begin with the newest.

A task that changes goes to the end and leaves its old entry behind, which is recognised by its number and thrown out when there are too many of them.
So a change costs one append, a page costs its own length, and an entry costs sixteen bytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from a2a_runtime.stores.memory.row import Row

_SLACK = 64


class Timeline:
    """Rows by the numbers of their last moves."""

    __slots__ = ("_left", "_moves", "_rows", "size")

    def __init__(self) -> None:
        self._moves = array("q")
        self._rows: list[Row] = []
        self._left = 0
        self.size = 0

    def add(self, row: Row) -> None:
        """Put a row to the end."""
        if self._left > self.size + _SLACK:
            self._throw_out()
        self._moves.append(row.moved)
        self._rows.append(row)
        self.size += 1

    def leave(self) -> None:
        """Note that a row has got another number, and its entry here counts no more."""
        self.size -= 1
        self._left += 1

    def newest_first(self, before: int | None = None) -> Iterator[Row]:
        """Go through the rows, from the end or from before a number."""
        at = len(self._moves) if before is None else bisect_left(self._moves, before)
        for index in range(at - 1, -1, -1):
            row = self._rows[index]
            if row.moved == self._moves[index]:
                yield row

    def _throw_out(self) -> None:
        rows = [row for moved, row in zip(self._moves, self._rows, strict=True) if row.moved == moved]
        self._rows, self._left = rows, 0
        self._moves = array("q", [row.moved for row in rows])
