"""Numbers with their nouns, as commands print them."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Write a number with its noun."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}s"
