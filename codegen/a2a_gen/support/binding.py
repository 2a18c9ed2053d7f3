"""How one dialect asks for one operation, in the two steps that are not the same everywhere.

    their request ── take ──► canonical request ── AgentService ──► canonical answer ── write ──► their JSON

A binding is data: what differs between dialects is which functions stand in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic_core import to_json

from .base import Demand, Encoded, WireModel, demand
from .operation import Operation

Theirs = TypeVar("Theirs", bound=WireModel)
Ours = TypeVar("Ours", bound=WireModel)
Answer = TypeVar("Answer", bound=WireModel)


class Nothing(WireModel):
    """A request that says nothing but that it was made, or an answer that says nothing but that it was done."""


@dataclass(frozen=True, slots=True)
class Binding(Generic[Theirs, Ours, Answer]):
    """An operation in one dialect: its request model, how to read a request, and how to write an answer where there is one."""

    operation: Operation
    dialect: str
    request: type[Theirs]
    read: Callable[[Theirs], Ours]
    write: Callable[[Encoded[Answer]], bytes] | None
    demands: tuple[Demand, ...] = ()
    forgives_envelope: bool = False

    def take(self, request: Theirs) -> Ours:
        """Turn a request into the canonical one, or refuse what it lacks with every place."""
        demand(request, self.demands)
        return self.read(request)


AnyBinding: TypeAlias = "Binding[Any, Any, Any]"  # a table holds bindings of every type; each of its rows was checked on its own


def same(request: Ours) -> Ours:
    """Read a request that is canonical already."""
    return request


def as_it_is(answer: Encoded[Answer]) -> bytes:
    """Write an answer in canonical form."""
    return answer.json


def made(model: type[Ours]) -> Callable[[Nothing], Ours]:
    """Read a request that says nothing as one without members."""
    return lambda _: model()


def rewritten(write: Callable[[Answer], object]) -> Callable[[Encoded[Answer]], bytes]:
    """Write an answer by a translation, which makes the dialect's JSON straight from the canonical model."""
    return lambda answer: to_json(write(answer.model))
