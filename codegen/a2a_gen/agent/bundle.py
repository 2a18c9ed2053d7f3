"""One schema for each thing that crosses the boundary: what its author wrote, word for word, with everything that it refers to inside.

Only references change: they lead to definitions of the same document. So a validator that knows nothing of the project says the same as one that has
all of its files.
"""

from __future__ import annotations

import json

from a2a_gen.agent import keywords
from a2a_gen.agent.catalogue import Catalogue
from a2a_gen.agent.library import Target
from a2a_gen.source.json_text import Json
from a2a_gen.source.schemas import PROTOCOL

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAMES = frozenset({"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})
_OLD = ("draft-07", "draft-06", "draft-04")


def bundle(root: Target, catalogue: Catalogue, identifier: str) -> bytes:
    """Write the schema of a target."""
    library = catalogue.library
    document = library.value(Target(root.file))
    draft = keywords.text(document, "$schema") or DRAFT
    holder = "definitions" if any(old in draft for old in _OLD) else "$defs"
    used: dict[Target, str] = {}
    schema = _inside(library.value(root), root, catalogue, (holder, used))
    definitions: dict[str, Json] = {}
    while missing := [target for target in used if used[target] not in definitions]:
        for target in missing:
            definitions[used[target]] = _inside(library.value(target), target, catalogue, (holder, used))
    own = keywords.text(library.value(root), "$id")
    head: dict[str, Json] = {"$schema": draft, "$id": own if "://" in own or own.startswith("urn:") else identifier}
    body: dict[str, Json] = schema if isinstance(schema, dict) else {"allOf": [schema]}
    if root.pointer and "title" not in body:  # who has only this document is to call the type as we do
        body = {"title": catalogue.names[root], **body}
    if "$ref" in body:  # in old drafts it would push the rest aside
        body = {"allOf": [body]}
    if definitions:
        body = {**body, holder: dict(sorted(definitions.items()))}
    return f"{json.dumps({**head, **body}, indent=2, ensure_ascii=False)}\n".encode()


def _inside(value: Json, place: Target, catalogue: Catalogue, into: tuple[str, dict[Target, str]]) -> Json:
    """Copy a schema, with its references leading to definitions that are noted in ``used``."""
    if not isinstance(value, dict):
        return value
    parts = dict(keywords.parts(value))
    made: dict[str, Json] = {}
    for keyword, each in value.items():
        if keyword in keywords.REFERENCES and isinstance(each, str):
            made["$ref"] = _local(each, place, catalogue, into)
        elif keyword not in _NAMES and keyword not in keywords.HOLDERS:
            made[keyword] = each
    for pointer, part in parts.items():
        steps = pointer.split("/")[1:]
        copied = _inside(part, Target(place.file, place.pointer + pointer), catalogue, into)
        _put(made, steps, copied)
    return made


def _put(made: dict[str, Json], steps: list[str], part: Json) -> None:
    keyword, key = steps[0], steps[1].replace("~1", "/").replace("~0", "~") if len(steps) > 1 else None
    holder = made[keyword]
    if key is None:
        made[keyword] = part
    elif isinstance(holder, dict):
        made[keyword] = {**holder, key: part}
    elif isinstance(holder, list):
        made[keyword] = [part if index == int(key) else each for index, each in enumerate(holder)]


def _local(text: str, place: Target, catalogue: Catalogue, into: tuple[str, dict[Target, str]]) -> str:
    holder, used = into
    target = catalogue.follow(place, text)
    if target is None:
        return text
    if target not in used:
        wanted = target.pointer.rpartition("/")[2] if target.file.startswith(PROTOCOL) else catalogue.names[target]
        used[target] = wanted if wanted not in used.values() else f"{wanted}{len(used)}"
    return f"#/{holder}/{used[target]}"
