"""Detection of duplicates."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def find_duplicates(values: Iterable[T], key: Callable[[T], Hashable]) -> Iterator[tuple[T, T]]:
    """Yield every value whose key occurred before, with the first value of that key."""
    first: dict[Hashable, T] = {}
    for value in values:
        known = first.setdefault(key(value), value)
        if known is not value:
            yield value, known
