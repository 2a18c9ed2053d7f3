"""HTTP+JSON: from an HTTP request to its binding and members, and from an operation to the HTTP
request that carries it.

Litestar matches paths; this module does what it cannot: the verb after a colon at the end of a path
(``/tasks/{id}:cancel``), which ids may contain too, and members of the request that consist of
several segments (``tasks/{id}``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qs, quote

from pydantic_core import from_json, to_json

from .base import WireModel
from .binding import AnyBinding, Operation
from .json_types import is_json_array

_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class PathMember:
    """A member of the request that the path holds: pieces joined by slashes; a number stands for
    that parameter of the path.
    """

    name: str
    pieces: tuple[str | int, ...]

    def fill(self, parameters: Sequence[str]) -> str:
        """Fill in the parameters of a path."""
        return "/".join(
            piece if isinstance(piece, str) else parameters[piece] for piece in self.pieces
        )


@dataclass(frozen=True, slots=True)
class RouteBinding:
    """The binding of one dialect for a verb on a path; ``lists`` and ``flags`` are the members of a
    query that are lists or booleans.
    """

    binding: AnyBinding
    members: tuple[PathMember, ...] = ()
    lists: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    body: tuple[str, str] | None = None
    """The member of the request that a body may be instead of the whole, and the member of such a
    body by which it is told.
    """

    def wrap(self, body: dict[str, object]) -> dict[str, object]:
        """Wrap a body that is a member of the request."""
        if self.body and self.body[1] in body and self.body[0] not in body:
            return {self.body[0]: body}
        return body


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """The bindings that match a request, and the parameters of its path without the verb."""

    bindings: tuple[RouteBinding, ...]
    parameters: tuple[str, ...]

    def parse(self, binding: RouteBinding, query: bytes, body: bytes) -> WireModel:
        """Build the dialect's request, or raise ``ValidationError``; the path overrides the body,
        and the body overrides the query.
        """
        model: type[WireModel] = binding.binding.request
        if body and not (query or binding.members):
            return model.model_validate_json(body)
        return model.model_validate_json(to_json(self.request_members(binding, query, body)))

    def request_members(
        self, binding: RouteBinding, query: bytes, body: bytes
    ) -> dict[str, object]:
        """Merge the members of path, query and body, or raise ``ValidationError`` for a body that
        is not an object.
        """
        members = {member.name: member.fill(self.parameters) for member in binding.members}
        in_body = binding.wrap(_object(body, binding.binding.request)) if body else {}
        return {**_query_members(query, binding), **in_body, **members}


@dataclass(frozen=True, slots=True)
class Route:
    """A path as Litestar matches it, with its bindings by HTTP method and verb."""

    path: str
    bindings: Mapping[tuple[str, str | None], tuple[RouteBinding, ...]]

    def match(self, method: str, parameters: Sequence[str]) -> RouteMatch | None:
        """Return the matching bindings; the end of a path is a verb only where this method has that
        verb, and part of an id everywhere else.
        """
        if parameters:
            last, colon, verb = parameters[-1].rpartition(":")
            if last and colon and (choices := self.bindings.get((method, verb))):
                return RouteMatch(choices, (*parameters[:-1], last))
        plain = self.bindings.get((method, None))
        if plain is None:
            return None
        return RouteMatch(plain, tuple(parameters))

    def methods(self, parameters: Sequence[str]) -> tuple[str, ...]:
        """List the HTTP methods of a path, for the ``Allow`` header."""
        known = dict.fromkeys(method for method, _ in self.bindings)
        return tuple(method for method in known if self.match(method, parameters))


@dataclass(frozen=True, slots=True)
class CardRoute:
    """A path of cards, and the dialects whose clients look there."""

    path: str
    dialects: tuple[str, ...]


def _object(body: bytes, model: type[WireModel]) -> dict[str, object]:
    said: dict[str, object] | list[object] | str | float | None
    try:
        said = from_json(body)
    except ValueError:
        said = None
    if isinstance(said, dict):
        return said
    # This raises the standard error of Pydantic.
    model.model_validate_json(body)
    raise TypeError("a body that is no object was read as one")


def _query_members(query: bytes, choice: RouteBinding) -> dict[str, object]:
    said = parse_qs(query.decode("ascii", "replace"), keep_blank_values=True)
    return {name: _query_value(name, values, choice) for name, values in said.items()}


def _query_value(name: str, values: list[str], choice: RouteBinding) -> object:
    if name in choice.lists:
        return ",".join(values).split(",")
    if name in choice.flags:
        return _FLAGS.get(values[-1], values[-1])
    return values[-1]


# --- client side ---

_PARAMETER = re.compile(r"\{[^}]*\}")
_WITHOUT_BODY = frozenset(("GET", "DELETE"))


class RequestTarget(NamedTuple):
    """Method and address of a request; a request with a body repeats the members of the path in
    it.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class HttpCandidate:
    """One path of an operation in a dialect, and the members of the request that the path holds."""

    method: str
    path: str
    verb: str | None
    binding: RouteBinding

    def is_match(self, members: Mapping[str, object]) -> bool:
        """Check that a request has every member of the path."""
        return all(members.get(member.name) for member in self.binding.members)

    def build_target(self, members: Mapping[str, object]) -> RequestTarget:
        """Build the request."""
        values: dict[int, str] = {}
        for member in self.binding.members:
            values.update(_parameters(member, str(members[member.name])))
        pieces = iter(_quote(values[number]) for number in sorted(values))
        path = _PARAMETER.sub(lambda _: next(pieces), self.path) + (
            f":{self.verb}" if self.verb else ""
        )
        if self.method not in _WITHOUT_BODY:
            return RequestTarget(self.method, path, (), to_json(members))
        inside = {member.name for member in self.binding.members}
        return RequestTarget(
            self.method,
            path,
            tuple(_query((name, value) for name, value in members.items() if name not in inside)),
            None,
        )


class PathBuilder:
    """Builds the HTTP+JSON requests of one dialect."""

    def __init__(self, dialect: str, routes: Iterable[Route]) -> None:
        self._ways: dict[str, list[HttpCandidate]] = {}
        for route in routes:
            for (method, verb), choices in route.bindings.items():
                for choice in choices:
                    if choice.binding.dialect == dialect:
                        self._ways.setdefault(choice.binding.operation.name, []).append(
                            HttpCandidate(method, route.path, verb, choice)
                        )

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Return the binding of an operation, if the dialect has it over HTTP+JSON."""
        ways = self._ways.get(operation.name)
        if ways:
            return ways[0].binding.binding
        return None

    def build(self, operation: Operation, members: Mapping[str, object]) -> RequestTarget:
        """Build the request on the path that holds the most members, or raise ``ValueError`` if the
        request fits no path.
        """
        fitting = [way for way in self._ways[operation.name] if way.is_match(members)]
        if not fitting:
            raise ValueError(f"the request does not say what the path of {operation.name} needs")
        return max(fitting, key=lambda way: len(way.binding.members)).build_target(members)

    def build_member(
        self, operation: Operation, members: Mapping[str, object]
    ) -> RequestTarget | None:
        """Build the request whose body is one member of the whole, for servers that take no other;
        ``None`` if the operation has no such body.
        """
        way = next(
            (
                each
                for each in self._ways[operation.name]
                if each.binding.body and each.is_match(members)
            ),
            None,
        )
        if way is None or way.binding.body is None:
            return None
        return way.build_target(members)._replace(body=to_json(members.get(way.binding.body[0])))


def _parameters(member: PathMember, value: str) -> dict[int, str]:
    """Parse the parameters of a path out of the member that they form."""
    numbers = [piece for piece in member.pieces if isinstance(piece, int)]
    pattern = "/".join(
        "(.+)" if isinstance(piece, int) else re.escape(piece) for piece in member.pieces
    )
    found = re.fullmatch(pattern, value, re.DOTALL)
    if found is None:
        raise ValueError(f"{member.name} is not of the form of its path: {value!r}")
    return dict(zip(numbers, found.groups(), strict=True))


def _quote(piece: str) -> str:
    """Quote one segment of a path; a segment of dots would change the path."""
    if set(piece) == {"."}:
        return "%2E" * len(piece)
    return quote(piece, safe="")


def _query(members: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
    for name, value in members:
        for each in value if is_json_array(value) else (value,):
            yield name, each if isinstance(each, str) else to_json(each).decode().strip('"')
