"""Checks of operations and names: types exist, and no two operations share a name, a method or a
route.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from a2a_gen.ir import names
from a2a_gen.ir.checks.duplicates import find_duplicates
from a2a_gen.ir.model import (
    EXTENSIONS_FOLDER,
    Contract,
    Enumeration,
    EnumValue,
    Family,
    Field,
    HttpPath,
    OperationCall,
    OperationRow,
    Primitive,
    Record,
    TypeDefinition,
)
from a2a_gen.problems import Place, Problem


def types(contract: Contract) -> Iterator[Problem]:
    """Check that every dialect and type that an operation names exists."""
    for operation in contract.operations:
        for canonical in (operation.request, operation.response):
            yield from _type(contract, contract.canonical, canonical, operation.place)
        for call in operation.calls:
            if contract.dialect(call.dialect) is None:
                yield Problem(
                    call.place,
                    "A2A-C10",
                    f"unknown dialect {call.dialect}",
                    f"use one of {', '.join(d.name for d in contract.dialects)}",
                )
                continue
            for name in dict.fromkeys(
                (call.request, call.result, call.http_request, call.http_result)
            ):
                yield from _type(contract, call.dialect, name, call.place)


def _type(contract: Contract, dialect: str, name: str | None, place: Place) -> Iterator[Problem]:
    if name is not None and contract.type(dialect, name) is None:
        yield Problem(
            place,
            "A2A-C11",
            f"{dialect} has no type {name}",
            f"correct the name, or write the type in {dialect}/",
        )


def operation_names(contract: Contract) -> Iterator[Problem]:
    """Check that no two operations share a name, a method or a procedure in a dialect."""
    for operation, _ in find_duplicates(contract.operations, lambda each: each.name.casefold()):
        yield Problem(
            operation.place,
            "A2A-C12",
            f"operation {operation.name} is listed twice",
            "delete or rename one of the two",
        )
    methods: list[tuple[str, str, OperationCall]] = []
    for call in _calls(contract):
        names = filter(None, (call.method, *call.aliases))
        methods += [(call.dialect, method, call) for method in names]
    for (dialect, method, later), _ in find_duplicates(methods, lambda row: row[:2]):
        yield Problem(
            later.place,
            "A2A-C13",
            f"method {method} of {dialect} belongs to two operations",
            "give each operation a method of its own",
        )
    procedures = [
        (call.dialect, call.grpc, call) for call in _calls(contract) if call.grpc is not None
    ]
    for (dialect, procedure, later), _ in find_duplicates(procedures, lambda row: row[:2]):
        yield Problem(
            later.place,
            "A2A-C14",
            f"procedure {procedure} of {dialect} belongs to two operations",
            "give each operation a procedure of its own",
        )


def routes(contract: Contract) -> Iterator[Problem]:
    """Check that a route means one operation in a dialect and in every other variant of that
    dialect.
    """
    form_of = {
        dialect.name: dialect.form_of or dialect.extends or dialect.name
        for dialect in contract.dialects
    }
    inside = list[tuple[str, OperationRow, OperationCall, HttpPath]]()
    across = list[tuple[str, OperationRow, OperationCall, HttpPath]]()
    for operation in contract.operations:
        for call in operation.calls:
            inside.extend((call.dialect, operation, call, path) for path in call.http)
            across.extend(
                (form_of.get(call.dialect, call.dialect), operation, call, path)
                for path in call.http
            )
    clashes = chain(
        find_duplicates(inside, lambda row: (row[0], *_route(row[3]))),
        (
            (later, first)
            for later, first in find_duplicates(across, lambda row: (row[0], *_route(row[3])))
            if later[1] is not first[1]
        ),
    )
    for (_, operation, call, path), (_, other, _, known) in clashes:
        text = (
            f"{path.method} {path.path} of {operation.name} and {known.method} {known.path} of "
            f"{other.name} are the same route"
        )
        yield Problem(
            call.place, "A2A-C15", text, "change the path or the HTTP method of one of the two"
        )


def _route(path: HttpPath) -> tuple[str, tuple[str | int, ...], str | None]:
    return path.method, path.segments, path.verb


def path_members(contract: Contract) -> Iterator[Problem]:
    """Check that every path parameter is a member of the request."""
    for call in _calls(contract):
        request = None
        if call.http_request is not None:
            request = contract.type(call.dialect, call.http_request)
        fields = chain.from_iterable(path.fields for path in call.http)
        for member in dict.fromkeys(field.member for field in fields):
            if not isinstance(request, Record) or request.field(member) is None:
                text = (
                    f"the path has a parameter {member}, but "
                    f"{call.http_request or 'a call without a request'} has no such member"
                )
                yield Problem(
                    call.place, "A2A-C16", text, "name the parameter after a member of the request"
                )


def capabilities(contract: Contract) -> Iterator[Problem]:
    """Check that every capability that an operation requires is a member of the canonical card."""
    types = contract.types(contract.canonical)
    fields = chain.from_iterable(each.fields for each in types if isinstance(each, Record))
    flags = {field.python for field in fields if field.type is Primitive.BOOLEAN}
    for operation in contract.operations:
        if operation.capability is not None and operation.capability not in flags:
            text = f"no type of {contract.canonical} has a boolean member {operation.capability}"
            yield Problem(
                operation.place,
                "A2A-C17",
                text,
                "name the capability as the agent's card does, in snake_case",
            )


def _calls(contract: Contract) -> Iterator[OperationCall]:
    return chain.from_iterable(operation.calls for operation in contract.operations)


# --- names of types and members ---


def check_name_clashes(contract: Contract) -> Iterator[Problem]:
    """Check that no two types or members of a dialect share a Python name, or differ only in
    case.
    """
    for dialect in dict.fromkeys(family.dialect for family in contract.families):
        yield from _modules([family for family in contract.families if family.dialect == dialect])
        yield from _types(list(contract.types(dialect)))
        for definition in contract.types(dialect):
            yield from _members(definition)


def _modules(families: list[Family]) -> Iterator[Problem]:
    for later, first in find_duplicates(families, lambda family: family.module.casefold()):
        yield Problem(
            Place(later.file),
            "A2A-C02",
            f"{later.file} and {first.file} have the same module name {first.module}",
            "rename one of the two files",
        )


def _types(types: list[TypeDefinition]) -> Iterator[Problem]:
    for later, first in find_duplicates(types, lambda definition: definition.name.casefold()):
        text = (
            f"{later.name} and {first.name} of {first.place.file} have the same name in Python "
            "or in its documentation"
        )
        yield Problem(
            later.place,
            "A2A-C03",
            text,
            "rename one of the two types; all files of a dialect share their names",
        )
    for definition in types:
        if not names.is_class_name(definition.name):
            yield Problem(
                definition.place,
                "A2A-C04",
                f"{definition.name} is not a valid class name",
                "use letters and digits, starting with a capital letter",
            )


def _members(definition: TypeDefinition) -> Iterator[Problem]:
    if isinstance(definition, Record):
        for later, first in find_duplicates(definition.fields, _python_name):
            text = (
                f"members {later.wire} and {first.wire} of {definition.name} have the same "
                f"Python name {first.python}"
            )
            yield Problem(
                later.place,
                "A2A-C05",
                text,
                "rename one of the two, or list the older spelling in x-a2a-aliases of the other",
            )
    if isinstance(definition, Enumeration):
        for value, known in find_duplicates(definition.values, _python_value):
            text = (
                f"values {value.wire} and {known.wire} of {definition.name} have the same Python "
                f"name {known.python}"
            )
            yield Problem(
                definition.place, "A2A-C06", text, "give them different names in x-enum-varnames"
            )


def _python_name(field: Field) -> str:
    return field.python


def _python_value(value: EnumValue) -> str:
    return value.python


def extensions(contract: Contract) -> Iterator[Problem]:
    """Check that every file of extensions defines one, with a type of parameters, and that no two
    have the same name.
    """
    for row in contract.extensions:
        if not row.name:
            yield Problem(
                row.place,
                "A2A-C50",
                "the file defines no extension",
                "add x-a2a-extension, with name, version, params and description",
            )
        elif contract.type(EXTENSIONS_FOLDER, row.params) is None:
            yield Problem(
                row.place,
                "A2A-C51",
                f"extension {row.name} has no type {row.params}",
                "write the type into $defs, or correct params",
            )
    for later, first in find_duplicates(
        [row for row in contract.extensions if row.name], lambda row: row.name
    ):
        yield Problem(
            later.place,
            "A2A-C52",
            f"{later.place.file} and {first.place.file} define the extension {first.name}",
            "rename one of the two",
        )


def dialects_and_folders(contract: Contract) -> Iterator[Problem]:
    """Check that every folder of types belongs to a dialect, and that every dialect has its
    folder.
    """
    known = {dialect.name for dialect in contract.dialects}
    folders = {family.dialect for family in contract.families}
    for family in contract.families:
        if family.dialect not in {*known, EXTENSIONS_FOLDER}:
            cure = (
                f"move the file to the folder of a dialect, or add the dialect {family.dialect} "
                "to dialects.json"
            )
            yield Problem(
                Place(family.file),
                "A2A-C07",
                f"the folder {family.dialect} belongs to no dialect",
                cure,
            )
    for dialect in contract.dialects:
        if dialect.name not in folders:
            yield Problem(
                dialect.place,
                "A2A-C08",
                f"dialect {dialect.name} has no types",
                f"write the files of types into the folder {dialect.name}",
            )
