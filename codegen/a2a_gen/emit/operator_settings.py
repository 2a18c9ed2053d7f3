"""The operator's settings: a frozen dataclass and the table of the documentation, both made from
their schema.

A dataclass, because a process copies its settings when it starts and reads plain attributes
afterwards. Secrets are not in its ``repr``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.emit.render import Code, render
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json

SCHEMA = "meta/settings.schema.json"
PREFIX = "A2A_"
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def emit(documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Emit the module of settings, where the contract has a schema of them."""
    document = documents.get(SCHEMA)
    if document is None:
        return {}
    fields = [
        {"name": name, "type": Code(_python_type(facts)), "row": facts, "default": _default(facts)}
        for name, facts in _settings(document.data)
    ]
    return {
        "operator_settings.py": render(
            "operator_settings.py.jinja", sources=[SCHEMA], fields=fields
        )
    }


def render_table(schema: Json) -> str:
    """Render the settings as rows of a Markdown table: variable, default, description."""
    rows = (
        (
            f"| `{PREFIX}{name.upper()}` | {_render_value(facts['default'])} | "
            f"{facts['description']} |\n"
        )
        for name, facts in _settings(schema)
    )
    return "| name | default | |\n|---|---|---|\n" + "".join(rows)


def _settings(schema: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, facts in properties.items() if isinstance(properties, dict) else ():
        if isinstance(facts, dict):
            yield name, facts


def _python_type(facts: Mapping[str, Json]) -> str:
    items = facts.get("items")
    if isinstance(items, dict):
        return f"tuple[{_python_type(items)}, ...]"
    return _TYPES[str(facts["type"])]


def _default(facts: Mapping[str, Json]) -> Code:
    value = facts["default"]
    if isinstance(value, list):
        return Code(repr(tuple(value)))
    return Code(
        repr(float(value) if facts["type"] == "number" and isinstance(value, int) else value)
    )


def _render_value(value: Json) -> str:
    if isinstance(value, bool):
        if value:
            return "`on`"
        return "`off`"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    if text:
        return f"`{text}`"
    return ""
