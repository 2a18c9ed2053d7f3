"""What tells the branches of a union apart.

A tag is a property that every branch requires with a constant of its own. Reading by the tag is quicker than trying the branches, and gives one error
at one place instead of one per branch. Without a tag, branches are told apart by a member that only one of them requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from a2a_gen.ir.model import Alias, Constant, Family, NamedType, OneOf, Record, Ref, TypeExpr


def tagged(family: Family, families: tuple[Family, ...]) -> Family:
    """Set the tag of every union of a family that has one."""
    types: dict[str, NamedType] = {named.name: named for each in families if each.dialect == family.dialect for named in each.types}
    return replace(family, types=tuple(_tagged(named, types) for named in family.types))


def _tagged(named: NamedType, types: Mapping[str, NamedType]) -> NamedType:
    if not isinstance(named, Alias):
        return named
    records = branches(named.type, types)
    return replace(named, tag=tag_of(records)) if records else named


def branches(of: TypeExpr, types: Mapping[str, NamedType]) -> tuple[Record, ...] | None:
    """Find the records that a union is made of; nothing when it is no union of records."""
    if not isinstance(of, OneOf):
        return None
    named = tuple(types.get(option.name) if isinstance(option, Ref) else None for option in of.options)
    records = tuple(each for each in named if isinstance(each, Record))
    return records if len(records) == len(of.options) else None


def tag_of(records: tuple[Record, ...]) -> str | None:
    """Find the property that has another constant in every record."""
    for field in records[0].fields:
        constants = [_constant(record, field.wire) for record in records]
        known = {constant.value for constant in constants if constant is not None}
        if len(known) == len(records):
            return field.wire
    return None


def are_told_apart(records: tuple[Record, ...]) -> bool:
    """Whether each record requires a member that no other record has."""
    for record in records:
        others = {field.wire for other in records if other is not record for field in other.fields}
        if not any(field.required and field.wire not in others for field in record.fields):
            return False
    return True


def _constant(record: Record, wire: str) -> Constant | None:
    field = record.field(wire)
    return field.type if field is not None and field.required and isinstance(field.type, Constant) else None
