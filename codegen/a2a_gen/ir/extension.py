"""Extension of a dialect by a later version that adds members and removes nothing.

The types of the later version are those of the older one, except for the changed ones: with a new
member, or with a member of a changed type. A document of a changed type is one of the older type
too, because readers ignore members that they do not know. So nothing has to be translated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from a2a_gen.ir.model import (
    Alias,
    Contract,
    ContractDialect,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Record,
    Ref,
    TypeDefinition,
    TypeExpr,
)
from a2a_gen.problems import Place, Problem

_NOWHERE = Place("")


def list_bases(contract: Contract, dialect: ContractDialect) -> Iterator[str]:
    """List the dialects that a dialect extends, the nearest one first."""
    base = contract.dialect(dialect.extends) if dialect.extends else None
    if base is not None and base is not dialect:
        yield base.name
        yield from list_bases(contract, base)


def is_translated(contract: Contract, dialect: str) -> bool:
    """Return whether the types of a dialect have to be translated to the canonical ones: they are
    neither those nor extensions of them.
    """
    table = contract.dialect(dialect)
    if table is not None and table.extends is not None:
        return is_translated(contract, table.extends)
    return dialect != contract.canonical


def find_changed_types(contract: Contract, dialect: ContractDialect) -> frozenset[str]:
    """Return the names of the types of an extending dialect that are new or changed."""
    known = {each.name: _to_shape(each) for each in contract.types(dialect.extends or "")}
    types = tuple(contract.types(dialect.name))
    changed = frozenset(each.name for each in types if known.get(each.name) != _to_shape(each))
    while more := frozenset(
        each.name
        for each in types
        if each.name not in changed and not changed.isdisjoint(_list_references(each))
    ):
        changed |= more
    return changed


def find_changed_fields(
    contract: Contract, dialect: ContractDialect, record: Record, changed: frozenset[str]
) -> frozenset[str]:
    """Return the Python names of the members of a changed record that the older version does not
    have, or has with another type.
    """
    known = contract.type(dialect.extends or "", record.name)
    older = {each.wire: each.type for each in known.fields} if isinstance(known, Record) else {}
    return frozenset(
        each.python
        for each in record.fields
        if older.get(each.wire) != each.type or not changed.isdisjoint(_list_names(each.type))
    )


def _to_shape(definition: TypeDefinition) -> TypeDefinition:
    """Remove from a type what does not change its model: places, descriptions and deprecations."""
    bare = replace(definition, place=_NOWHERE, description="")
    if isinstance(bare, Record):
        return replace(
            bare,
            fields=tuple(
                replace(each, place=_NOWHERE, description="", deprecated=False)
                for each in bare.fields
            ),
        )
    return bare


def _list_references(definition: TypeDefinition) -> Iterator[str]:
    if isinstance(definition, Record):
        for field in definition.fields:
            yield from _list_names(field.type)
    elif isinstance(definition, Alias):
        yield from _list_names(definition.type)


def _list_names(of: TypeExpr) -> Iterator[str]:
    match of:
        case Ref(name):
            yield name
        case ListOf(item):
            yield from _list_names(item)
        case MapOf(value):
            yield from _list_names(value)
        case OneOf(options):
            for option in options:
                yield from _list_names(option)
        case _:
            return


# --- checks ---


def check_extensions(contract: Contract) -> Iterator[Problem]:
    """Check that a dialect extends one that is listed above it, with its protocol buffers, and
    removes nothing of it.
    """
    above: list[str] = []
    for dialect in contract.dialects:
        if dialect.extends is not None:
            if dialect.extends not in above:
                text = f"{dialect.name} extends {dialect.extends}, which is not listed above it"
                yield Problem(
                    dialect.place,
                    "A2A-C53",
                    text,
                    f"list it above, or use one of {', '.join(above) or 'the dialects above'}",
                )
            else:
                yield from _check_kept(contract, dialect, dialect.extends)
        above.append(dialect.name)


def _check_kept(contract: Contract, dialect: ContractDialect, base: str) -> Iterator[Problem]:
    if dialect.version is None or dialect.form_of is not None or dialect.translations:
        text = (
            f"{dialect.name} extends {base}, but has no version of its own, or is a form of "
            "another dialect, or has translations"
        )
        yield Problem(
            dialect.place,
            "A2A-C54",
            text,
            "give it a version, and neither form_of nor types; or do not extend",
        )
    for older in contract.types(base):
        newer = contract.type(dialect.name, older.name)
        if newer is None:
            cure = f"write it into {dialect.name}/, or do not extend {base}"
            yield Problem(
                dialect.place, "A2A-C55", f"{dialect.name} has no type {older.name}", cure
            )
        elif not isinstance(older, Record) or not isinstance(newer, Record):
            if _to_shape(older) != _to_shape(newer):
                text = f"{older.name} differs from that of {base}, and only records can be extended"
                yield Problem(newer.place, "A2A-C56", text, "make it equal, or do not extend")
        else:
            yield from _check_members(older, newer, base)


def _check_members(older: Record, newer: Record, base: str) -> Iterator[Problem]:
    if _to_shape(replace(older, fields=())) != _to_shape(replace(newer, fields=())):
        yield Problem(
            newer.place,
            "A2A-C56",
            f"{newer.name} is another kind of record than in {base}",
            "make it equal, or do not extend",
        )
    for field in older.fields:
        found = newer.field(field.wire)
        if found is None or _to_bare(found) != _to_bare(field):
            text = f"{newer.name} has no member {field.wire} as in {base}"
            yield Problem(
                newer.place,
                "A2A-C56",
                text,
                "copy the member from there, with its type, number and defaults",
            )
    for field in newer.fields:
        if older.field(field.wire) is None and field.required:
            text = f"{field.wire} of {newer.name} is required, and {base} does not have it"
            yield Problem(
                field.place,
                "A2A-C56",
                text,
                "make it optional: writers of the older version leave it out",
            )


def _to_bare(field: Field) -> Field:
    return replace(field, place=_NOWHERE, description="", deprecated=False)
