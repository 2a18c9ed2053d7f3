"""What is wrong with the schemas of skills, or works otherwise than it looks."""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema_rs

from a2a_gen.agent import keywords
from a2a_gen.agent.library import Library, Target
from a2a_gen.problems import Level, Problem
from a2a_gen.source.json_text import Json
from a2a_gen.source.positions import escaped


def check(library: Library) -> Iterator[Problem]:
    """Check every file that was read."""
    for path, document in library.files.items():
        if not document.path.endswith(".toml"):
            yield from _unlawful(library, path, document.data)
            yield from _untyped(library, Target(path), document.data)


def _unlawful(library: Library, path: str, data: Json) -> Iterator[Problem]:
    """Find what is no JSON Schema at all."""
    try:
        jsonschema_rs.meta.validate(data if isinstance(data, dict | bool) else {"type": data})
    except jsonschema_rs.ValidationError as error:
        pointer = "".join(f"/{escaped(str(step))}" for step in error.instance_path)
        text = f"this is no JSON Schema: {error.message[:1].lower()}{error.message[1:]}"
        yield Problem(library.place(Target(path, pointer)), "A2A-K06", text, "write what the draft named under $schema allows")


def _untyped(library: Library, place: Target, schema: Json) -> Iterator[Problem]:
    """Find members of what may not be an object: the schema accepts any other value too, the model does not."""
    if not isinstance(schema, dict):
        return
    parts = dict(keywords.parts(schema))
    if "properties" in schema and "type" not in schema and place.pointer.rpartition("/")[0].rpartition("/")[2] not in _COMBINED:
        where = library.place(place)
        yield Problem(where, "A2A-K07", "this has properties and no type: other values than objects fit it", 'add "type": "object"', Level.WARNING)
    for holder in keywords.HOLDERS:
        parts |= {f"/{holder}/{escaped(name)}": each for name, each in keywords.members(schema, holder).items()}
    for pointer, part in parts.items():
        if pointer.split("/")[1] not in {"if", "then", "else", "not", "dependentSchemas", "dependencies"}:
            yield from _untyped(library, Target(place.file, place.pointer + pointer), part)


_COMBINED = ("allOf", "anyOf", "oneOf")
