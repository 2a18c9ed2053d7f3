"""Rules about members and unions: required members, groups, and defaults of readers."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.ir import build
from a2a_gen.ir.types import Alias, Enumeration, Field, OneOf, Record, Ref, TypeDefinition, TypeExpr
from a2a_gen.lint.rule import LintContext
from a2a_gen.problems import Place, Violation
from a2a_gen.source.json_text import Json


def find_ambiguous_unions(context: LintContext) -> Iterator[Violation]:
    """Find unions whose branches cannot be distinguished."""
    for dialect in dict.fromkeys(family.dialect for family in context.contract.families):
        types: dict[str, TypeDefinition] = {
            type_.name: type_ for type_ in context.contract.types(dialect)
        }
        for place, of in _iter_unions(types):
            records = build.branches(of, types)
            if (
                records
                and build.find_tag(records) is None
                and not build.are_distinguishable(records)
            ):
                yield (
                    place,
                    f"{' and '.join(record.name for record in records)} cannot be distinguished",
                )


def _iter_unions(types: dict[str, TypeDefinition]) -> Iterator[tuple[Place, TypeExpr]]:
    for type_ in types.values():
        if isinstance(type_, Alias):
            yield type_.place, type_.type
        if isinstance(type_, Record):
            yield from ((field.place, field.type) for field in type_.fields)


def find_mixed_unions(context: LintContext) -> Iterator[Violation]:
    """Find unions that mix named types with unnamed ones."""
    for family in context.contract.families:
        types: dict[str, TypeDefinition] = {type_.name: type_ for type_ in family.types}
        for place, of in _iter_unions(types):
            if (
                isinstance(of, OneOf)
                and len({isinstance(option, Ref) for option in of.options}) > 1
            ):
                yield place, "a union mixes named and unnamed types"


def find_presence_violations(context: LintContext) -> Iterator[Violation]:
    """Find ``oneOf`` groups of members without a name or with an unknown member."""
    for document, schema in context.iter_schemas():
        branches = schema.members.get("oneOf") if "properties" in schema.members else None
        group = schema.members.get("x-a2a-oneof")
        if isinstance(branches, list) and not group:
            yield (
                document.place_at(f"{schema.pointer}/oneOf"),
                "the oneOf group of members has no name",
            )
        if group and not isinstance(branches, list):
            yield (
                document.place_at(f"{schema.pointer}/x-a2a-oneof"),
                f"the group {group} has no oneOf with its members",
            )
        if "anyOf" in schema.members:
            yield (
                document.place_at(f"{schema.pointer}/anyOf"),
                "anyOf allows several branches at once",
            )
    for _, record in context.iter_records():
        for member in record.choice.members if record.choice else ():
            if record.field(member) is None:
                yield (
                    record.place,
                    (
                        f"the group {record.choice.name if record.choice else ''} has a member "
                        f"{member}, missing in {record.name}"
                    ),
                )


def find_unknown_required_members(context: LintContext) -> Iterator[Violation]:
    """Find required members that do not exist."""
    for document, schema in context.iter_schemas():
        if "properties" in schema.members:
            for name in _collect_names(schema.members.get("required")) - _collect_names(
                schema.members["properties"]
            ):
                yield (
                    document.place_at(f"{schema.pointer}/required"),
                    f"the required member {name} does not exist",
                )


def find_needless_read_defaults(context: LintContext) -> Iterator[Violation]:
    """Find ``x-a2a-read`` entries of members that are not required."""
    for document, schema in context.iter_schemas():
        missing = _collect_names(schema.members.get("x-a2a-read")) - _collect_names(
            schema.members.get("required")
        )
        missing.discard(str(schema.members.get("x-a2a-oneof")))
        for name in missing:
            yield (
                document.place_at(f"{schema.pointer}/x-a2a-read/{name}"),
                f"{name} is not required, so readers need no default",
            )


def find_ambiguous_aliases(context: LintContext) -> Iterator[Violation]:
    """Find aliases that stand for two members."""
    for _, record in context.iter_records():
        taken = {field.wire: field for field in record.fields}
        for field in record.fields:
            for alias in field.aliases:
                if taken.setdefault(alias, field) is not field or alias == field.wire:
                    yield (
                        field.place,
                        f"the alias {alias} of {field.wire} also belongs to {taken[alias].wire}",
                    )


def find_enum_name_mismatches(context: LintContext) -> Iterator[Violation]:
    """Find enumerations with more or fewer names than values."""
    for document, schema in context.iter_schemas():
        values = schema.members.get("enum")
        names = schema.members.get("x-enum-varnames")
        if isinstance(values, list) and isinstance(names, list) and len(values) != len(names):
            yield (
                document.place_at(f"{schema.pointer}/x-enum-varnames"),
                f"the enumeration has {len(values)} values, but {len(names)} names",
            )


def find_missing_proto_numbers(context: LintContext) -> Iterator[Violation]:
    """Find members and values without a number, in a dialect that numbers them."""
    numbering: set[str] = set()
    for dialect, record in context.iter_records():
        if any(field.proto for field in record.fields):
            numbering.add(dialect)
    for family in context.contract.families:
        for type_ in family.types if family.dialect in numbering else ():
            if isinstance(type_, Record):
                yield from (
                    (field.place, f"{type_.name}.{field.wire} has no x-proto number")
                    for field in type_.fields
                    if _get_number(field) is None
                )
            if isinstance(type_, Enumeration):
                unnumbered = (value for value in type_.values if value.number is None)
                yield from (
                    (type_.place, f"{value.wire} of {type_.name} has no number in x-proto")
                    for value in unnumbered
                )


def find_duplicate_proto_numbers(context: LintContext) -> Iterator[Violation]:
    """Find numbers that two members or values of one type share."""
    for family in context.contract.families:
        for type_ in family.types:
            seen: dict[int, str] = {}
            for place, name, number in _iter_numbers(type_):
                if seen.setdefault(number, name) != name:
                    yield (
                        place,
                        f"{name} and {seen[number]} of {type_.name} share the number {number}",
                    )


def _iter_numbers(type_: TypeDefinition) -> Iterator[tuple[Place, str, int]]:
    if isinstance(type_, Record):
        for field in type_.fields:
            number = _get_number(field)
            if number is not None:
                yield field.place, field.wire, number
    if isinstance(type_, Enumeration):
        yield from (
            (type_.place, value.wire, value.number)
            for value in type_.values
            if value.number is not None
        )


def _get_number(field: Field) -> int | None:
    number = field.proto.get("number") if field.proto else None
    if isinstance(number, int):
        return number
    return None


def _collect_names(data: Json | None) -> set[str]:
    if isinstance(data, list | dict):
        return {name for name in data if isinstance(name, str)}
    return set()
