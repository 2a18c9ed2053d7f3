"""JSON of any form inside typed models: kept exactly as sent, or refused with its place.

What cannot be written as JSON again is refused when it is read or put into a model: numbers that are not finite (also `1e999`, which parsers take
for infinity), integers of more digits than Python converts, text that is not Unicode, nesting deeper than readers take, values that JSON has not.
"""

from collections.abc import Iterable
from enum import Enum
from math import isfinite
from typing import Annotated, Any, Final, Literal, LiteralString, NamedTuple, TypeAlias

from pydantic import AfterValidator, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

MAX_DEPTH: Final = 180
"""Readers stop at 200 levels; the rest is room for the messages, events and envelopes around a value."""

_MAX_DIGITS: Final = 4300
_MAX_INTEGER: Final = 10**_MAX_DIGITS
_SMALL: Final = 2**63


class JsonNull(Enum):
    """The JSON value `null` where it differs from a member that is absent."""

    NULL = None

    def __repr__(self) -> str:
        return "JSON_NULL"

    def __bool__(self) -> Literal[False]:
        """Be as false as None."""
        return False


JSON_NULL: Final = JsonNull.NULL


# --- finding flaws ---------------------------------------------------------------------------------------------------------------------------------


class _Flaw(NamedTuple):
    """Why a value is no JSON that can be kept, and where in it."""

    place: tuple[str | int, ...]
    kind: LiteralString
    text: str


def _is_plain(value: object, room: int) -> bool:
    """Tell usual objects and lists, which have no flaw, from all other values."""
    if type(value) is not dict:
        return room > 0 and type(value) is list and _are_plain(value, room)
    for key in value:
        if type(key) is not str or not key.isascii():
            return False
    return room > 0 and _are_plain(value.values(), room)


def _are_plain(items: Iterable[Any], room: int) -> bool:
    """Look at each item by its exact type and with few calls, because every free value passes here."""
    for item in items:
        kind = type(item)
        if kind is str:
            fine = item.isascii() or _is_unicode(item)
        elif kind is int:
            fine = -_SMALL < item < _SMALL
        elif kind is float:
            fine = isfinite(item)
        elif kind is dict or kind is list:
            fine = _is_plain(item, room - 1)
        else:
            fine = item is None or kind is bool
        if not fine:
            return False
    return True


def _flaw(value: object, room: int) -> _Flaw | None:
    """Find the first flaw of a value."""
    match value:
        case dict() | list():
            return _flaw_inside(value, room)
        case str():
            return None if _is_unicode(value) else _Flaw((), "json_text", "Text is not Unicode: it holds half of a surrogate pair")
        case int():
            fits = -_MAX_INTEGER < value < _MAX_INTEGER
            return None if fits else _Flaw((), "json_number", f"Integer has more than {_MAX_DIGITS} digits")
        case float():
            return None if isfinite(value) else _Flaw((), "json_number", "Number must be finite")
        case None | JsonNull():
            return None
        case _:
            return _Flaw((), "json_type", f"A value of type {type(value).__name__} is no JSON")


def _flaw_inside(value: dict[object, object] | list[object], room: int) -> _Flaw | None:
    if not room:
        return _Flaw((), "json_depth", f"JSON is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list):
        return _first_flaw(enumerate(value), room)
    odd = next((key for key in value if not isinstance(key, str)), None)
    if odd is not None:
        return _Flaw((), "json_key", f"A key of type {type(odd).__name__} is no JSON")
    return _first_flaw(((str(key), item) for key, item in value.items()), room)


def _first_flaw(items: Iterable[tuple[str | int, object]], room: int) -> _Flaw | None:
    for step, item in items:
        flaw = _flaw(item, room - 1) or (_flaw(step, room) if isinstance(step, str) else None)
        if flaw:
            return flaw._replace(place=(step, *flaw.place))
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- types -----------------------------------------------------------------------------------------------------------------------------------------


def _refuse_flaw(value: object) -> None:
    flaw = _flaw(value, MAX_DEPTH)
    if flaw:
        # A ValidationError inside a validator keeps its places: Pydantic puts them behind the place of the member.
        error = PydanticCustomError(flaw.kind, "{reason}", {"reason": flaw.text})
        raise ValidationError.from_exception_data("JSON", [InitErrorDetails(type=error, loc=flaw.place, input=None)])


def _whole_object(value: dict[str, object]) -> dict[str, object]:
    if not _is_plain(value, MAX_DEPTH):
        _refuse_flaw(value)
    return value


def _whole_value(value: object) -> object:
    if value is None:
        return JSON_NULL
    if not _is_plain(value, MAX_DEPTH):
        _refuse_flaw(value)
    return value


def _whole_choice(value: object, info: ValidationInfo) -> object:
    if value is None and info.mode == "python":
        return None
    return _whole_value(value)


JsonObject: TypeAlias = Annotated[dict[str, object], AfterValidator(_whole_object)]
"""A JSON object of any form; nulls in it are None."""

JsonAny: TypeAlias = Annotated[object, AfterValidator(_whole_value)]
"""Any JSON value; `null` is JSON_NULL, because None is a member that is absent."""

JsonChoice: TypeAlias = Annotated[object, AfterValidator(_whole_choice)]
"""Any JSON value as a member of a presence union: in Python, None may say both, and the union finds out which."""
