"""The documents that a sender writes, as a schema: no member that its schema neither describes nor
mentions.

Nothing here knows how the check works.
"""

from __future__ import annotations

import copy

from contract.fuzzing import Json, walk


def as_sent(root: dict[str, Json]) -> dict[str, Json]:
    """Write a schema whose documents hold only members that it names, wherever it names any."""
    root = copy.deepcopy(
        root
    )  # its only dynamic anchor, if it has one, is that of the first definition
    for schema in walk(root):
        if isinstance(schema, dict) and schema.pop("$dynamicRef", None):
            schema["allOf"] = [*schema.get("allOf", ()), {"$ref": "#/$defs/one"}]
    definitions = root["$defs"]
    target = {
        f"{name} {form}": change(schema, root)
        for form, change in (("sent", _close), ("branch", _branch))
        for name, schema in definitions.items()
    }
    return {
        **_close({word: value for word, value in root.items() if word != "$defs"}, root),
        "$defs": {**definitions, **target},
    }


def _close(schema: Json, root: dict[str, Json]) -> Json:
    if not isinstance(schema, dict):
        return schema
    if set(schema) == {"$ref"} and schema["$ref"].startswith("#/$defs/"):
        return {"$ref": f"{schema['$ref']}%20sent"}
    made = _branch(schema, root)
    if not _has_names(schema, root, 5) or "unevaluatedProperties" in made:
        return made
    mentioned = dict.fromkeys(_list_mentioned(schema, root, 5), True)
    return {"allOf": [made], "properties": mentioned, "unevaluatedProperties": False}


def _branch(schema: Json, root: dict[str, Json]) -> Json:
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Json] = {}
    parts: list[Json] = []
    for word, value in schema.items():
        if word in {"allOf", "anyOf"}:
            parts.append({word: [_branch(each, root) for each in value]})
        elif word == "oneOf":
            parts += [{word: value}, {"anyOf": [_branch(each, root) for each in value]}]
        elif word == "$ref" and value.startswith("#/$defs/"):
            parts.append({"$ref": f"{value}%20branch"})
        elif word in {"additionalProperties", "unevaluatedProperties"} and (
            value is True or value == {}
        ):
            continue
        elif word not in {"$anchor", "$dynamicAnchor"} or schema is root:
            made[word] = _branch_keyword(word, value, root)
    return {**made, "allOf": parts} if parts else made


def _branch_keyword(word: str, value: Json, root: dict[str, Json]) -> Json:
    if word in {"properties", "patternProperties"}:
        return {name: _close(each, root) for name, each in value.items()}
    if word in {"items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"}:
        return _close(value, root)
    if word == "prefixItems":
        return [_close(each, root) for each in value]
    if word == "dependentSchemas":
        return {name: _branch(each, root) for name, each in value.items()}
    return _branch(value, root) if word in {"then", "else"} else value


def _has_names(schema: Json, root: dict[str, Json], depth: int) -> bool:
    if not isinstance(schema, dict) or not depth:
        return False
    return bool(schema.get("properties")) or any(
        _has_names(each, root, depth - 1) for each in _list_inner(schema, root)
    )


def _list_inner(schema: dict[str, Json], root: dict[str, Json]) -> list[Json]:
    """List the schemas that apply to the same value."""
    inner = [each for word in ("allOf", "anyOf", "oneOf") for each in schema.get(word, ())]
    inner += [schema[word] for word in ("then", "else") if word in schema]
    inner += schema.get("dependentSchemas", {}).values()
    reference = schema.get("$ref", "")
    return [
        *inner,
        *(
            [root["$defs"].get(reference.rpartition("/")[2], root["$defs"]["one"])]
            if reference
            else []
        ),
    ]


def _list_mentioned(schema: Json, root: dict[str, Json], depth: int) -> list[str]:
    """List members that a schema requires, or on which it makes something depend."""
    if not isinstance(schema, dict) or not depth:
        return []
    needed = schema.get("dependentRequired", {})
    names = [
        *schema.get("required", ()),
        *needed,
        *(name for each in needed.values() for name in each),
        *schema.get("dependentSchemas", {}),
    ]
    return [
        *names,
        *(
            name
            for each in _list_inner(schema, root)
            for name in _list_mentioned(each, root, depth - 1)
        ),
    ]
