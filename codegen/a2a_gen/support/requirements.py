"""Requirements of requests beyond their models: members that are not empty, and words that are
known.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from .json_types import is_json_array, is_json_object
from .model import OpenEnum, WireEnum, WireModel

_Loc: TypeAlias = tuple[str | int, ...]

_CONTENT = frozenset((str, bytes, list, dict))
"""Types whose empty values are false."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """The requirements of objects at one place of a request, by Python names; lists and maps on the
    path are traversed.
    """

    path: tuple[str, ...]
    """The path from the request to the objects, by Python names."""
    locs: tuple[str, ...]
    """The same path by wire names, for the reader of the error."""
    required: frozenset[str] = frozenset()
    """Members that are required and not empty."""
    known: frozenset[str] = frozenset()
    """Members whose words must be known."""


def check_requirements(request: WireModel, demands: Iterable[Requirement]) -> None:
    """Raise ``ValidationError`` with every violated requirement of a request."""
    errors = list(chain.from_iterable(_lacking(request, each) for each in demands))
    if errors:
        raise ValidationError.from_exception_data(type(request).__name__, errors)


def meets_requirements(request: WireModel, demands: Iterable[Requirement]) -> bool:
    """Check quickly that nothing is missing, because every request passes here; undecided cases
    need the full check.

    One function that calls no other for the usual values: calls would cost more than the check.
    """
    node: Any
    try:
        for wanted in demands:
            node = request
            for name in wanted.path:
                node = node.__dict__[name]
                if node is None:
                    break
            if node is None:
                continue
            values = node.__dict__
            for name in wanted.required:
                value = values[name]
                if not value or (
                    type(value) not in _CONTENT and value == _find_empty_word(value.__class__)
                ):
                    return False
            for name in wanted.known:
                if values[name] is not None and not values[name].is_known:
                    return False
    except (AttributeError, KeyError):
        # It is a list, a map, or a model of a union, which the slow way knows.
        return False
    return True


def _lacking(request: WireModel, wanted: Requirement) -> Iterator[InitErrorDetails]:
    for node, loc in _reach(request, (), tuple(zip(wanted.path, wanted.locs, strict=True))):
        if isinstance(node, WireModel):
            yield from _missing(node, loc, wanted)


def _reach(
    node: object, loc: _Loc, steps: tuple[tuple[str, str], ...]
) -> Iterator[tuple[object, _Loc]]:
    if is_json_array(node):
        for index, item in enumerate(node):
            yield from _reach(item, (*loc, index), steps)
    elif is_json_object(node):
        for key, item in node.items():
            yield from _reach(item, (*loc, key), steps)
    elif not steps:
        yield node, loc
    elif node is not None:
        (name, wire), *rest = steps
        yield from _reach(getattr(node, name), (*loc, wire), tuple(rest))


def _missing(node: WireModel, loc: _Loc, wanted: Requirement) -> Iterator[InitErrorDetails]:
    # In the order of the model: sets have none, and error reports must not differ from run to run.
    for name in type(node).model_fields:
        value: object = getattr(node, name)
        place = (*loc, type(node).wire_name(name))
        if name in wanted.required and value is None:
            yield InitErrorDetails(type="missing", loc=place, input=node)
        elif name in wanted.required and _is_empty(value):
            yield InitErrorDetails(
                type=PydanticCustomError("empty", "Field must not be empty"), loc=place, input=value
            )
        elif name in wanted.known and isinstance(value, OpenEnum) and not value.is_known:
            words = ", ".join(type(value))
            yield InitErrorDetails(
                type=PydanticCustomError(
                    "word", "Input should be one of {words}", {"words": words}
                ),
                loc=place,
                input=value,
            )


def _is_empty(value: object) -> bool:
    if isinstance(value, WireEnum):
        return value == _find_empty_word(type(value))
    return isinstance(value, str | bytes | list | dict) and not value


@cache
def _find_empty_word(kind: type[object]) -> str | None:
    """Find the word of an enumeration that counts as none; other types have no words."""
    if issubclass(kind, WireEnum):
        return kind.__reads__.get(0)
    return None
