"""Bindings: one operation in one dialect, as data, for servers and clients alike.

    agent     their request ── parse ──► canonical request ── AgentService
                  ──► canonical result ── serialize ──► their JSON
    client    canonical request ── encode_request ──► their JSON ── HTTP
                  ──► their JSON ── response.read ──► canonical result

Dialects differ only in the functions that a binding holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from .base import (
    Encoded,
    JsonMembers,
    Requirement,
    WireModel,
    check_requirements,
    meets_requirements,
)
from .json_types import is_json_object

# Row types of ``operations.py``: an operation independent of dialects, and its methods and paths in
# one dialect.


@dataclass(frozen=True, slots=True)
class HttpCall:
    """An HTTP method, and a path whose braces name the members of the request that it holds."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class DialectCall:
    """An operation in one dialect; a transport that the dialect lacks is ``None`` or empty."""

    method: str | None = None
    aliases: tuple[str, ...] = ()
    grpc: str | None = None
    http: tuple[HttpCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of an agent; ``service_method`` is its name in ``AgentService``, ``capability``
    is what the agent's card must declare.
    """

    name: str
    service_method: str
    streams: bool
    capability: str | None
    calls: Mapping[str, DialectCall]


Theirs = TypeVar("Theirs", bound=WireModel)
Ours = TypeVar("Ours", bound=WireModel)
Answer = TypeVar("Answer", bound=WireModel)
TypeForm: TypeAlias = (
    Any  # a model, or an alias of a union or a list of them: Python has no type for all of these
)


class Empty(WireModel):
    """A request or a result without content."""


def identity(request: Ours) -> Ours:
    """Return a request or a result that is canonical already."""
    return request


def encode_as_is(request: WireModel) -> dict[str, object]:
    """Encode a request in canonical form."""
    return request.to_dict()


@dataclass(frozen=True, slots=True)
class ResponseReader(Generic[Answer]):
    """The result of an operation in a dialect: the type of its JSON, and the function that
    translates it.
    """

    result: TypeForm
    read: Callable[[Any], Answer] = identity

    def adapter(self) -> TypeAdapter[Any]:
        """Build the parser of the JSON; building is expensive, so callers keep it."""
        return TypeAdapter(self.result)


@dataclass(frozen=True, slots=True)
class Binding(Generic[Theirs, Ours, Answer]):
    """An operation in one dialect: its request model, and the functions that parse and write
    requests and, where they exist, results.
    """

    operation: Operation
    dialect: str
    request: type[Theirs]
    translate: Callable[[Theirs], Ours]
    serialize: Callable[[Encoded[Answer]], bytes] | None
    requirements: tuple[Requirement, ...] = ()
    lenient_envelope: bool = False
    encode_request: Callable[[Ours], dict[str, object]] = encode_as_is
    response: ResponseReader[Answer] | None = None
    misplaced: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Members that clients write elsewhere, each with the path of its place."""

    def parse(self, request: Theirs) -> Ours:
        """Translate a request to the canonical one, or raise every missing requirement with its
        place.
        """
        if not meets_requirements(request, self.requirements):
            check_requirements(request, self.requirements)
        return self.translate(request)

    def mend(self, members: Mapping[str, object]) -> dict[str, object] | None:
        """Move misplaced members of an invalid request to their places; ``None`` if there are none,
        or the places are taken.
        """
        mended = dict(members)
        for name, place in self.misplaced:
            if name in mended and (moved := _put(mended, place, mended[name])) is not None:
                mended = {key: value for key, value in moved.items() if key != name}
        if mended == members:
            return None
        return mended


def _put(
    members: Mapping[str, object], place: tuple[str, ...], value: object
) -> dict[str, object] | None:
    """Return members with a value at a free place; ``None`` if the place is taken or not within
    objects.
    """
    name, *rest = place
    if not rest:
        if name in members:
            return None
        return {**members, name: value}
    inner = members.get(name)
    put = _put(inner, tuple(rest), value) if is_json_object(inner) else None
    if put is None:
        return None
    return {**members, name: put}


# a table holds bindings of all types; each row was type-checked where it was defined
AnyBinding: TypeAlias = "Binding[Any, Any, Any]"


def serialize_as_is(answer: Encoded[Answer]) -> bytes:
    """Return the JSON of a canonical result."""
    return answer.json


def build_default(model: type[Ours]) -> Callable[[Empty], Ours]:
    """Return a function that translates an empty request to a canonical one without members."""
    return lambda _: model()


def encode_empty(_: WireModel) -> dict[str, object]:
    """Encode a request that has no content in the dialect."""
    return {}


def serialize_with(write: Callable[[JsonMembers], object]) -> Callable[[Encoded[Answer]], bytes]:
    """Return a function that serializes a result by a translation, which makes the dialect's JSON
    of the canonical JSON, without any model.
    """
    return lambda answer: to_json(write(from_json(answer.json)))


def read_with(model: type[Ours], read: Callable[[Any], dict[str, object]]) -> Callable[[Any], Ours]:
    """Return a function that builds a canonical request or result of the members that a translation
    reads.
    """
    return lambda theirs: model.__pydantic_validator__.validate_python(read(theirs))


def encode_with(
    write: Callable[[JsonMembers], dict[str, object]],
) -> Callable[[Ours], dict[str, object]]:
    """Return a function that encodes a request by a translation."""
    return lambda request: write(request.to_dict())
