"""Generated Python: names that user code depends on, compared in the intermediate
representation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, ChangeRule, define_rule
from a2a_gen.ir.model import Contract, Enumeration, Record, TypeDefinition
from a2a_gen.problems import Place

NAME_CHANGED = define_rule(
    "A2A101 python-name-changed",
    "source none - - E",
    "the Python name of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
TYPE_CHANGED = define_rule(
    "A2A102 python-type-changed",
    "source none - - E",
    "the Python type of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
PROTOCOL_CHANGED = define_rule(
    "A2A103 handler-protocol-changed",
    "source none - - E",
    "the method {name} changed from {old} to {new}",
    mirror=ITSELF,
)
CLIENT_CHANGED = define_rule(
    "A2A104 client-method-changed",
    "source none - - W",
    "the capability required by {name} changed from {old} to {new}",
    mirror=ITSELF,
)

RULES = (NAME_CHANGED, TYPE_CHANGED, PROTOCOL_CHANGED, CLIENT_CHANGED)


def compare_python(old: Contract, new: Contract) -> Iterator[SchemaChange]:
    """Compare generated names and signatures."""
    before = _index_types(old)
    after = _index_types(new)
    for key, type_ in after.items():
        if key in before:
            yield from _compare_type(before[key], type_)
    methods = {operation.name: operation for operation in old.operations}
    for operation in new.operations:
        was = methods.get(operation.name)
        if was is None:
            continue
        signatures = [
            f"{each.python}({each.request}) -> {each.response}" for each in (was, operation)
        ]
        if signatures[0] != signatures[1]:
            yield _build_change(
                PROTOCOL_CHANGED, was.place, operation.place, operation.name, *signatures
            )
        if was.capability != operation.capability:
            yield _build_change(
                CLIENT_CHANGED,
                was.place,
                operation.place,
                operation.name,
                str(was.capability),
                str(operation.capability),
            )


def _index_types(contract: Contract) -> Mapping[tuple[str, str], TypeDefinition]:
    types: dict[tuple[str, str], TypeDefinition] = {}
    for family in contract.families:
        types |= {(family.dialect, type_.name): type_ for type_ in family.types}
    return types


def _compare_type(old: TypeDefinition, new: TypeDefinition) -> Iterator[SchemaChange]:
    kinds = [type(each).__name__.lower() for each in (old, new)]
    if kinds[0] != kinds[1]:
        yield _build_change(TYPE_CHANGED, old.place, new.place, new.name, *kinds)
    if isinstance(old, Record) and isinstance(new, Record):
        for field in new.fields:
            was = old.field(field.wire)
            if was is not None and was.python != field.python:
                yield _build_change(
                    NAME_CHANGED,
                    was.place,
                    field.place,
                    f"{new.name}.{field.wire}",
                    was.python,
                    field.python,
                )
    if isinstance(old, Enumeration) and isinstance(new, Enumeration):
        names = {value.wire: value.python for value in old.values}
        for value in new.values:
            if names.get(value.wire, value.python) != value.python:
                yield _build_change(
                    NAME_CHANGED,
                    old.place,
                    new.place,
                    f"{new.name}: {value.wire}",
                    names[value.wire],
                    value.python,
                )


def _build_change(rule: ChangeRule, old: Place, new: Place, *arguments: str) -> SchemaChange:
    name, before, after = arguments
    return SchemaChange(
        rule,
        (old.file, old.pointer),
        (new.file, new.pointer),
        (("name", name), ("new", after), ("old", before)),
    )
