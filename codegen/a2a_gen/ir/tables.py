"""Parsing of ``dialects.json``, ``operations.json``, ``errors.json`` and ``lifecycle.json`` to
rows with every default filled in.

Translations are kept as the table has them; the emitter adds the correspondences of equal names.
Two notations of a path are the same route: ``/tasks/{id}`` names the request's member, and
``/{name=tasks/*}`` makes the member of the whole piece of the path. Both become segments with
numbered parameters, and for each member the pieces that it is joined from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from a2a_gen.ir import names
from a2a_gen.ir.model import (
    ClassName,
    ContractDialect,
    ContractParameter,
    ErrorDefinition,
    ExtensionRow,
    HttpPath,
    Json,
    Lifecycle,
    Loss,
    OperationCall,
    OperationRow,
    PathField,
    State,
    Translation,
    TranslationRule,
)
from a2a_gen.ir.node import SourceNode

T = TypeVar("T")

# --- dialects ---

_MEMBER = re.compile(r"\{(\w+)\}")
_TYPED = frozenset(
    {
        "name",
        "title",
        "description",
        "version",
        "form_of",
        "extends",
        "enums",
        "wrappers",
        "types",
        "lossy",
    }
)
_NOT_INHERITED = frozenset({"profiles"})
"""Facts that a dialect does not have from the one that it extends."""
_NOT_ARGUMENT = frozenset({"rule", "ours", "with"})


def dialects(table: SourceNode) -> Iterator[ContractDialect]:
    """Parse the dialects.

    One that extends another has the facts of that one, listed above it, where its row says nothing.
    """
    known: dict[str | None, Mapping[str, Json]] = {}
    for row in table["dialects"].items():
        own: Mapping[str, Json] = {
            key: each.freeze() for key, each in row.members() if key not in _TYPED
        }
        inherited = known.get(row["extends"].optional_text(), {})
        facts = {
            **{key: each for key, each in inherited.items() if key not in _NOT_INHERITED},
            **own,
        }
        known[row["name"].text()] = facts
        yield ContractDialect(
            name=row["name"].text(),
            title=row["title"].text(),
            description=row["description"].text(),
            version=row["version"].optional_text(),
            form_of=row["form_of"].optional_text(),
            extends=row["extends"].optional_text(),
            facts=facts,
            enums={name: words.words() for name, words in row["enums"].members()},
            wrappers=row["wrappers"].words(),
            translations=tuple(map(_translation, row["types"].items())),
            lossy=tuple(map(_loss, row["lossy"].items())),
            place=row.place,
        )


def parameters(table: SourceNode) -> Iterator[ContractParameter]:
    """Parse the values that clients send in headers."""
    for name, row in table["parameters"].members():
        yield ContractParameter(
            names.field_name(name), row["headers"].texts(), row["description"].text()
        )


def _translation(row: SourceNode) -> Translation:
    theirs = row["theirs"].text()
    fresh = (TranslationRule("fresh", (), (path,)) for path in row["fresh"].texts())
    rules = (*map(_member, row["members"].members()), *map(_branch, row["union"].members()), *fresh)
    return Translation(
        theirs, row["ours"].text(theirs), rules, row.place, row["otherwise"].optional_text()
    )


def _member(item: tuple[str, SourceNode]) -> TranslationRule:
    theirs, row = item
    if not isinstance(row.data, dict):
        return TranslationRule("rename", (theirs,), _texts(row))
    argument: Mapping[str, Json] = {
        key: each.freeze() for key, each in row.members() if key not in _NOT_ARGUMENT
    }
    made_of = tuple(_MEMBER.findall(row["template"].text()))
    return TranslationRule(
        row["rule"].text(), (theirs, *row["with"].texts()), _texts(row["ours"]) or made_of, argument
    )


def _texts(row: SourceNode) -> tuple[str, ...]:
    if isinstance(row.data, str):
        return (row.data,)
    return row.texts()


def _branch(item: tuple[str, SourceNode]) -> TranslationRule:
    theirs, ours = item
    if isinstance(ours.data, str):
        return TranslationRule("branch", (theirs,), (ours.data,))
    return TranslationRule("flat", (theirs,), ours.texts())


def _loss(row: SourceNode) -> Loss:
    return Loss(
        row["type"].text(),
        row["member"].text(),
        row["direction"].text(),
        row["reason"].text(),
        row.place,
    )


# --- path templates ---
_PIECE = re.compile(r"\{(?P<member>[^{}=]+)(?:=(?P<template>[^{}]*))?\}|[^/{}]+")
_VERB = re.compile(r"(?P<path>.*):(?P<verb>[A-Za-z]+)")
_ANY_SEGMENT = "*"


def http_paths(rows: tuple[str, ...], prefixes: tuple[str, ...]) -> Iterator[HttpPath]:
    """Parse the rows ``METHOD /path`` of an operation, once per prefix of its dialect."""
    for row in rows:
        method, _, path = row.partition(" ")
        for prefix in prefixes:
            yield _http_path(method, prefix + path)


def _http_path(method: str, full: str) -> HttpPath:
    split = _VERB.fullmatch(full)
    path, verb = (split["path"], split["verb"]) if split else (full, None)
    segments: list[str | int] = []
    fields: list[PathField] = []
    parameters = 0
    for piece in _PIECE.finditer(path):
        member = piece["member"]
        words = (
            (piece["template"] or _ANY_SEGMENT).split("/") if piece["member"] else [piece.group()]
        )
        pieces: list[str | int] = []
        for word in words:
            is_parameter = member is not None and word == _ANY_SEGMENT
            pieces.append(parameters if is_parameter else word)
            parameters += is_parameter
        segments.extend(pieces)
        if member is not None:
            fields.append(PathField(member, tuple(pieces)))
    return HttpPath(method, full, tuple(segments), verb, tuple(fields))


_EXTENSION_PREFIX = "urn:a2a-gen:ext"
_COLUMNS = ("message", "code", "http", "grpc", "reason", "jsonrpc_status")


def operations(table: SourceNode, dialects: tuple[ContractDialect, ...]) -> Iterator[OperationRow]:
    """Parse the operations."""
    prefixes = {
        dialect.name: _text_list(dialect.facts.get("http_prefixes")) for dialect in dialects
    }
    for row in table["operations"].items():
        response = row["response"].optional_text()
        capability = row["capability"].optional_text()
        yield OperationRow(
            name=names.class_name(row["name"].text()),
            python=names.field_name(row["name"].text()),
            description=row["description"].text(),
            request=names.class_name(row["request"].text()),
            response=None if response is None else names.class_name(response),
            streams=row["streams"].flag(),
            capability=None if capability is None else names.field_name(capability),
            calls=tuple(
                _inherit_calls(
                    [
                        _call(name, call, prefixes.get(name, ("",)))
                        for name, call in row["dialects"].members()
                    ],
                    dialects,
                )
            ),
            place=row.place,
        )


def _inherit_calls(
    calls: Iterable[OperationCall], dialects: tuple[ContractDialect, ...]
) -> Iterator[OperationCall]:
    """Add the calls of dialects that extend another and have none of their own, each after that
    one's.
    """
    listed = {call.dialect: call for call in calls}
    extensions = [
        (dialect.extends, dialect.name)
        for dialect in dialects
        if dialect.extends and dialect.name not in listed
    ]
    for call in listed.values():
        found = [call]
        for base, name in extensions:
            found += [replace(each, dialect=name) for each in found if each.dialect == base]
        yield from found


def _call(dialect: str, row: SourceNode, prefixes: tuple[str, ...]) -> OperationCall:
    request = row["request"].optional_text()
    result = row["result"].optional_text()
    http_body = None
    if "http_body" in row:
        http_body = (row["http_body"]["member"].text(), row["http_body"]["told_by"].text())
    return OperationCall(
        dialect=dialect,
        method=row["method"].optional_text(),
        aliases=row["aliases"].texts(),
        grpc=row["grpc"].optional_text(),
        request=request,
        result=result,
        http_request=row["http_request"].optional_text() if "http_request" in row else request,
        http_result=row["http_result"].optional_text() if "http_result" in row else result,
        http=tuple(http_paths(row["http"].texts(), prefixes)),
        place=row.place,
        http_body=http_body,
        misplaced=tuple(row["misplaced"].words().items()),
    )


def errors(table: SourceNode, dialects: tuple[ContractDialect, ...]) -> Iterator[ErrorDefinition]:
    """Parse the errors; columns of a dialect override the columns of the row."""
    for row in table["errors"].items():
        is_abstract = row["abstract"].flag()
        # A variant of a dialect responds with that dialect's errors; so does its extension.
        homes = {dialect.name: dialect.form_of or dialect.extends for dialect in dialects}
        own = {name: name for name, _ in row["dialects"].members()}
        spoken = {name: _find_home(name, homes, own) for name in homes} | own
        columns = {dialect: _columns(row, home) for dialect, home in spoken.items()}
        yield ErrorDefinition(
            name=names.class_name(row["name"].text()),
            parent=names.class_name(row["parent"].text()),
            description=row["description"].text(),
            message=row["message"].text(),
            is_abstract=is_abstract,
            columns={} if is_abstract else columns,
            section=row["section"].optional_text(),
            place=row.place,
            since=row["since"].optional_text(),
        )


def _find_home(name: str, homes: Mapping[str, str | None], own: Collection[str]) -> str:
    """Find the dialect whose errors a dialect has: its own, or those of the one that it is a form
    of or extends.
    """
    home = homes.get(name)
    if name in own or home is None or home == name:
        return name
    return _find_home(home, {**homes, name: None}, own)


def _columns(row: SourceNode, dialect: str) -> Mapping[str, Json]:
    own = row["dialects"][dialect]
    columns: dict[str, Json] = {}
    for column in _COLUMNS:
        home = own if column in own else row
        columns[column] = home[column].freeze()
    return columns


def error_root(rows: tuple[ErrorDefinition, ...]) -> ClassName:
    """Return the common base class of all errors, which has no row of its own."""
    known = {row.name for row in rows}
    return next((row.parent for row in rows if row.parent not in known), names.class_name("Error"))


def extensions(families: Iterable[SourceNode]) -> Iterator[ExtensionRow]:
    """Parse the extensions that files of types define."""
    for family in families:
        row = family["x-a2a-extension"]
        name = row["name"].text()
        version = row["version"].data
        yield ExtensionRow(
            name,
            f"{_EXTENSION_PREFIX}:{name}:{version}",
            row["description"].text(),
            names.class_name(row["params"].text()),
            row.place,
        )


def lifecycle(table: SourceNode, dialects: tuple[ContractDialect, ...] = ()) -> Lifecycle:
    """Parse the states of a task; a dialect has the spellings of the one that it extends."""
    extensions = [(dialect.extends, dialect.name) for dialect in dialects if dialect.extends]
    return Lifecycle(
        type=names.class_name(table["type"].text()),
        initial=names.member_name(table["initial"].text()),
        states=tuple(_extend_spellings(state, extensions) for state in _states(table)),
        unknown=_inherit(table["unknown"]["spellings"].words(), extensions),
        place=table.place,
    )


def _extend_spellings(state: State, extensions: Iterable[tuple[str, str]]) -> State:
    return replace(
        state,
        spellings=_inherit(state.spellings, extensions),
        reads=_inherit(state.reads, extensions),
    )


def _inherit(by_dialect: Mapping[str, T], extensions: Iterable[tuple[str, str]]) -> Mapping[str, T]:
    """Give dialects what those have that they extend, behind it, so that the order of the table
    stays.
    """
    found: dict[str, T] = {}
    for dialect, value in by_dialect.items():
        own = [dialect]
        for base, name in extensions:
            own += [name] if base in own and name not in by_dialect else []
        found |= dict.fromkeys(own, value)
    return found


def _states(table: SourceNode) -> Iterator[State]:
    rows = tuple(table["states"].items())
    written = list(chain.from_iterable(row["spellings"].words().items() for row in rows))
    for row in rows:
        spellings = row["spellings"].words()
        yield State(
            name=names.member_name(row["name"].text()),
            description=row["description"].text(),
            kind=row["kind"].text(),
            accepts_messages=row["accepts_messages"].flag(),
            cancelable=row["cancelable"].flag(),
            spellings=spellings,
            reads={
                dialect: _read_spellings(
                    row["reads"][dialect].texts(), word, written.count((dialect, word))
                )
                for dialect, word in spellings.items()
            },
            next=tuple(map(names.member_name, row["next"].texts())),
            place=row.place,
        )


def _read_spellings(listed: tuple[str, ...], written: str, states: int) -> tuple[str, ...]:
    """List the words that are read as a state: its own, unless the table gives a shared word to
    another state, and the listed ones.
    """
    is_own = states == 1 or written in listed
    return (*((written,) if is_own else ()), *(word for word in listed if word != written))


def _text_list(value: Json) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return tuple(each for each in value if isinstance(each, str))
    return ()
