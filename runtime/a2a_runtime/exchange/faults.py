"""Everything that is wrong with a request, in one answer.

What its type refuses, what it lacks, and what its members say of one another can each be asked only when the one before is content. So a request that
is refused is read again without the members that were named, until nothing new is found. Only who is refused pays for that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from pydantic import AliasChoices, ValidationError
from pydantic_core import to_json

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.errors import InvalidParamsError
from a2a_contract.operations import LIST_TASKS
from a2a_contract.places import MANY, places
from a2a_runtime.service.tasks import query_of

Fields: TypeAlias = tuple[tuple[str, str], ...]

_LAST_LOOK: Mapping[str, Callable[[Any, Collection[str]], object]] = {LIST_TASKS.name: query_of}
"""What refuses canonical requests whose members do not go together, by operation; it is told which were left out."""


def all_faults(binding: AnyBinding, said: Mapping[str, object], found: Fields) -> Fields:
    """List what was found wrong with a request, and whatever else is."""
    left_out: frozenset[str] = frozenset()
    new = found
    while new and len(found) <= MANY:
        left_out |= _spellings(binding.request, {_member(place) for place, _ in new})
        rest = {name: value for name, value in said.items() if name not in left_out}
        # A member that was left out is missing now, which is nobody's fault.
        new = tuple((place, text) for place, text in _faults(binding, rest, left_out) if _member(place) not in left_out)
        found += new
    return found


def _faults(binding: AnyBinding, said: Mapping[str, object], left_out: Collection[str]) -> Fields:
    try:
        request = binding.take(binding.request.model_validate_json(to_json(said)))
        if (look := _LAST_LOOK.get(binding.operation.name)) is not None:
            look(request, left_out)
    except ValidationError as error:
        return places(error, of=binding.request)
    except InvalidParamsError as error:
        return tuple(error.fields)
    return ()


def _member(place: str) -> str:
    return place.partition(".")[0].partition("[")[0]


def _spellings(request: type[WireModel], members: set[str]) -> frozenset[str]:
    """List every name under which a reader takes some members: what is left out under one must not come back under another."""
    names = frozenset(members)
    for name, field in request.model_fields.items():
        others = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.validation_alias]
        known = frozenset(each for each in (name, field.alias, *others) if isinstance(each, str))
        if not known.isdisjoint(names):
            names |= known
    return names
