"""From ``operations.json``, ``errors.json`` and ``lifecycle.json`` to rows in which every default is filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.ir import names, paths
from a2a_gen.ir.model import Call, ClassName, Dialect, ErrorRow, Json, Lifecycle, Operation, State
from a2a_gen.ir.node import Node

_COLUMNS = ("message", "code", "http", "grpc", "reason", "jsonrpc_status")


def operations(table: Node, dialects: tuple[Dialect, ...]) -> Iterator[Operation]:
    """Read the operations."""
    prefixes = {dialect.name: _texts(dialect.facts.get("http_prefixes")) for dialect in dialects}
    for row in table["operations"].items():
        response, capability = row["response"].optional_text(), row["capability"].optional_text()
        yield Operation(
            name=names.class_name(row["name"].text()),
            python=names.field_name(row["name"].text()),
            description=row["description"].text(),
            request=names.class_name(row["request"].text()),
            response=None if response is None else names.class_name(response),
            streams=row["streams"].flag(),
            capability=None if capability is None else names.field_name(capability),
            calls=tuple(_call(dialect, call, prefixes.get(dialect, ("",))) for dialect, call in row["dialects"].members()),
            place=row.place,
        )


def _call(dialect: str, row: Node, prefixes: tuple[str, ...]) -> Call:
    request, result = row["request"].optional_text(), row["result"].optional_text()
    return Call(
        dialect=dialect,
        method=row["method"].optional_text(),
        aliases=row["aliases"].texts(),
        grpc=row["grpc"].optional_text(),
        request=request,
        result=result,
        http_request=row["http_request"].optional_text() if "http_request" in row else request,
        http_result=row["http_result"].optional_text() if "http_result" in row else result,
        http=tuple(paths.http_paths(row["http"].texts(), prefixes)),
        place=row.place,
    )


def errors(table: Node, dialects: tuple[Dialect, ...]) -> Iterator[ErrorRow]:
    """Read the errors; what a dialect says about one lies over what the row says."""
    for row in table["errors"].items():
        is_abstract = row["abstract"].flag()
        # A form of a dialect answers with that dialect's errors.
        spoken = {dialect.name: dialect.form_of or dialect.name for dialect in dialects} | {name: name for name, _ in row["dialects"].members()}
        yield ErrorRow(
            name=names.class_name(row["name"].text()),
            parent=names.class_name(row["parent"].text()),
            description=row["description"].text(),
            message=row["message"].text(),
            is_abstract=is_abstract,
            columns={} if is_abstract else {dialect: _columns(row, home) for dialect, home in spoken.items()},
            place=row.place,
        )


def _columns(row: Node, dialect: str) -> Mapping[str, Json]:
    own = row["dialects"][dialect]
    return {column: own[column].frozen() if column in own else row[column].frozen() for column in _COLUMNS}


def error_root(rows: tuple[ErrorRow, ...]) -> ClassName:
    """Find the class that all errors come from, which has no row of its own."""
    known = {row.name for row in rows}
    return next((row.parent for row in rows if row.parent not in known), names.class_name("Error"))


def lifecycle(table: Node) -> Lifecycle:
    """Read the states of a task."""
    return Lifecycle(
        type=names.class_name(table["type"].text()),
        initial=names.member_name(table["initial"].text()),
        states=tuple(_states(table)),
        unknown=table["unknown"]["spellings"].words(),
        place=table.place,
    )


def _states(table: Node) -> Iterator[State]:
    rows = tuple(table["states"].items())
    written = [item for row in rows for item in row["spellings"].words().items()]
    for row in rows:
        spellings = row["spellings"].words()
        yield State(
            name=names.member_name(row["name"].text()),
            description=row["description"].text(),
            kind=row["kind"].text(),
            accepts_messages=row["accepts_messages"].flag(),
            cancelable=row["cancelable"].flag(),
            spellings=spellings,
            reads={dialect: _reads(row["reads"][dialect].texts(), word, written.count((dialect, word))) for dialect, word in spellings.items()},
            next=tuple(map(names.member_name, row["next"].texts())),
            place=row.place,
        )


def _reads(listed: tuple[str, ...], written: str, states: int) -> tuple[str, ...]:
    """List the words that are read as a state: its own, unless other states share it and the table gives it to one of them, and the others."""
    is_own = states == 1 or written in listed
    return (*((written,) if is_own else ()), *(word for word in listed if word != written))


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, tuple) else ()
