r"""JSON in one spelling: what is equal is written with equal bytes (RFC 8785). Pure.

members in the order of their names as UTF-16, no blanks      {"a":1,"b":2}
texts with as few escapes as JSON allows                      "é\n"
numbers as JavaScript writes them                             1e+21, 0.000001, 100
"""

from __future__ import annotations

import json
from math import isfinite

from a2a_contract.json_types import is_list, is_object

_DEEPEST = 100
_EXACT, _LARGEST = 2**53, 10**21
_LARGEST_PLAIN, _SMALLEST_PLAIN = 21, -6


class UncanonicalError(ValueError):
    """A value that has no such spelling: a number that no double holds, half a character, or nesting that is too deep."""


def canonical(value: object) -> bytes:
    """Write a value."""
    try:
        return _written(value, 0).encode()
    except UnicodeEncodeError as error:
        raise UncanonicalError("a text holds half a character") from error


def _written(value: object, depth: int) -> str:
    if depth > _DEEPEST:
        raise UncanonicalError(f"the nesting is deeper than {_DEEPEST}")
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return number(value)
        case _:
            pass
    if is_list(value):
        return f"[{','.join([_written(each, depth + 1) for each in value])}]"
    if is_object(value):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return f"{{{','.join([f'{_written(name, depth)}:{_written(each, depth + 1)}' for name, each in members])}}}"
    raise UncanonicalError(f"{type(value).__name__} is not JSON")


def number(value: float) -> str:
    """Write a number as JavaScript does: the shortest digits that mean the same double."""
    if isinstance(value, int) and abs(value) > _EXACT:
        text = number(float(value)) if abs(value) < _LARGEST else ""
        if text != str(value):
            raise UncanonicalError("a whole number has more digits than a double can hold")
        return text
    value = float(value)
    if not isfinite(value):
        raise UncanonicalError("a number is not finite")
    if not value:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)  # where it stands in the digits
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= _LARGEST_PLAIN:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _LARGEST_PLAIN:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALLEST_PLAIN < point <= 0:
        return f"0.{'0' * -point}{digits}"
    shown = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{shown}e{point - 1:+d}"
