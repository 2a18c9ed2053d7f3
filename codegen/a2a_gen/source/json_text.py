"""JSON as a contract is written in: every rule of RFC 8259, and nothing lost on the way in.

A key that is written twice, a number that a computer cannot hold, half a character and a nesting without end are mistakes here, because
``json.loads`` would bend or drop them without a word, or whoever works with them would fail. Integers keep all their digits.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from a2a_gen.source import positions

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_BYTE_ORDER_MARK = "\ufeff"
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong with a text, and where; whoever knows the file makes a ``Problem`` of it."""

    rule: str
    text: str
    cure: str
    line: int = 0
    pointer: str = ""


def parse(text: str) -> tuple[Json, tuple[Mistake, ...]]:
    """Read a JSON text, with the mistakes in it; the data is only good when there are none."""
    if text.startswith(_BYTE_ORDER_MARK):
        return None, (Mistake("A2A-S05", "the file begins with a byte order mark", "save the file in UTF-8 without one", line=1),)
    keys_repeat = False

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        nonlocal keys_repeat
        data = dict(pairs)
        keys_repeat |= len(data) != len(pairs)
        return data

    try:
        data: Json = json.loads(text, object_pairs_hook=members, parse_constant=_refuse_word, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"{error.msg[0].lower()}{error.msg[1:]} at column {error.colno}"
        return None, (Mistake("A2A-S06", f"this is not JSON: {where}", "correct the text at this place", line=error.lineno),)
    except RecursionError:
        return None, (too_deep(),)
    except ValueError as error:
        return None, (Mistake("A2A-S09", f"a number cannot be kept: {error}", "write a number that fits, or a string"),)
    return data, (*(_repeated(text) if keys_repeat else ()), *unkeepable(data, lambda: positions.lines(text)))


def too_deep() -> Mistake:
    """Say that a nesting has no end."""
    return Mistake("A2A-S08", "values are nested too deeply", "write it flatter, with $ref to named types")


def written_twice(key: str, line: int, pointer: str = "") -> Mistake:
    """Say that an object has a key more than once."""
    text = f"the key {json.dumps(key, ensure_ascii=False)} is written twice in one object"
    return Mistake("A2A-S07", text, "delete or rename one of the two; only the last would count", line, pointer)


def unkeepable(data: Json, lines: Callable[[], Mapping[str, int]]) -> Iterator[Mistake]:
    """Find what a text can say and nobody can work with."""
    if _is_too_deep(data):
        yield too_deep()
        return
    for pointer in _halves(data, ""):
        cure = "write both halves of the surrogate pair, or the character itself"
        yield Mistake("A2A-S10", "a text has half a character in it", cure, lines().get(pointer, 0), _whole(pointer))


def _is_too_deep(data: Json) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        level = [each for value in level for each in _values(value)]
    return bool(level)


def _values(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _halves(value: Json, pointer: str) -> Iterator[str]:
    if isinstance(value, str) and value != _whole(value):
        yield pointer
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        below = f"{pointer}/{positions.escaped(str(key))}"
        if isinstance(key, str) and key != _whole(key):
            yield below
        yield from _halves(each, below)


def _whole(text: str) -> str:
    """Replace halves of surrogate pairs by question marks."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _refuse_word(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large")
    return number


def _repeated(text: str) -> Iterator[Mistake]:
    times = Counter(pointer for pointer, _ in positions.positions(text))
    lines = positions.lines(text)
    for pointer in (pointer for pointer, count in times.items() if count > 1):
        yield written_twice(positions.unescaped(pointer.rpartition("/")[2]), lines[pointer], pointer)
