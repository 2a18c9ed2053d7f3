"""JSON by RFC 8259, without loss: parsing, positions of values, and JSON pointers.

Duplicate keys, numbers out of range, lone surrogates and excessive nesting are problems here,
because ``json.loads`` would change or drop them silently, or later steps would fail. Integers keep
all their digits.

``json.loads`` parses; it checks every rule but reports no positions. ``iter_positions`` scans only
as much syntax as nesting needs, and expects text that ``json.loads`` accepted. It yields a value
once for each time it is written, so equal pointers reveal duplicate keys.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn, TypeAlias

from a2a_gen.problems import Place, Problem

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_BYTE_ORDER_MARK = "\ufeff"
_MAX_DEPTH = 100
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^\s"\]\[{}:,]+')
_NO_INDEX = -1


def iter_positions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the JSON pointer of every value with its offset, in the order of the text."""
    # The pointer of each open container, and the index of its current item.
    containers: list[tuple[str, int]] = []
    pointer = ""
    at_key = False
    for token in _TOKEN.finditer(text):
        match text[token.start()]:
            case "}" | "]":
                containers.pop()
                at_key = False
            case ",":
                parent, index = containers[-1]
                at_key = index == _NO_INDEX
                if not at_key:
                    containers[-1] = (parent, index + 1)
                    pointer = f"{parent}/{index + 1}"
            case ":":
                pass
            case _ if at_key:
                pointer = f"{containers[-1][0]}/{escape_key(_decode_key(token.group()))}"
                at_key = False
            case first:
                yield pointer, token.start()
                if first == "{":
                    containers.append((pointer, _NO_INDEX))
                    at_key = True
                elif first == "[":
                    containers.append((pointer, 0))
                    pointer = f"{pointer}/0"


def find_line_numbers(text: str) -> Mapping[str, int]:
    """Map the pointer of every value to its line; for a duplicate key, the later line."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return {pointer: bisect_right(ends, offset) + 1 for pointer, offset in iter_positions(text)}


def escape_key(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape_key(step: str) -> str:
    """Unescape a step of a JSON pointer."""
    return step.replace("~1", "/").replace("~0", "~")


def _decode_key(token: str) -> str:
    if "\\" in token:
        return str(json.loads(token))
    return token[1:-1]


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """A problem in a text, whose file is not known yet."""

    rule: str
    text: str
    cure: str
    line: int = 0
    pointer: str = ""

    def in_file(self, file: str) -> Problem:
        """Convert to a problem of a file."""
        return Problem(Place(file, self.line, self.pointer), self.rule, self.text, self.cure)


def parse(text: str) -> tuple[Json, tuple[ParseProblem, ...]]:
    """Parse a JSON text; the data is valid only if there are no problems."""
    if text.startswith(_BYTE_ORDER_MARK):
        return None, (
            ParseProblem(
                "A2A-S05",
                "the file begins with a byte order mark",
                "save it as UTF-8 without one",
                line=1,
            ),
        )
    keys_repeat = False

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        nonlocal keys_repeat
        data = dict(pairs)
        keys_repeat |= len(data) != len(pairs)
        return data

    try:
        data: Json = json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite,
        )
    except json.JSONDecodeError as error:
        where = f"{error.msg[0].lower()}{error.msg[1:]} at column {error.colno}"
        return None, (
            ParseProblem(
                "A2A-S06",
                f"invalid JSON: {where}",
                "correct the syntax at this place",
                line=error.lineno,
            ),
        )
    except RecursionError:
        return None, (build_nesting_problem(),)
    except ValueError as error:
        return None, (
            ParseProblem(
                "A2A-S09",
                f"the number cannot be represented: {error}",
                "write a smaller number, or a string",
            ),
        )
    return data, (
        *(_find_duplicate_keys(text) if keys_repeat else ()),
        *find_unsupported_values(data, lambda: find_line_numbers(text)),
    )


def build_nesting_problem() -> ParseProblem:
    """Return the problem of excessive nesting."""
    return ParseProblem(
        "A2A-S08", "values are nested too deeply", "flatten the schema with $ref to named types"
    )


def build_duplicate_key_problem(key: str, line: int, pointer: str = "") -> ParseProblem:
    """Return the problem of a duplicate key."""
    text = f"duplicate key {json.dumps(key, ensure_ascii=False)}"
    return ParseProblem(
        "A2A-S07",
        text,
        "delete or rename one of the two; parsers keep only the last",
        line,
        pointer,
    )


def find_unsupported_values(
    data: Json, get_lines: Callable[[], Mapping[str, int]]
) -> Iterator[ParseProblem]:
    """Find values that JSON allows and later steps cannot process."""
    if _is_too_deep(data):
        yield build_nesting_problem()
        return
    for pointer in _find_lone_surrogates(data, ""):
        cure = "write both halves of the surrogate pair, or the character itself"
        yield ParseProblem(
            "A2A-S10",
            "the string contains a lone surrogate",
            cure,
            get_lines().get(pointer, 0),
            _replace_lone_surrogates(pointer),
        )


def _is_too_deep(data: Json) -> bool:
    level = [data]
    for _ in range(_MAX_DEPTH):
        level = list(chain.from_iterable(map(_iter_children, level)))
    return bool(level)


def _iter_children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list):
        return value
    return ()


def _find_lone_surrogates(value: Json, pointer: str) -> Iterator[str]:
    if isinstance(value, str) and value != _replace_lone_surrogates(value):
        yield pointer
    for key, each in _iter_entries(value):
        below = f"{pointer}/{escape_key(str(key))}"
        if isinstance(key, str) and key != _replace_lone_surrogates(key):
            yield below
        yield from _find_lone_surrogates(each, below)


def _iter_entries(value: Json) -> Iterable[tuple[str | int, Json]]:
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return enumerate(value)
    return ()


def _replace_lone_surrogates(text: str) -> str:
    """Replace lone surrogates by question marks."""
    if text.isascii():
        return text
    return text.encode(errors="replace").decode()


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large")
    return number


def _find_duplicate_keys(text: str) -> Iterator[ParseProblem]:
    times = Counter(pointer for pointer, _ in iter_positions(text))
    lines = find_line_numbers(text)
    for pointer in (pointer for pointer, count in times.items() if count > 1):
        yield build_duplicate_key_problem(
            unescape_key(pointer.rpartition("/")[2]), lines[pointer], pointer
        )
