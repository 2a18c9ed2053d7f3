"""When two JSON values are the same."""

from __future__ import annotations

import json

from a2a_gen.source.json_text import Json


def to_key(value: Json) -> str:
    """Name a JSON value: two have one name exactly if JSON Schema takes them for equal (1 is 1.0, and not true)."""
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
