"""JSON as a contract is written in: every rule of RFC 8259, and nothing lost on the way in.

A key that is written twice, a number that a computer cannot hold and a nesting without end are mistakes here, because ``json.loads`` would bend or
drop them without a word. Integers keep all their digits.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from a2a_gen.source import positions

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_BYTE_ORDER_MARK = "\ufeff"


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
        return None, (Mistake("A2A-S08", "values are nested too deeply", "write it flatter, with $ref to named types"),)
    except ValueError as error:
        return None, (Mistake("A2A-S09", f"a number cannot be kept: {error}", "write a number that fits, or a string"),)
    return data, tuple(_repeated(text)) if keys_repeat else ()


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
        key = json.dumps(positions.unescaped(pointer.rpartition("/")[2]), ensure_ascii=False)
        cure = "delete or rename one of the two; only the last would count"
        yield Mistake("A2A-S07", f"the key {key} is written twice in one object", cure, lines[pointer], pointer)
