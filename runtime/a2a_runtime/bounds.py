"""What a number may be that somebody sets: finite and not negative, and more than nothing where nothing would stop the work or make it spin."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import isfinite


def misfits(said: Mapping[str, object], positive: Collection[str], prefix: str = "") -> Iterator[str]:
    """Say of each number that cannot work what it would have to be; what is no number is nobody's business here."""
    for name, number in said.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not isfinite(number) or number < 0 or (number == 0 and name in positive):
            yield f"{prefix}{name} is {number}, and must be a finite number {'above 0' if name in positive else 'of at least 0'}"
