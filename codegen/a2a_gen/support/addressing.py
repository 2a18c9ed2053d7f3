"""From an operation and what a dialect says in its request to the HTTP request that carries it: ``routing.py`` the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from pydantic_core import to_json

from .binding import AnyBinding
from .kinds import is_list
from .operation import Operation
from .routing import Choice, PathMember, Route

_PARAMETER = re.compile(r"\{[^}]*\}")
_WITHOUT_BODY = frozenset(("GET", "DELETE"))


class Address(NamedTuple):
    """Where and how something is asked; what has a body says everything in it, also what stands in the path."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Way:
    """One path by which a dialect takes an operation, and the members of the request that stand in the path."""

    method: str
    path: str
    verb: str | None
    choice: Choice

    def fits(self, said: Mapping[str, object]) -> bool:
        """Say whether a request has all that stands in the path."""
        return all(said.get(member.name) for member in self.choice.members)

    def address(self, said: Mapping[str, object]) -> Address:
        """Put a request on its way."""
        values: dict[int, str] = {}
        for member in self.choice.members:
            values.update(_parameters(member, str(said[member.name])))
        pieces = iter(_quoted(values[number]) for number in sorted(values))
        path = _PARAMETER.sub(lambda _: next(pieces), self.path) + (f":{self.verb}" if self.verb else "")
        if self.method not in _WITHOUT_BODY:
            return Address(self.method, path, (), to_json(said))
        inside = {member.name for member in self.choice.members}
        return Address(self.method, path, tuple(_query((name, value) for name, value in said.items() if name not in inside)), None)


class Addresses:
    """The ways of one dialect over HTTP+JSON."""

    def __init__(self, dialect: str, routes: Iterable[Route]) -> None:
        self._ways: dict[str, list[Way]] = {}
        for route in routes:
            for (method, verb), choices in route.choices.items():
                for choice in choices:
                    if choice.binding.dialect == dialect:
                        self._ways.setdefault(choice.binding.operation.name, []).append(Way(method, route.path, verb, choice))

    def binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of an operation, if the dialect has it over HTTP+JSON."""
        ways = self._ways.get(operation.name)
        return ways[0].choice.binding if ways else None

    def address(self, operation: Operation, said: Mapping[str, object]) -> Address:
        """Choose the way whose path says the most of a request, or raise ``ValueError`` if it lacks what every path says."""
        fitting = [way for way in self._ways[operation.name] if way.fits(said)]
        if not fitting:
            raise ValueError(f"the request does not say what the path of {operation.name} needs")
        return max(fitting, key=lambda way: len(way.choice.members)).address(said)


def _parameters(member: PathMember, value: str) -> dict[int, str]:
    """Take the parameters of a path out of the member that is made of them."""
    numbers = [piece for piece in member.pieces if isinstance(piece, int)]
    pattern = "/".join("(.+)" if isinstance(piece, int) else re.escape(piece) for piece in member.pieces)
    found = re.fullmatch(pattern, value, re.DOTALL)
    if found is None:
        raise ValueError(f"{member.name} is not of the form of its path: {value!r}")
    return dict(zip(numbers, found.groups(), strict=True))


def _quoted(piece: str) -> str:
    """Write one piece of a path; dots alone would lead somewhere else."""
    return "%2E" * len(piece) if set(piece) == {"."} else quote(piece, safe="")


def _query(members: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
    for name, value in members:
        for each in value if is_list(value) else (value,):
            yield name, each if isinstance(each, str) else to_json(each).decode().strip('"')
