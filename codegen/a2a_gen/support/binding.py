"""How one dialect asks for one operation, in the two steps that are not the same everywhere, for whoever answers and for whoever asks.

    agent     their request ── take ──► canonical request ── AgentService ──► canonical answer ── write ──► their JSON
    client    canonical request ── ask ──► their JSON ── HTTP ──► their JSON ── hear ──► canonical answer

A binding is data: what differs between dialects is which functions stand in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_json

from .base import Encoded, Requirement, WireModel, check_requirements

# What an operation is, apart from any dialect, and how one dialect asks for it: the row types of ``operations.py``.


@dataclass(frozen=True, slots=True)
class HttpCall:
    """An HTTP verb, and a path whose braces hold the members of the request that it names."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class DialectCall:
    """How one dialect asks for an operation; a binding that the dialect has not is ``None`` or empty."""

    method: str | None = None
    aliases: tuple[str, ...] = ()
    grpc: str | None = None
    http: tuple[HttpCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that an agent can be asked; ``service_method`` is its name in ``AgentService``, ``capability`` what the agent must have declared."""

    name: str
    service_method: str
    streams: bool
    capability: str | None
    calls: Mapping[str, DialectCall]


Theirs = TypeVar("Theirs", bound=WireModel)
Ours = TypeVar("Ours", bound=WireModel)
Answer = TypeVar("Answer", bound=WireModel)
TypeForm: TypeAlias = Any  # a model, or an alias of a union or a list of them: Python has no type for all of these


class Empty(WireModel):
    """A request that says nothing but that it was made, or an answer that says nothing but that it was done."""


def identity(request: Ours) -> Ours:
    """Read a request, or an answer, that is canonical already."""
    return request


def encode_as_is(request: WireModel) -> dict[str, object]:
    """Ask in canonical form."""
    return request.to_dict()


@dataclass(frozen=True, slots=True)
class ResponseReader(Generic[Answer]):
    """What a dialect answers: the type that its JSON has, and how to read that."""

    result: TypeForm
    read: Callable[[Any], Answer] = identity

    def adapter(self) -> TypeAdapter[Any]:
        """Make what reads the JSON; costly, so make it once."""
        return TypeAdapter(self.result)


@dataclass(frozen=True, slots=True)
class Binding(Generic[Theirs, Ours, Answer]):
    """An operation in one dialect: its request model, and how to read and write requests and, where there are some, answers."""

    operation: Operation
    dialect: str
    request: type[Theirs]
    translate: Callable[[Theirs], Ours]
    serialize: Callable[[Encoded[Answer]], bytes] | None
    requirements: tuple[Requirement, ...] = ()
    lenient_envelope: bool = False
    encode_request: Callable[[Ours], dict[str, object]] = encode_as_is
    response: ResponseReader[Answer] | None = None

    def parse(self, request: Theirs) -> Ours:
        """Turn a request into the canonical one, or refuse what it lacks with every place."""
        check_requirements(request, self.requirements)
        return self.translate(request)


AnyBinding: TypeAlias = "Binding[Any, Any, Any]"  # a table holds bindings of every type; each of its rows was checked on its own


def serialize_as_is(answer: Encoded[Answer]) -> bytes:
    """Write an answer in canonical form."""
    return answer.json


def build_default(model: type[Ours]) -> Callable[[Empty], Ours]:
    """Read a request that says nothing as one without members."""
    return lambda _: model()


def encode_empty(_: WireModel) -> dict[str, object]:
    """Ask where the dialect has nothing to say."""
    return {}


def serialize_with(write: Callable[[Answer], object]) -> Callable[[Encoded[Answer]], bytes]:
    """Write an answer by a translation, which makes the dialect's JSON straight from the canonical model."""
    return lambda answer: to_json(write(answer.model))
