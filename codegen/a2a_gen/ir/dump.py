"""Intermediate representation as JSON, for readers and for a golden test.

A value is an object of its fields with its class in ``is``; empty fields are left out, places are
text, and the order is that of the contract.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum

from a2a_gen.ir.model import Contract
from a2a_gen.ir.types import Family
from a2a_gen.problems import Place


def to_json(value: Contract | Family) -> bytes:
    """Serialize a contract, or one file of its types, as readable JSON, equal on every machine."""
    return json.dumps(value, default=to_json_value, ensure_ascii=False, indent=2).encode() + b"\n"


def to_json_value(value: object) -> object:
    """Convert a value of a representation to JSON: an argument of ``json.dumps``."""
    match value:
        case Place():
            return str(value)
        case Enum():
            return value.value
        case bytes():
            return f"{len(value)} bytes"
        case _:
            pass
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is not a type of the intermediate representation")
    members = {field.name: getattr(value, field.name) for field in fields(value)}
    return {"is": type(value).__name__} | {
        name: each for name, each in members.items() if each not in (None, "", b"", (), {})
    }
