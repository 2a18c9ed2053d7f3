"""Routes of HTTP+JSON as Litestar matches them: per dialect, the bindings of every HTTP method and
verb on a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from a2a_gen.emit.call_styles import over_http
from a2a_gen.emit.render import Code, literal, render
from a2a_gen.ir.model import (
    Contract,
    ContractDialect,
    Field,
    FieldName,
    HttpPath,
    ListOf,
    OperationRow,
    PathField,
    Primitive,
    Record,
)
from a2a_gen.ir.names import field_name


@dataclass(frozen=True, slots=True)
class RouteChoice:
    """The binding of one dialect for a method and verb on a path."""

    dialect: str
    constant: str
    operation: OperationRow
    members: tuple[PathField, ...]
    lists: tuple[str, ...]
    flags: tuple[str, ...]
    body: tuple[str, str] | None = None

    @property
    def code(self) -> Code:
        """Return the expression that constructs the binding."""
        members = "".join(
            f"PathMember({literal(member.member)}, {literal(member.pieces)}), "
            for member in self.members
        )
        special = (
            (name, names) for name, names in (("lists", self.lists), ("flags", self.flags)) if names
        )
        options = "".join(f", {name}=frozenset({literal(names)})" for name, names in special)
        if self.body:
            options += f", body={literal(self.body)}"
        if members:
            members = f", ({members})"
        return Code(f"RouteBinding({self.dialect}.{self.constant}{members}{options})")


@dataclass(frozen=True, slots=True)
class RoutePath:
    """A path that Litestar matches, and its bindings by HTTP method and verb."""

    name: FieldName
    path: str
    answers: dict[tuple[str, str | None], list[RouteChoice]] = field(default_factory=dict)

    @property
    def constant(self) -> str:
        """Return the constant of the route."""
        return self.name.upper()

    @property
    def summary(self) -> str:
        """Summarize the operations of the route in words."""
        said: list[str] = []
        for (method, verb), answers in self.answers.items():
            called = f"{method} :{verb}" if verb else method
            said.append(f"{called} {answers[0].operation.name}")
        return f"{', '.join(said)}."


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The paths of a dialect, which its variants share."""

    name: str
    title: str
    dialects: tuple[str, ...]
    paths: tuple[RoutePath, ...]


@dataclass(frozen=True, slots=True)
class CardPath:
    """A path where clients of some dialects look for a card."""

    name: FieldName
    path: str
    dialects: tuple[str, ...]


def emit(contract: Contract) -> dict[str, bytes]:
    """Emit the routes: a module per dialect with paths of its own, and one of cards."""
    modules = {
        f"routes/{each.name}.py": render(
            "routes.py.jinja", sources=("operations.json", "dialects.json"), surface=each
        )
        for each in build_route_tables(contract)
    }
    return {
        "routes/__init__.py": render(
            "routes_package.py.jinja", sources=("operations.json", "dialects.json")
        ),
        "routes/cards.py": render(
            "routes_cards.py.jinja", sources=("dialects.json",), cards=card_paths(contract)
        ),
        **modules,
    }


def build_route_tables(contract: Contract) -> tuple[RouteTable, ...]:
    """List the dialects with paths of their own, each with the variants and extensions that share
    them.
    """
    by_owner: dict[str, list[str]] = {}
    for dialect in contract.dialects:
        by_owner.setdefault(find_path_owner(contract, dialect), []).append(dialect.name)
    tables: list[RouteTable] = []
    for dialect in contract.dialects:
        dialects = tuple(by_owner.get(dialect.name, ()))
        paths = tuple(_paths(contract, dialects))
        if paths:
            tables.append(RouteTable(dialect.name, dialect.title, dialects, paths))
    return tuple(tables)


def find_path_owner(contract: Contract, dialect: ContractDialect) -> str:
    """Return the dialect whose paths a dialect shares, or its own name."""
    owner = contract.dialect(dialect.form_of or dialect.extends or "")
    if owner is None:
        return dialect.name
    return find_path_owner(contract, owner)


def card_paths(contract: Contract) -> tuple[CardPath, ...]:
    """List the paths of cards, each with the dialects whose clients look there."""
    found: dict[str, list[str]] = {}
    for dialect in contract.dialects:
        paths = dialect.facts["card_paths"]
        for path in paths if isinstance(paths, tuple) else ():
            found.setdefault(str(path), []).append(dialect.name)
    return tuple(
        CardPath(field_name(path.rpartition("/")[2]), path, tuple(dialects))
        for path, dialects in found.items()
    )


def _paths(contract: Contract, dialects: tuple[str, ...]) -> Iterator[RoutePath]:
    found: dict[tuple[str | int, ...], RoutePath] = {}
    for operation in contract.operations:
        for dialect in dialects:
            if (call := operation.call(dialect)) is None:
                continue
            for http in call.http:
                lists, flags = _members(contract, dialect, call.http_request)
                answer = RouteChoice(
                    dialect,
                    over_http(call, operation).constant,
                    operation,
                    http.fields,
                    lists,
                    flags,
                    call.http_body,
                )
                if isinstance(http.segments[-1], int):
                    key = http.segments
                else:
                    key = (*http.segments, f":{http.verb}")
                path = found.setdefault(key, _path(http))
                path.answers.setdefault((http.method, _split_verb(http)), []).append(answer)
    yield from found.values()


def _split_verb(http: HttpPath) -> str | None:
    """Return the verb if it has to be split off a parameter; Litestar matches the others as a part
    of the path.
    """
    if isinstance(http.segments[-1], int):
        return http.verb
    return None


def _path(http: HttpPath) -> RoutePath:
    parameters: dict[int, str] = {}
    for member in http.fields:
        for piece in member.pieces:
            if isinstance(piece, int):
                parameters[piece] = member.member
    words: list[str] = []
    pieces: list[str] = []
    for segment in http.segments:
        if isinstance(segment, str):
            words.append(segment)
            pieces.append(segment)
        else:
            words.append(parameters[segment])
            pieces.append(f"{{{parameters[segment]}:str}}")
    end = "" if http.verb is None or _split_verb(http) else f":{http.verb}"
    return RoutePath(field_name("_".join(words) + end), f"/{'/'.join(pieces)}{end}")


def _members(
    contract: Contract, dialect: str, request: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List the members of a request that are lists, and the boolean ones, by both of their
    names.
    """
    record = contract.type(dialect, request) if request else None
    fields = record.fields if isinstance(record, Record) else ()
    lists = (each for each in fields if isinstance(each.type, ListOf))
    flags = (each for each in fields if each.type is Primitive.BOOLEAN)
    return _both_names(lists), _both_names(flags)


def _both_names(fields: Iterable[Field]) -> tuple[str, ...]:
    names = chain.from_iterable((each.wire, each.python) for each in fields)
    return tuple(dict.fromkeys(names))
