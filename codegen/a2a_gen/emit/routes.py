"""Routes of HTTP+JSON as Litestar matches them: per dialect, the bindings of every HTTP method and
verb on a path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from a2a_gen.emit.call_styles import over_http
from a2a_gen.emit.render import WIDTH, Code, literal, render
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

_HANDLER_INDENT = 8
"""Columns before the docstring of a handler."""


@dataclass(frozen=True, slots=True)
class RouteChoice:
    """The binding of one dialect for a method and verb on a path."""

    dialect: str
    constant: str
    operation: OperationRow
    request: str | None
    result: str | None
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


Answers: TypeAlias = dict[tuple[str, str | None], list[RouteChoice]]
"""The bindings of a path, by HTTP method and verb."""


@dataclass(frozen=True, slots=True)
class RoutePath:
    """A path that Litestar matches, and its bindings by HTTP method and verb; its name says the
    operations.
    """

    name: FieldName
    path: str
    answers: Answers

    @property
    def constant(self) -> str:
        """Return the constant of the route."""
        return self.name.upper()

    @property
    def description(self) -> str:
        """Return the descriptions of the operations of the route."""
        texts = (answers[0].operation.description for answers in self.answers.values())
        return " ".join(dict.fromkeys(texts))

    @property
    def exchanges(self) -> tuple[str, ...]:
        """Return the lines of a docstring about the operations of the route, with the types of its
        first dialect.
        """
        exchanges: list[OperationLine] = []
        for (method, verb), answers in self.answers.items():
            choice = answers[0]
            way = f"{method} :{verb}" if verb else method
            exchanges.append(OperationLine(way, choice.operation, choice.request, choice.result))
        return write_exchanges(exchanges)


class OperationLine(NamedTuple):
    """An operation as a docstring shows it: how it is called, and the types of its request and its
    response.
    """

    way: str
    operation: OperationRow
    request: str | None
    response: str | None


def write_exchanges(exchanges: Sequence[OperationLine]) -> tuple[str, ...]:
    """Write operations like functions, a line for each; the response of a long one has a line of
    its own.
    """
    width = max((len(each.way) for each in exchanges), default=0) + 2
    lines: list[str] = []
    for each in exchanges:
        call = f"{each.way.ljust(width)}{each.operation.name}({each.request or ''})"
        events = "stream of " if each.operation.streams else ""
        response = f"-> {events}{each.response}"
        if _HANDLER_INDENT + len(f"{call} {response}") <= WIDTH:
            lines.append(f"{call} {response}")
        else:
            lines += (call, f"{' ' * width}{response}")
    return tuple(lines)


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
    found: dict[tuple[str | int, ...], tuple[MatchedPath, Answers]] = {}
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
                    call.http_request,
                    call.http_result,
                    http.fields,
                    lists,
                    flags,
                    call.http_body,
                )
                if isinstance(http.segments[-1], int):
                    key = http.segments
                else:
                    key = (*http.segments, f":{http.verb}")
                _, answers = found.setdefault(key, (_match_path(http), {}))
                answers.setdefault((http.method, _split_verb(http)), []).append(answer)
    names: set[FieldName] = set()
    for matched, answers in found.values():
        name = _name_route(matched, answers, names)
        names.add(name)
        yield RoutePath(name, matched.path, answers)


def _split_verb(http: HttpPath) -> str | None:
    """Return the verb if it has to be split off a parameter; Litestar matches the others as a part
    of the path.
    """
    if isinstance(http.segments[-1], int):
        return http.verb
    return None


class MatchedPath(NamedTuple):
    """A path as Litestar matches it, the words that it consists of, and its first parameter."""

    path: str
    words: str
    first_parameter: str | None


def _match_path(http: HttpPath) -> MatchedPath:
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
    starts_with_parameter = isinstance(http.segments[0], int)
    return MatchedPath(
        f"/{'/'.join(pieces)}{end}",
        "_".join(words) + end,
        words[0] if starts_with_parameter else None,
    )


def _name_route(matched: MatchedPath, answers: Answers, taken: Collection[FieldName]) -> FieldName:
    """Name a route after its operations; a further path of the same ones also after the parameter
    that it begins with, or else after all of its words.
    """
    operations = [choices[0].operation.python for choices in answers.values()]
    name = join_operations(tuple(dict.fromkeys(operations)))
    if name in taken and matched.first_parameter:
        name = field_name(f"{name}_of_{matched.first_parameter}")
    if name in taken:
        name = field_name(f"{name}_at_{matched.words}")
    return name


def join_operations(names: Sequence[FieldName]) -> FieldName:
    """Join the names of operations, with the words at their ends that all have in common once:
    ``get_task`` and ``cancel_task`` are ``get_or_cancel_task``.

    A plural counts as its singular, and the last name decides which of them is written.
    """
    split = [name.split("_") for name in names]
    shared = 0
    longest = min(len(words) for words in split) - 1  # a word of its own is left of each name
    while shared < longest:
        ends = {words[-shared - 1].removesuffix("s") for words in split}
        if len(ends) > 1:
            break
        shared += 1
    *firsts, last = split
    own = ["_".join(words[: len(words) - shared]) for words in firsts]
    joined = "_".join(own)
    ending = "_".join(last)
    if not joined:
        return FieldName(ending)
    return FieldName(f"{joined}_or_{ending}")


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
