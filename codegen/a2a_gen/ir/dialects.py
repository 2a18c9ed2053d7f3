"""From ``dialects.json`` to dialects with their translations as the table gives them; what follows from equal names is found by the emitter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from a2a_gen.ir import names
from a2a_gen.ir.model import Dialect, Json, Loss, Parameter, Rule, Translation
from a2a_gen.ir.node import Node

_MEMBER = re.compile(r"\{(\w+)\}")
_TYPED = frozenset({"name", "title", "description", "version", "form_of", "enums", "wrappers", "types", "lossy"})
_NOT_ARGUMENT = frozenset({"rule", "ours", "with"})


def dialects(table: Node) -> Iterator[Dialect]:
    """Read the dialects."""
    for row in table["dialects"].items():
        yield Dialect(
            name=row["name"].text(),
            title=row["title"].text(),
            description=row["description"].text(),
            version=row["version"].optional_text(),
            form_of=row["form_of"].optional_text(),
            facts={key: each.frozen() for key, each in row.members() if key not in _TYPED},
            enums={name: words.words() for name, words in row["enums"].members()},
            wrappers=row["wrappers"].words(),
            translations=tuple(map(_translation, row["types"].items())),
            lossy=tuple(map(_loss, row["lossy"].items())),
            place=row.place,
        )


def parameters(table: Node) -> Iterator[Parameter]:
    """Read what clients say in headers."""
    for name, row in table["parameters"].members():
        yield Parameter(names.field_name(name), row["headers"].texts(), row["description"].text())


def _translation(row: Node) -> Translation:
    theirs = row["theirs"].text()
    fresh = (Rule("fresh", (), (path,)) for path in row["fresh"].texts())
    rules = (*map(_member, row["members"].members()), *map(_branch, row["union"].members()), *fresh)
    return Translation(theirs, row["ours"].text(theirs), rules, row.place)


def _member(item: tuple[str, Node]) -> Rule:
    theirs, row = item
    if not isinstance(row.data, dict):
        return Rule("rename", (theirs,), _texts(row))
    argument: Mapping[str, Json] = {key: each.frozen() for key, each in row.members() if key not in _NOT_ARGUMENT}
    made_of = tuple(_MEMBER.findall(row["template"].text()))
    return Rule(row["rule"].text(), (theirs, *row["with"].texts()), _texts(row["ours"]) or made_of, argument)


def _texts(row: Node) -> tuple[str, ...]:
    return (row.data,) if isinstance(row.data, str) else row.texts()


def _branch(item: tuple[str, Node]) -> Rule:
    theirs, ours = item
    return Rule("branch", (theirs,), (ours.data,)) if isinstance(ours.data, str) else Rule("flat", (theirs,), ours.texts())


def _loss(row: Node) -> Loss:
    return Loss(row["type"].text(), row["member"].text(), row["direction"].text(), row["reason"].text(), row.place)
