"""JSON as a contract is written in: every rule of RFC 8259, and nothing lost on the way in.

A key that is written twice, a number that a computer cannot hold, half a character and a nesting without end are mistakes here, because
``json.loads`` would bend or drop them without a word, or whoever works with them would fail. Integers keep all their digits.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

# Where in a JSON text each value stands.
#
# ``json.loads`` does the reading; it knows every rule but no position. This scanner knows only as much of JSON as it takes to follow the nesting, and
# expects a text that ``json.loads`` has taken. It yields a value once for each time it is written, so two equal pointers betray a key written twice.
#

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^\s"\]\[{}:,]+')
_NO_INDEX = -1


def iter_positions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the JSON pointer of every value with the offset at which it begins, in the order of the text."""
    containers: list[tuple[str, int]] = []  # the pointer of each open one, and for an array the index of its current item
    pointer, at_key = "", False
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
                pointer, at_key = f"{containers[-1][0]}/{escape_key(_decode_key(token.group()))}", False
            case first:
                yield pointer, token.start()
                if first == "{":
                    containers.append((pointer, _NO_INDEX))
                    at_key = True
                elif first == "[":
                    containers.append((pointer, 0))
                    pointer = f"{pointer}/0"


def find_line_numbers(text: str) -> Mapping[str, int]:
    """Map the pointer of every value to the line on which it begins; of a value that is written twice, the second line counts."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return {pointer: bisect_right(ends, offset) + 1 for pointer, offset in iter_positions(text)}


def escape_key(key: str) -> str:
    """Make a key the step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape_key(step: str) -> str:
    """Read the key out of a step of a JSON pointer."""
    return step.replace("~1", "/").replace("~0", "~")


def _decode_key(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_BYTE_ORDER_MARK = "\ufeff"
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """Something wrong with a text, and where; whoever knows the file makes a ``Problem`` of it."""

    rule: str
    text: str
    cure: str
    line: int = 0
    pointer: str = ""


def parse(text: str) -> tuple[Json, tuple[ParseProblem, ...]]:
    """Read a JSON text, with the mistakes in it; the data is only good when there are none."""
    if text.startswith(_BYTE_ORDER_MARK):
        return None, (ParseProblem("A2A-S05", "the file begins with a byte order mark", "save the file in UTF-8 without one", line=1),)
    keys_repeat = False

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        nonlocal keys_repeat
        data = dict(pairs)
        keys_repeat |= len(data) != len(pairs)
        return data

    try:
        data: Json = json.loads(text, object_pairs_hook=members, parse_constant=_refuse_constant, parse_float=_parse_finite)
    except json.JSONDecodeError as error:
        where = f"{error.msg[0].lower()}{error.msg[1:]} at column {error.colno}"
        return None, (ParseProblem("A2A-S06", f"this is not JSON: {where}", "correct the text at this place", line=error.lineno),)
    except RecursionError:
        return None, (build_nesting_problem(),)
    except ValueError as error:
        return None, (ParseProblem("A2A-S09", f"a number cannot be kept: {error}", "write a number that fits, or a string"),)
    return data, (*(_find_duplicate_keys(text) if keys_repeat else ()), *find_unsupported_values(data, lambda: find_line_numbers(text)))


def build_nesting_problem() -> ParseProblem:
    """Say that a nesting has no end."""
    return ParseProblem("A2A-S08", "values are nested too deeply", "write it flatter, with $ref to named types")


def build_duplicate_key_problem(key: str, line: int, pointer: str = "") -> ParseProblem:
    """Say that an object has a key more than once."""
    text = f"the key {json.dumps(key, ensure_ascii=False)} is written twice in one object"
    return ParseProblem("A2A-S07", text, "delete or rename one of the two; only the last would count", line, pointer)


def find_unsupported_values(data: Json, get_lines: Callable[[], Mapping[str, int]]) -> Iterator[ParseProblem]:
    """Find what a text can say and nobody can work with."""
    if _is_too_deep(data):
        yield build_nesting_problem()
        return
    for pointer in _find_lone_surrogates(data, ""):
        cure = "write both halves of the surrogate pair, or the character itself"
        yield ParseProblem("A2A-S10", "a text has half a character in it", cure, get_lines().get(pointer, 0), _replace_lone_surrogates(pointer))


def _is_too_deep(data: Json) -> bool:
    level = [data]
    for _ in range(_MAX_DEPTH):
        level = [each for value in level for each in _iter_children(value)]
    return bool(level)


def _iter_children(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _find_lone_surrogates(value: Json, pointer: str) -> Iterator[str]:
    if isinstance(value, str) and value != _replace_lone_surrogates(value):
        yield pointer
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        below = f"{pointer}/{escape_key(str(key))}"
        if isinstance(key, str) and key != _replace_lone_surrogates(key):
            yield below
        yield from _find_lone_surrogates(each, below)


def _replace_lone_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs by question marks."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large")
    return number


def _find_duplicate_keys(text: str) -> Iterator[ParseProblem]:
    times = Counter(pointer for pointer, _ in iter_positions(text))
    lines = find_line_numbers(text)
    for pointer in (pointer for pointer, count in times.items() if count > 1):
        yield build_duplicate_key_problem(unescape_key(pointer.rpartition("/")[2]), lines[pointer], pointer)
