"""Numbers with their nouns, as commands print them."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
