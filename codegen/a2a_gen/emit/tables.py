"""Tables of the protocol as frozen Python values: states, errors, dialects, operations,
extensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from a2a_gen.emit.render import Code, literal, render
from a2a_gen.ir.extension import list_bases
from a2a_gen.ir.model import (
    EXTENSIONS_FOLDER,
    Contract,
    ContractDialect,
    ErrorDefinition,
    Json,
    OperationCall,
    OperationRow,
    State,
)
from a2a_gen.ir.names import field_name

# The client fills in the whole name of `{name=tasks/*}`, so its pattern goes.
_PATTERN = re.compile(r"=[^{}]*\}")


def emit(contract: Contract) -> dict[str, bytes]:
    """Emit the modules of the tables."""
    return {
        "lifecycle.py": _lifecycle(contract),
        "errors.py": _errors(contract),
        **_error_sections(contract),
        "dialects.py": _dialects(contract),
        "operations.py": _operations(contract),
        **_extensions(contract),
    }


def _lifecycle(contract: Contract) -> bytes:
    states = contract.states
    kinds = tuple(dict.fromkeys(state.kind for state in states))
    by_kind: list[Mapping[str, object]] = []
    for kind in kinds:
        names = _state_set(state.name for state in states if state.kind == kind)
        by_kind.append({"name": kind.upper(), "word": kind, "states": names})
    return render(
        "lifecycle.py.jinja",
        sources=("lifecycle.json",),
        type=contract.lifecycle.type,
        states=[
            {
                "row": state,
                "word": state.spellings[contract.canonical],
                "next": _state_set(state.next),
            }
            for state in states
        ],
        kinds=by_kind,
        initial=contract.lifecycle.initial,
        words=[
            {"dialect": dialect.name, "states": list(_spellings(dialect, states))}
            for dialect in contract.dialects
        ],
        unknown=contract.lifecycle.unknown,
    )


def _state_set(names: Iterable[str]) -> Code:
    listed = ", ".join(f"State.{name}" for name in names)
    return Code(f"frozenset({{{listed}}})" if listed else "frozenset()")


def _spellings(dialect: ContractDialect, states: tuple[State, ...]) -> Iterator[tuple[str, str]]:
    for state in states:
        for word in state.reads.get(dialect.name, ()):
            yield word, state.name


def _errors(contract: Contract) -> bytes:
    tree = tuple(_find_children(contract, contract.error_root))
    lines = [f"    {contract.error_root}"]
    lines += [f"{'    ' * (depth + 1)}{row.name}" for row, depth in tree]
    return render(
        "errors.py.jinja",
        sources=("errors.json",),
        root=contract.error_root,
        domain=contract.error_domain,
        tree=Code("\n".join(lines)),
        errors=[row for row, _ in tree],
        rows=[
            _error_row(row, contract.canonical) for row in contract.errors if not row.is_abstract
        ],
    )


def _error_sections(contract: Contract) -> dict[str, bytes]:
    rows = [row for row in contract.errors if row.section is not None]
    if rows:
        return {
            "error_sections.py": render(
                "error_sections.py.jinja",
                sources=("errors.json",),
                root=contract.error_root,
                rows=rows,
            )
        }
    return {}


def _find_children(
    contract: Contract, parent: str, depth: int = 1
) -> Iterator[tuple[ErrorDefinition, int]]:
    """Yield the errors below one, depth first, each with its depth."""
    for row in contract.errors:
        if row.parent == parent:
            yield row, depth
            yield from _find_children(contract, row.name, depth + 1)


def _error_row(row: ErrorDefinition, canonical: str) -> Mapping[str, object]:
    plain = row.columns[canonical]
    others = {name: columns for name, columns in row.columns.items() if columns != plain}
    return {
        "name": row.name,
        "columns": _columns(plain, row.message),
        "others": {name: _columns(columns, row.message) for name, columns in others.items()},
    }


def _columns(columns: Mapping[str, Json], message: str) -> Code:
    """Return the columns of an error that have a value; a text only where it differs from the
    error's own.
    """
    said = {
        name: value
        for name, value in columns.items()
        if value is not None and (name, value) != ("message", message)
    }
    return Code(", ".join(f"{name}={literal(value)}" for name, value in said.items()))


def _dialects(contract: Contract) -> bytes:
    return render(
        "dialects.py.jinja",
        sources=("dialects.json",),
        canonical=contract.canonical,
        dialects=contract.dialects,
        bases={dialect.name: tuple(list_bases(contract, dialect)) for dialect in contract.dialects},
        parameters=contract.parameters,
        reserved_tenants=contract.reserved_tenants,
    )


def _extensions(contract: Contract) -> dict[str, bytes]:
    if not contract.extensions:
        return {}
    rows = [{"row": row, "constant": field_name(row.name).upper()} for row in contract.extensions]
    files = [row.place.file for row in contract.extensions]
    return {
        "extension_table.py": render(
            "extension_table.py.jinja", sources=files, extensions=rows, folder=EXTENSIONS_FOLDER
        )
    }


def _operations(contract: Contract) -> bytes:
    return render(
        "operations.py.jinja",
        sources=("operations.json",),
        operations=[_operation(each) for each in contract.operations],
    )


def _operation(operation: OperationRow) -> Mapping[str, object]:
    return {
        "row": operation,
        "constant": operation.python.upper(),
        "calls": [{"dialect": call.dialect, "arguments": _call(call)} for call in operation.calls],
    }


def _call(call: OperationCall) -> Code:
    said: Mapping[str, Json] = {"method": call.method, "aliases": call.aliases, "grpc": call.grpc}
    arguments = [f"{name}={literal(value)}" for name, value in said.items() if value]
    if call.http:
        paths = "".join(
            f"HttpCall({literal(path.method)}, {literal(_PATTERN.sub('}', path.path))}), "
            for path in call.http
        )
        arguments.append(f"http=({paths})")
    return Code(", ".join(arguments))
