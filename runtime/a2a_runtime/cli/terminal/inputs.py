"""Inputs of typed skills from their JSON Schemas: a line for each member."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_array, is_json_object

_MAX_MEMBERS = 50
_MAX_REFERENCES = 20
_MAX_DEPTH = 4


def describe_input(schema: object) -> Iterator[str]:
    """Describe each member as ``name*: type = default  description``; a star: it is required."""
    if not is_json_object(schema):
        return
    root = schema
    parts = [*_list_parts(root, root, 0)]
    required: set[str] = set()
    members: dict[str, object] = {}
    for part in parts:
        required.update(_list_texts(part.get("required")))
        members.update(_list_members(part))
    if not members:
        yield _describe_type(root, root, 0)
        return
    for name, member in [*members.items()][:_MAX_MEMBERS]:
        mark = "*" if name in required else ""
        yield _describe_member(root, name + mark, member)
    if len(members) > _MAX_MEMBERS:
        yield f"and {len(members) - _MAX_MEMBERS} more"


def _describe_member(root: JsonObject, name: str, member: object) -> str:
    line = f"{name}: {_describe_type(root, member, 0)}"
    if not is_json_object(member):
        return line
    if "default" in member:
        line += f" = {_write_value(member['default'])}"
    description = member.get("description", _resolve(root, member).get("description"))
    if isinstance(description, str):
        return f"{line}  {' '.join(description.split())}"
    return line


def _list_parts(root: JsonObject, node: object, depth: int) -> Iterator[JsonObject]:
    """List a schema and the parts of its ``allOf``."""
    found = _resolve(root, node)
    yield found
    parts = found.get("allOf")
    if is_json_array(parts) and depth < _MAX_DEPTH:
        for part in parts:
            yield from _list_parts(root, part, depth + 1)


def _list_members(schema: JsonObject) -> Iterable[tuple[str, object]]:
    members = schema.get("properties")
    if is_json_object(members):
        return members.items()
    return ()


def _list_texts(value: object) -> list[str]:
    if is_json_array(value):
        return [each for each in value if isinstance(each, str)]
    return []


def _describe_type(root: JsonObject, node: object, depth: int) -> str:
    """Describe the values that a schema accepts, in a few words."""
    schema = _resolve(root, node)
    if "const" in schema:
        return _write_value(schema["const"])
    if is_json_array(values := schema.get("enum")):
        return " | ".join(map(_write_value, values))
    for keyword in ("anyOf", "oneOf"):
        if is_json_array(branches := schema.get(keyword)) and depth < _MAX_DEPTH:
            return " | ".join(
                dict.fromkeys(_describe_type(root, each, depth + 1) for each in branches)
            )
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else _list_texts(kinds)
    return " | ".join(_describe_kind(root, schema, each, depth) for each in names) or "any JSON"


def _describe_kind(root: JsonObject, schema: JsonObject, kind: str, depth: int) -> str:
    if kind == "array" and "items" in schema and depth < _MAX_DEPTH:
        item = _describe_type(root, schema["items"], depth + 1)
        if " | " not in item:
            return f"array of {item}"
        return f"array of ({item})"
    form = schema.get("format")
    if kind == "string" and isinstance(form, str):
        return form
    return kind


def _resolve(root: JsonObject, node: object) -> JsonObject:
    """Follow references inside a schema; what leads elsewhere is any JSON."""
    for _ in range(_MAX_REFERENCES):
        if not is_json_object(node):
            return {}
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return node
        node = _find(root, reference)
    return {}


def _find(root: JsonObject, reference: str) -> object:
    """Find the schema that a pointer into the root names."""
    found: object = root
    if not reference.startswith("#"):
        return None
    for word in reference[1:].split("/")[1:]:
        name = word.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if is_json_object(found) else None
    return found


def _write_value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
