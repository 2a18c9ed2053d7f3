"""Equality of JSON values, by canonical text."""

from __future__ import annotations

import json

from a2a_gen.source.json_text import Json


def to_key(value: Json) -> str:
    """Return a text that is equal for two JSON values exactly if JSON Schema treats them as equal
    (1 equals 1.0, not true).
    """
    return json.dumps(_normalize(value), sort_keys=True, ensure_ascii=False)


def _normalize(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_normalize(each) for each in value]
        case dict():
            return {name: _normalize(each) for name, each in value.items()}
        case _:
            return value
