"""The schemas of the contract for whoever has only the package: per dialect one JSON document that refers to nothing outside itself."""

from __future__ import annotations

import json
from collections.abc import Mapping

from a2a_gen.emit.render import header
from a2a_gen.ir.model import Contract, Dialect
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json

_PROJECT = "meta/project.schema.json"


def emit(contract: Contract, documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Write the bundles, and the form of a user's project where the contract has one."""
    bundles = {f"schemas/{dialect.name}.json": _bundle(contract, dialect, documents) for dialect in contract.dialects}
    project = documents.get(_PROJECT)
    return bundles if project is None else {**bundles, "schemas/project.json": _written(project.data)}


def _bundle(contract: Contract, dialect: Dialect, documents: Mapping[str, Document]) -> bytes:
    files = sorted(family.file for family in contract.families if family.dialect == dialect.name)
    definitions = {name: _inside(schema) for file in files for name, schema in _definitions(documents[file].data).items()}
    document: dict[str, Json] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": header(files).removeprefix("# "),
        "title": dialect.title,
        "description": dialect.description,
        "$defs": dict(sorted(definitions.items())),
    }
    return _written(document)


def _written(document: Json) -> bytes:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def _definitions(data: Json) -> Mapping[str, Json]:
    definitions = data.get("$defs") if isinstance(data, dict) else None
    return definitions if isinstance(definitions, dict) else {}


def _inside(value: Json) -> Json:
    """Make every reference to another file of the dialect one to the same document: names are unique within a dialect."""
    if isinstance(value, list):
        return [_inside(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: f"#{each.partition('#')[2]}" if key == "$ref" and isinstance(each, str) else _inside(each) for key, each in value.items()}
