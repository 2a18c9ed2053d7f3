"""Generated Python: names that users' code has, compared in the intermediate form. Other rules say in their third level what they do to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.diff.change import Change
from a2a_gen.diff.rules.rule import SAME, Rule, rule
from a2a_gen.ir.model import Contract, Enumeration, NamedType, Record
from a2a_gen.problems import Place

NAME_CHANGED = rule("A2A101 python-name-changed", "source none - - E", "{name} is {new} in Python, and was {old}", mirror=SAME)
TYPE_CHANGED = rule("A2A102 python-type-changed", "source none - - E", "{name} is generated as {new}, and was {old}", mirror=SAME)
PROTOCOL_CHANGED = rule("A2A103 handler-protocol-changed", "source none - - E", "the method {name} went from {old} to {new}", mirror=SAME)
CLIENT_CHANGED = rule("A2A104 client-method-changed", "source none - - W", "{name} needs the capability {new}, and needed {old}", mirror=SAME)

RULES = (NAME_CHANGED, TYPE_CHANGED, PROTOCOL_CHANGED, CLIENT_CHANGED)


def compare_python(old: Contract, new: Contract) -> Iterator[Change]:
    """Compare what users' code calls."""
    before, after = _types(old), _types(new)
    for key, type_ in after.items():
        if key in before:
            yield from _type(before[key], type_)
    methods = {operation.name: operation for operation in old.operations}
    for operation in new.operations:
        was = methods.get(operation.name)
        if was is None:
            continue
        signatures = [f"{each.python}({each.request}) -> {each.response}" for each in (was, operation)]
        if signatures[0] != signatures[1]:
            yield _change(PROTOCOL_CHANGED, was.place, operation.place, operation.name, *signatures)
        if was.capability != operation.capability:
            yield _change(CLIENT_CHANGED, was.place, operation.place, operation.name, str(was.capability), str(operation.capability))


def _types(contract: Contract) -> Mapping[tuple[str, str], NamedType]:
    return {(family.dialect, type_.name): type_ for family in contract.families for type_ in family.types}


def _type(old: NamedType, new: NamedType) -> Iterator[Change]:
    kinds = [type(each).__name__.lower() for each in (old, new)]
    if kinds[0] != kinds[1]:
        yield _change(TYPE_CHANGED, old.place, new.place, new.name, *kinds)
    if isinstance(old, Record) and isinstance(new, Record):
        for field in new.fields:
            was = old.field(field.wire)
            if was is not None and was.python != field.python:
                yield _change(NAME_CHANGED, was.place, field.place, f"{new.name}.{field.wire}", was.python, field.python)
    if isinstance(old, Enumeration) and isinstance(new, Enumeration):
        words = {value.wire: value.python for value in old.values}
        for value in new.values:
            if words.get(value.wire, value.python) != value.python:
                yield _change(NAME_CHANGED, old.place, new.place, f"{new.name}: {value.wire}", words[value.wire], value.python)


def _change(found: Rule, old: Place, new: Place, *words: str) -> Change:
    name, before, after = words
    said = (("name", name), ("new", after), ("old", before))
    return Change(found, (old.file, old.pointer), (new.file, new.pointer), said)
