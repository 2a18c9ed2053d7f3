"""Ways to write a random schema: as one file, as two files, or in draft-07.

Each has the same documents, so that the same judge decides about all.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from contract.fuzzing import Json, walk

from a2a_gen.diff.sides import ContractSide
from a2a_gen.source.documents import Document

Spelling: TypeAlias = Callable[[dict[str, Json]], "ContractSide | None"]
"""Writes a schema; ``None`` if it cannot be written so."""

_NEWER = frozenset(
    {
        "$anchor",
        "$dynamicRef",
        "maxContains",
        "minContains",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MAPS = frozenset({"patternProperties", "properties"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_SINGLE = frozenset(
    {"additionalProperties", "contains", "else", "if", "not", "propertyNames", "then"}
)


def write_one_file(schema: dict[str, Json]) -> ContractSide:
    """Write a schema to one file."""
    return _build_side({"schema.json": schema})


def write_two_files(schema: dict[str, Json]) -> ContractSide | None:
    """Write the second definition to a file of its own."""
    if "$dynamicRef" in json.dumps(schema):
        return None
    root = copy.deepcopy(schema)
    second = root["$defs"].pop("two")
    for each in walk(root):
        if isinstance(each, dict) and each.get("$ref") == "#/$defs/two":
            each["$ref"] = "two.json"
    for each in walk(second):
        if isinstance(each, dict) and "$ref" in each:
            each["$ref"] = "#" if each["$ref"] == "#/$defs/two" else f"schema.json{each['$ref']}"
    return _build_side({"schema.json": root, "two.json": second}, entry="schema.json")


def write_draft_7(schema: dict[str, Json]) -> ContractSide | None:
    """Write a schema in draft-07."""
    if any(isinstance(each, dict) and not _can_be_older(each) for each in walk(schema)):
        return None
    return _build_side(
        {
            "schema.json": {
                **_to_draft_7(schema),
                "$schema": "http://json-schema.org/draft-07/schema#",
            }
        }
    )


def _can_be_older(schema: dict[str, Json]) -> bool:
    """Return true if draft-07 has the keywords of a schema, and none stands beside a reference or
    describes the same member twice.
    """
    names = [{*schema.get(word, ())} for word in ("dependentRequired", "dependentSchemas")]
    is_alone = (
        "$ref" not in schema
        or len(schema.keys() - {"description", "title", "default", "deprecated"}) == 1
    )
    return is_alone and _NEWER.isdisjoint(schema) and names[0].isdisjoint(names[1])


def _to_draft_7(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Json] = {}
    for word, value in schema.items():
        if word == "$defs":
            made["definitions"] = {name: _to_draft_7(each) for name, each in value.items()}
        elif word in _MAPS:
            made[word] = {name: _to_draft_7(each) for name, each in value.items()}
        elif word in _LISTS:
            made[word] = [_to_draft_7(each) for each in value]
        elif word == "prefixItems":
            made["items"] = [_to_draft_7(each) for each in value]
        elif word == "items":
            made["additionalItems" if "prefixItems" in schema else "items"] = _to_draft_7(value)
        elif word in {"dependentRequired", "dependentSchemas"}:
            made["dependencies"] = {
                **made.get("dependencies", {}),
                **{name: _to_draft_7(each) for name, each in value.items()},
            }
        elif word == "$ref":
            made[word] = value.replace("#/$defs/", "#/definitions/")
        else:
            made[word] = _to_draft_7(value) if word in _SINGLE else value
    return made


def _build_side(schemas: Mapping[str, Json], entry: str = "") -> ContractSide:
    documents = {
        path: Document(path, json.dumps(schema, indent=1), schema)
        for path, schema in schemas.items()
    }
    return ContractSide(documents, "old", is_plain=True, entry=entry)


SPELLINGS: tuple[Spelling, ...] = (write_one_file, write_two_files, write_draft_7, write_draft_7)
