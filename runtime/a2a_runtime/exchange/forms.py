"""Reading a request over HTTP+JSON where one version has two forms: 0.3 is answered in the form in which it was asked.

A body shows its form: what is of one kind cannot be read as the other. A request without a body shows none, and means the one that the surface
prefers. Cards are in the documented form for everybody: the official SDK reads no other, whatever it speaks besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.errors import A2AError, InvalidParamsError
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.routing import Choice, Match
from a2a_runtime.exchange.failure import unreadable
from a2a_runtime.exchange.faults import all_faults

_KIND = b'"kind"'
"""What objects of the documented form of 0.3 have to tell themselves apart."""


def read_form(match: Match, query: bytes, body: bytes, preferred: frozenset[str]) -> tuple[AnyBinding, WireModel]:
    """Read a request in the first form that it has, or refuse it with what is wrong with it in the likeliest one."""
    first: A2AError | None = None
    for choice in _likeliest_first(match.choices, body, preferred):
        try:
            return choice.binding, choice.binding.take(match.read(choice, query, body))
        except ValidationError as error:
            first = first or _refusal(error, match, choice, query, body)
    assert first is not None, "a match has a choice"  # noqa: S101 - nothing from outside leads here
    raise first


def _refusal(error: ValidationError, match: Match, choice: Choice, query: bytes, body: bytes) -> A2AError:
    refusal = unreadable(error, choice.binding.request)
    if isinstance(refusal, InvalidParamsError):
        with suppress(ValidationError):  # a body that is no object has no members to look at
            refusal.fields = all_faults(choice.binding, match.said(choice, query, body), tuple(refusal.fields))
    return refusal


def _likeliest_first(choices: Sequence[Choice], body: bytes, preferred: frozenset[str]) -> Sequence[Choice]:
    if len(choices) == 1 or _KIND in body or choices[0].binding.operation is GET_EXTENDED_AGENT_CARD:
        return choices
    return sorted(choices, key=lambda choice: choice.binding.dialect not in preferred)
