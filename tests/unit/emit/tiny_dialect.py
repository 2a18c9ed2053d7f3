"""A contract of two dialects with one type each, to see what becomes of one rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from a2a_gen.emit import translations
from a2a_gen.ir.build import build_contract
from a2a_gen.ir.model import Contract
from a2a_gen.source.documents import load_documents

Schema = Mapping[str, object]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
OBJECT: Schema = {"type": "object"}
TIME: Schema = {"type": "string", "format": "date-time"}
BYTES: Schema = {"type": "string", "contentEncoding": "base64"}

STATE = {
    "description": "A state.",
    "type": "string",
    "enum": ["STATE_NONE", "STATE_BUSY", "STATE_OVER"],
    "x-enum-varnames": ["NONE", "BUSY", "OVER"],
    "x-extensible-enum": True,
}
THEIR_STATE = {
    "description": "A state.",
    "type": "string",
    "enum": ["busy", "over"],
    "x-extensible-enum": True,
}
STATES = [("BUSY", "active", "busy"), ("OVER", "terminal", "over")]
LIFECYCLE = {
    "description": "States.",
    "type": "State",
    "initial": "BUSY",
    "unknown": {"description": "Another.", "spellings": {"ours": "STATE_NONE"}},
    "states": [
        {
            "name": name,
            "kind": kind,
            "description": "A state.",
            "accepts_messages": True,
            "cancelable": True,
            "spellings": {"ours": f"STATE_{name}", "theirs": word},
            "next": ["OVER"] if name == "BUSY" else [],
        }
        for name, kind, word in STATES
    ],
}
CALL = {"request": "Thing"}
OPERATIONS = {
    "description": "Operations.",
    "operations": [
        {
            "name": "Do",
            "description": "Do.",
            "request": "Thing",
            "response": None,
            "dialects": {"ours": CALL, "theirs": CALL},
        }
    ],
}


def record(properties: Schema, **more: object) -> dict[str, object]:
    """Write the schema of a record."""
    return {"description": "A record.", "type": "object", "properties": dict(properties), **more}


def contract(folder: Path, theirs: Schema, ours: Schema, dialect: Schema) -> Contract:
    """Build a contract whose dialects have these types, by name; ``dialect`` is what the table says
    of theirs.
    """
    rows = [
        {"name": "ours", "title": "Ours", "description": "Ours."},
        {"name": "theirs", "title": "Theirs", "description": "Theirs.", **dialect},
    ]
    tree = {
        "theirs/thing.json": {"description": "Things.", "$defs": {"State": THEIR_STATE, **theirs}},
        "ours/thing.json": {"description": "Things.", "$defs": {"State": STATE, **ours}},
        "operations.json": OPERATIONS,
        "errors.json": {"description": "Errors.", "domain": "example.org", "errors": []},
        "lifecycle.json": LIFECYCLE,
        "dialects.json": {
            "description": "Dialects.",
            "canonical": "ours",
            "parameters": {},
            "dialects": rows,
        },
    }
    for name, document in tree.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(document, indent=1), encoding="utf-8")
    return build_contract(load_documents(folder))


def bodies(made: Contract) -> dict[str, list[str]]:
    """Print the bodies of all functions, by name."""
    text = translations.emit(made)["translate/theirs/thing.py"].decode()
    printed: dict[str, list[str]] = {}
    for block in text.split("\ndef ")[1:]:
        head, _, rest = block.partition("\n")
        printed[head.partition("(")[0]] = [
            line[4:] for line in rest.splitlines()[1:] if line.strip()
        ]
    return printed
