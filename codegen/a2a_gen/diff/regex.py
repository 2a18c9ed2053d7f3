"""Texts that match a pattern: enough of regular expressions for what people write into schemas, and no answer for the rest.

Whoever asks checks the answer with a validator, so what is not understood need only be noticed, never guessed.
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
    """The pattern has something in it that is not followed here."""


PATTERN_OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=50_000, size_limit=2_000_000)
"""How far validators go with a pattern; Python's own search has no limit at all."""


def is_match(pattern: str, text: str) -> bool | None:
    """Tell whether a text matches; without an answer when the pattern is none, or takes too long."""
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
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=PATTERN_OPTIONS)
    except (ValueError, jsonschema_rs.ValidationError):
        return None


def generate_matches(pattern: str) -> Iterator[str]:
    """Give a few short texts that may match; nothing for a pattern that is not understood."""
    for extra in (0, 1, -1):
        try:
            text, end = _parse_alternatives(pattern, 0, extra)
        except (_UnsupportedPatternError, IndexError, ValueError):
            return
        if end == len(pattern) and len(text) <= _MAX_LENGTH:
            yield text


def _parse_alternatives(pattern: str, at: int, extra: int) -> tuple[str, int]:
    """Read up to the end of a group; the first alternative is as good as any."""
    first: str | None = None
    while True:
        text, at = _parse_sequence(pattern, at, extra)
        first = text if first is None else first
        if at >= len(pattern) or pattern[at] != "|":
            return first, at
        at += 1


def _parse_sequence(pattern: str, at: int, extra: int) -> tuple[str, int]:
    made = ""
    while at < len(pattern) and pattern[at] not in "|)":
        if pattern[at] in "^$":
            at += 1
            continue
        piece, at = _parse_atom(pattern, at, extra)
        times, at = _parse_quantifier(pattern, at, extra)
        if len(piece) * times > _MAX_LENGTH:
            raise _UnsupportedPatternError
        made += piece * times
    return made, at


def _parse_atom(pattern: str, at: int, extra: int) -> tuple[str, int]:
    match pattern[at]:
        case "(":
            if pattern.startswith("(?", at) and not pattern.startswith("(?:", at):
                raise _UnsupportedPatternError
            text, end = _parse_alternatives(pattern, at + (3 if pattern.startswith("(?:", at) else 1), extra)
            if pattern[end] != ")":
                raise _UnsupportedPatternError
            return text, end + 1
        case "[":
            return _parse_class(pattern, at + 1, use_last=extra != 0)
        case "\\":
            return _parse_escape(pattern[at + 1]), at + 2
        case ".":
            return "a", at + 1
        case character:
            return character, at + 1


def _parse_escape(character: str) -> str:
    if character in _CLASS_SAMPLES:
        return _CLASS_SAMPLES[character]
    if character.isalnum():
        raise _UnsupportedPatternError
    return character


def _parse_class(pattern: str, at: int, *, use_last: bool) -> tuple[str, int]:
    is_not = pattern[at] == "^"
    at += is_not
    members: list[str] = []
    while pattern[at] != "]" or not members:
        character = _parse_escape(pattern[at + 1]) if pattern[at] == "\\" else pattern[at]
        is_class = pattern[at] == "\\" and pattern[at + 1] in "dwsDWS"
        at += 2 if pattern[at] == "\\" else 1
        if not is_class and pattern[at] == "-" and pattern[at + 1] != "]":
            members += [chr(code) for code in range(ord(character), min(ord(pattern[at + 1]), ord(character) + _MAX_LENGTH) + 1)]
            at += 2
        elif is_class and is_not:
            members += {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": string.whitespace}.get(pattern[at - 1], "")
        else:
            members.append(character)
    chosen = next((each for each in _PRINTABLE if each not in members), None) if is_not else members[-use_last]
    if chosen is None:
        raise _UnsupportedPatternError
    return chosen, at + 1


def _parse_quantifier(pattern: str, at: int, extra: int) -> tuple[int, int]:
    least, most = 1, 1
    if at < len(pattern) and pattern[at] in "*+?":
        least, most = {"*": (0, _MAX_LENGTH), "+": (1, _MAX_LENGTH), "?": (0, 1)}[pattern[at]]
        at += 1
    elif at < len(pattern) and pattern[at] == "{":
        end = pattern.index("}", at)
        lower, comma, upper = pattern[at + 1 : end].partition(",")
        least, at = int(lower), end + 1
        most = int(upper) if upper else _MAX_LENGTH if comma else least
    else:
        return 1, at
    if at < len(pattern) and pattern[at] == "?":
        at += 1
    return min(least + max(extra, 0), most), at
