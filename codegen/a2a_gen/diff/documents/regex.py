"""Strings that match a pattern, for the common subset of regular expressions; other patterns yield
nothing.

Callers confirm each string with a validator, so an unsupported construct only has to be detected.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from functools import lru_cache

import jsonschema_rs

_CLASS_SAMPLES = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t"}
_PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
_MAX_LENGTH = 300


class _UnsupportedPatternError(ValueError):
    """The pattern contains an unsupported construct."""


PATTERN_OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=50_000, size_limit=2_000_000)
"""Limits of pattern matching; Python's own engine has none."""


def is_match(pattern: str, text: str) -> bool | None:
    """Test a string; ``None`` if the pattern is invalid or exceeds the limits."""
    validator = _compile(pattern)
    if validator is None:
        return None
    try:
        return validator.is_valid(text)
    except (ValueError, jsonschema_rs.ValidationError):
        return None


@lru_cache(maxsize=4096)
def _compile(pattern: str) -> jsonschema_rs.Validator | None:
    try:
        return jsonschema_rs.Draft202012Validator(
            {"pattern": pattern}, pattern_options=PATTERN_OPTIONS
        )
    except (ValueError, jsonschema_rs.ValidationError):
        return None


def generate_matches(pattern: str) -> Iterator[str]:
    """Generate a few short strings that may match; none for an unsupported pattern."""
    for extra in (0, 1, -1):
        try:
            text, end = _parse_alternatives(pattern, 0, extra)
        except (_UnsupportedPatternError, IndexError, ValueError):
            return
        if end == len(pattern) and len(text) <= _MAX_LENGTH:
            yield text


def _parse_alternatives(pattern: str, position: int, extra: int) -> tuple[str, int]:
    """Parse up to the end of a group; the first alternative is used."""
    first: str | None = None
    while True:
        text, position = _parse_sequence(pattern, position, extra)
        first = text if first is None else first
        if position >= len(pattern) or pattern[position] != "|":
            return first, position
        position += 1


def _parse_sequence(pattern: str, position: int, extra: int) -> tuple[str, int]:
    text = ""
    while position < len(pattern) and pattern[position] not in "|)":
        if pattern[position] in "^$":
            position += 1
            continue
        piece, position = _parse_atom(pattern, position, extra)
        times, position = _parse_quantifier(pattern, position, extra)
        if len(piece) * times > _MAX_LENGTH:
            raise _UnsupportedPatternError
        text += piece * times
    return text, position


def _parse_atom(pattern: str, position: int, extra: int) -> tuple[str, int]:
    match pattern[position]:
        case "(":
            if pattern.startswith("(?", position) and not pattern.startswith("(?:", position):
                raise _UnsupportedPatternError
            text, end = _parse_alternatives(
                pattern, position + (3 if pattern.startswith("(?:", position) else 1), extra
            )
            if pattern[end] != ")":
                raise _UnsupportedPatternError
            return text, end + 1
        case "[":
            return _parse_class(pattern, position + 1, use_last=extra != 0)
        case "\\":
            return _parse_escape(pattern[position + 1]), position + 2
        case ".":
            return "a", position + 1
        case character:
            return character, position + 1


def _parse_escape(character: str) -> str:
    if character in _CLASS_SAMPLES:
        return _CLASS_SAMPLES[character]
    if character.isalnum():
        raise _UnsupportedPatternError
    return character


def _parse_class(pattern: str, position: int, *, use_last: bool) -> tuple[str, int]:
    is_not = pattern[position] == "^"
    position += is_not
    members: list[str] = []
    while pattern[position] != "]" or not members:
        character = (
            _parse_escape(pattern[position + 1]) if pattern[position] == "\\" else pattern[position]
        )
        is_class = pattern[position] == "\\" and pattern[position + 1] in "dwsDWS"
        position += 2 if pattern[position] == "\\" else 1
        if not is_class and pattern[position] == "-" and pattern[position + 1] != "]":
            members += [
                chr(code)
                for code in range(
                    ord(character),
                    min(ord(pattern[position + 1]), ord(character) + _MAX_LENGTH) + 1,
                )
            ]
            position += 2
        elif is_class and is_not:
            members += {
                "d": string.digits,
                "w": string.ascii_letters + string.digits + "_",
                "s": string.whitespace,
            }.get(pattern[position - 1], "")
        else:
            members.append(character)
    if is_not:
        chosen = next((each for each in _PRINTABLE if each not in members), None)
    else:
        chosen = members[-use_last]
    if chosen is None:
        raise _UnsupportedPatternError
    return chosen, position + 1


def _parse_quantifier(pattern: str, position: int, extra: int) -> tuple[int, int]:
    minimum = 1
    maximum = 1
    if position < len(pattern) and pattern[position] in "*+?":
        minimum, maximum = {"*": (0, _MAX_LENGTH), "+": (1, _MAX_LENGTH), "?": (0, 1)}[
            pattern[position]
        ]
        position += 1
    elif position < len(pattern) and pattern[position] == "{":
        end = pattern.index("}", position)
        lower, comma, upper = pattern[position + 1 : end].partition(",")
        minimum = int(lower)
        position = end + 1
        maximum = minimum
        if comma:
            maximum = int(upper) if upper else _MAX_LENGTH
    else:
        return 1, position
    if position < len(pattern) and pattern[position] == "?":
        position += 1
    return min(minimum + max(extra, 0), maximum), position
