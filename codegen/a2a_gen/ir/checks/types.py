"""Names of types and members, which become names in Python."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.ir import names
from a2a_gen.ir.checks.repeats import repeats
from a2a_gen.ir.model import Contract, Enumeration, EnumValue, Family, Field, NamedType, Record
from a2a_gen.problems import Place, Problem


def names_clash(contract: Contract) -> Iterator[Problem]:
    """Two things of one dialect may not have one name in Python, nor names that only differ in capitals."""
    for dialect in dict.fromkeys(family.dialect for family in contract.families):
        yield from _modules([family for family in contract.families if family.dialect == dialect])
        yield from _types(list(contract.types(dialect)))
        for named in contract.types(dialect):
            yield from _members(named)


def _modules(families: list[Family]) -> Iterator[Problem]:
    for later, first in repeats(families, lambda family: family.module.casefold()):
        yield Problem(Place(later.file), "A2A-C02", f"{later.file} and {first.file} become one module {first.module}", "rename one of the two files")


def _types(types: list[NamedType]) -> Iterator[Problem]:
    for later, first in repeats(types, lambda named: named.name.casefold()):
        text = f"{later.name} and {first.name} of {first.place.file} become one name in Python or in its documentation"
        yield Problem(later.place, "A2A-C03", text, "rename one of the two types; all files of a dialect share their names")
    for named in types:
        if not names.is_class_name(named.name):
            yield Problem(named.place, "A2A-C04", f"{named.name} cannot be the name of a class", "use letters and digits, beginning with a capital")


def _members(named: NamedType) -> Iterator[Problem]:
    if isinstance(named, Record):
        for later, first in repeats(named.fields, _python_name):
            text = f"members {later.wire} and {first.wire} of {named.name} both become {first.python} in Python"
            yield Problem(later.place, "A2A-C05", text, "rename one of the two, or write the older spelling into x-a2a-aliases of the other")
    if isinstance(named, Enumeration):
        for value, known in repeats(named.values, _python_value):
            text = f"values {value.wire} and {known.wire} of {named.name} both become {known.python} in Python"
            yield Problem(named.place, "A2A-C06", text, "give them different names in x-enum-varnames")


def _python_name(field: Field) -> str:
    return field.python


def _python_value(value: EnumValue) -> str:
    return value.python


def dialects_and_folders(contract: Contract) -> Iterator[Problem]:
    """Every folder of types belongs to a dialect, and every dialect has its folder."""
    known = {dialect.name for dialect in contract.dialects}
    folders = {family.dialect for family in contract.families}
    for family in contract.families:
        if family.dialect not in known:
            cure = f"move the file to the folder of a dialect, or add the dialect {family.dialect} to dialects.json"
            yield Problem(Place(family.file), "A2A-C07", f"the folder {family.dialect} belongs to no dialect", cure)
    for dialect in contract.dialects:
        if dialect.name not in folders:
            yield Problem(
                dialect.place, "A2A-C08", f"dialect {dialect.name} has no types", f"write the files of types into the folder {dialect.name}"
            )
