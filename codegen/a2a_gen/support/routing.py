"""From an HTTP request to the binding that answers it, and to the request that it makes of path, query and body.

Litestar matches paths; what it cannot match is here: the verb after a colon at the end of a path (``/tasks/{id}:cancel``), which ids may contain too,
and members of the request that are made of several segments (``tasks/{id}``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from pydantic_core import from_json, to_json

from .base import WireModel
from .binding import AnyBinding

_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class PathMember:
    """A member of the request that the path holds: pieces joined by slashes, where a number stands for that parameter of the path."""

    name: str
    pieces: tuple[str | int, ...]

    def fill(self, parameters: Sequence[str]) -> str:
        """Put the parameters of a path into place."""
        return "/".join(piece if isinstance(piece, str) else parameters[piece] for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Choice:
    """One dialect's answer to a verb on a path; ``lists`` and ``flags`` are the members that are no plain text or number in a query."""

    binding: AnyBinding
    members: tuple[PathMember, ...] = ()
    lists: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Match:
    """The dialects that answer a request, and the parameters of its path without the verb."""

    choices: tuple[Choice, ...]
    parameters: tuple[str, ...]

    def read(self, choice: Choice, query: bytes, body: bytes) -> WireModel:
        """Make the dialect's request, or raise what Pydantic finds wrong with it; the path goes before the body, and the body before the query."""
        model: type[WireModel] = choice.binding.request
        if body and not (query or choice.members):
            return model.model_validate_json(body)
        return model.model_validate_json(to_json(self.said(choice, query, body)))

    def said(self, choice: Choice, query: bytes, body: bytes) -> dict[str, object]:
        """Put together what a request says in all of its places, or raise what Pydantic says of a body that is no object."""
        members = {member.name: member.fill(self.parameters) for member in choice.members}
        in_body = _object(body, choice.binding.request) if body else {}
        return {**_query_members(query, choice), **in_body, **members}


@dataclass(frozen=True, slots=True)
class Route:
    """A path as Litestar matches it, and what each HTTP method and verb on it stands for."""

    path: str
    choices: Mapping[tuple[str, str | None], tuple[Choice, ...]]

    def match(self, method: str, parameters: Sequence[str]) -> Match | None:
        """Find who answers; the end of a path is a verb only where this method has that verb, and part of an id everywhere else."""
        if parameters:
            last, colon, verb = parameters[-1].rpartition(":")
            if last and colon and (choices := self.choices.get((method, verb))):
                return Match(choices, (*parameters[:-1], last))
        plain = self.choices.get((method, None))
        return None if plain is None else Match(plain, tuple(parameters))

    def methods(self, parameters: Sequence[str]) -> tuple[str, ...]:
        """List the HTTP methods that a path takes, for a client that came with another one."""
        known = dict.fromkeys(method for method, _ in self.choices)
        return tuple(method for method in known if self.match(method, parameters))


@dataclass(frozen=True, slots=True)
class CardRoute:
    """A path at which cards are found, and the dialects whose clients look there."""

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
    model.model_validate_json(body)  # raises in Pydantic's words
    raise TypeError("a body that is no object was read as one")


def _query_members(query: bytes, choice: Choice) -> dict[str, object]:
    said = parse_qs(query.decode("ascii", "replace"), keep_blank_values=True)
    return {name: _query_value(name, values, choice) for name, values in said.items()}


def _query_value(name: str, values: list[str], choice: Choice) -> object:
    if name in choice.lists:
        return ",".join(values).split(",")
    return _FLAGS.get(values[-1], values[-1]) if name in choice.flags else values[-1]
