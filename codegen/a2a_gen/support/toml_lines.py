"""Where in a TOML text a setting stands. Pure.

``tomllib`` does the reading; it knows every rule but no position. This knows only as much of TOML as it takes to find tables and keys at the begin of
lines, and expects a text that ``tomllib`` has taken. What is written within a value is where the value begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

_TABLE = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_SETTING = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""")
_STEP = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_QUOTES = re.compile(r'"""|\'\'\'')

Path: TypeAlias = tuple[str | int, ...]
"""The names of the tables that lead to a setting, and its own; in a list of tables, their numbers."""


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Say on which line a setting stands, or the nearest table around it; 1 if there is none."""
    return nearest(lines_of(text), path)


def lines_of(text: str) -> Mapping[Path, int]:
    """Map every table and setting, by the names that lead to it, to its line."""
    return dict(reversed([*_places(text)]))


def nearest(lines: Mapping[Path, int], path: Sequence[str | int]) -> int:
    """Find the line of a setting among all of them, or that of the nearest table around it; 1 if there is none."""
    return next((lines[place] for length in range(len(path), 0, -1) if (place := tuple(path[:length])) in lines), 1)


def _places(text: str) -> Iterator[tuple[Path, int]]:
    table: Path = ()
    counts: dict[Path, int] = {}
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if match := _TABLE.fullmatch(line):
            table = _steps(match[2], counts)
            if match[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif match := _SETTING.match(line):
            yield (*table, *_steps(match[1], {})), number
            opened = _QUOTES.findall(line[match.end() :])
            quote = opened[0] if len(opened) == 1 else ""


def _steps(dotted: str, counts: dict[Path, int]) -> Path:
    """Read a dotted name; where it passes through a list of tables, the last of them is meant."""
    steps: Path = ()
    names = [step.strip("\"'") for step in _STEP.findall(dotted)]
    for place, name in enumerate(names, 1):
        steps = (*steps, name)
        if place < len(names) and steps in counts:
            steps = (*steps, counts[steps])
    return steps
