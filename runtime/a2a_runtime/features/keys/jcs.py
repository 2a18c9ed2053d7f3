r"""Canonical JSON (RFC 8785): equal values have equal bytes. Pure.

members sorted by their names as UTF-16, no blanks      {"a":1,"b":2}
strings with as few escapes as JSON allows              "é\n"
numbers as JavaScript prints them                       1e+21, 0.000001, 100
"""

from __future__ import annotations

import json
from math import isfinite

from a2a_contract.json_types import is_json_array, is_json_object

_MAX_DEPTH = 100
_MAX_EXACT_INTEGER = 2**53
_MAX_PLAIN_INTEGER = 10**21
_MAX_PLAIN_EXPONENT = 21
_MIN_PLAIN_EXPONENT = -6


class CanonicalizationError(ValueError):
    """A value without a canonical form: a number beyond a double, a lone surrogate, or nesting that
    is too deep.
    """


def canonicalize(value: object) -> bytes:
    """Serialize a value in its canonical form."""
    try:
        return _serialize(value, 0).encode()
    except UnicodeEncodeError as error:
        raise CanonicalizationError("a string has a lone surrogate") from error


def _serialize(value: object, depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise CanonicalizationError(f"the nesting is deeper than {_MAX_DEPTH}")
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return serialize_number(value)
    if is_json_array(value):
        return f"[{','.join([_serialize(each, depth + 1) for each in value])}]"
    if is_json_object(value):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        members = [
            f"{_serialize(name, depth)}:{_serialize(value[name], depth + 1)}" for name in names
        ]
        return f"{{{','.join(members)}}}"
    raise CanonicalizationError(f"{type(value).__name__} is not JSON")


def serialize_number(value: float) -> str:
    """Print a number as JavaScript does: the shortest digits that mean the same double."""
    if isinstance(value, int) and abs(value) > _MAX_EXACT_INTEGER:
        text = serialize_number(float(value)) if abs(value) < _MAX_PLAIN_INTEGER else ""
        if text != str(value):
            raise CanonicalizationError("an integer has more digits than a double can hold")
        return text
    value = float(value)
    if not isfinite(value):
        raise CanonicalizationError("a number is not finite")
    if not value:
        return "0"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    significant = (whole + fraction).lstrip("0")
    # The position of the point in the significant digits.
    point = int(exponent or 0) + len(significant) - len(fraction)
    return ("-" if value < 0 else "") + _place_point(significant.rstrip("0"), point)


def _place_point(digits: str, point: int) -> str:
    if len(digits) <= point <= _MAX_PLAIN_EXPONENT:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _MAX_PLAIN_EXPONENT:
        return f"{digits[:point]}.{digits[point:]}"
    if _MIN_PLAIN_EXPONENT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"
