"""The intermediate form as JSON, for people and for a golden test.

Every value is an object of its dataclass's fields with its class in ``is``, members that are empty are left out, and the order is that of the
contract.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum

from a2a_gen.ir.model import Contract
from a2a_gen.ir.types import Family
from a2a_gen.problems import Place
from a2a_gen.source.json_text import Json


def to_json(shown: Contract | Family) -> bytes:
    """Write a contract, or one file of types, as readable JSON: the same everywhere."""
    return json.dumps(_shown(shown), ensure_ascii=False, indent=2).encode() + b"\n"


def _shown(value: object) -> Json:
    match value:
        case Place():
            return str(value)
        case Enum():
            return str(value.value)
        case bool() | int() | float() | str() | None:
            return value
        case Mapping():
            return {str(key): _shown(each) for key, each in value.items()}
        case tuple():
            return [_shown(each) for each in value]
        case _ if is_dataclass(value):
            shown: dict[str, Json] = {"is": type(value).__name__}
            shown.update((field.name, _shown(getattr(value, field.name))) for field in fields(value))
            return {name: each for name, each in shown.items() if each not in (None, "", [], {})}
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a contract")
