"""Random schemas of every keyword of 2020-12, versions of them, and documents near both: what the
compatibility check is tried with.

Everything comes from one `random.Random`, so that a seed is a run. Nothing here knows how the check
works.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from random import Random

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("a", "b", "kind", "title", "xy")
SCALARS: tuple[Json, ...] = (
    None,
    True,
    False,
    0,
    1,
    2,
    5,
    -1,
    1.5,
    2.5,
    "",
    "a",
    "b",
    "xyz",
    "2025-01-01",
    "127.0.0.1",
)
PATTERNS = ("^a", "b$", "^[a-z]*$", "x")
FORMATS = ("date", "ipv4")
_APPLICATORS = (
    "not",
    "if",
    "then",
    "else",
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
)


class SchemaMaker:
    """Makes schemas, versions of them, and documents."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def make(self) -> dict[str, Json]:
        """Make a document: a root schema with definitions that it may refer to, also to itself."""
        root = self._make_object(self.random.choice((1, 2, 2, 3)))
        root["$defs"] = {"one": self.make_schema(1), "two": self.make_schema(1)}
        if self.random.random() < 0.05:
            root["$defs"]["one"] = {"$dynamicAnchor": "node", **self._make_object(1)}
            root["$defs"]["two"] = {"type": "array", "items": {"$dynamicRef": "#node"}}
        elif self.random.random() < 0.05:
            root["$defs"]["one"] = {"$anchor": "one", **self._make_object(1)}
            root["allOf"] = [{"$ref": "#one"}]
        return {"$schema": DRAFT, **root}

    def make_schema(self, depth: int) -> Json:
        """Make a schema, sometimes a boolean."""
        if self.random.random() < 0.06:
            return self.random.choice((True, False, {}, {}))
        return self._make_object(depth)

    def _make_object(self, depth: int) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            made |= self.random.choice(_LEAVES if depth <= 0 else _ALL)(self, depth - 1)
        return made

    def _pick(self, values: tuple[Json, ...] | tuple[str, ...], count: int) -> list[Json]:
        return self.random.sample(values, self.random.randint(1, count))

    def _table(self, names: tuple[str, ...], depth: int) -> dict[str, Json]:
        return {str(name): self.make_schema(depth) for name in self._pick(names, 3)}

    def mutate(self, schema: dict[str, Json]) -> dict[str, Json]:
        """Change something somewhere: a keyword more or less, a value, or a whole schema."""
        made = copy.deepcopy(schema)
        holders = [each for each in walk(made) if isinstance(each, dict)]
        holder = self.random.choice(holders)
        words = [word for word in holder if not word.startswith("$")]
        match self.random.randint(0, 5):
            case 0 if words:
                del holder[self.random.choice(words)]
            case 1 if words:
                word = self.random.choice(words)
                holder[word] = self._like(word, holder[word])
            case 2:
                holder |= {
                    "anyOf": [{word: holder.pop(word) for word in words}, self.make_schema(1)]
                }
            case 3 if words:
                word = self.random.choice(words)
                holder[word] = self._nudge(holder[word])
            case _:
                holder |= self.random.choice(_ALL)(self, 0)
        return made

    def _like(self, word: str, value: Json) -> Json:
        if word in _APPLICATORS or isinstance(value, dict):
            return self.make_schema(1)
        return self._nudge(value)

    def _nudge(self, value: Json) -> Json:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return max(0, value + self.random.choice((-1, 1)))
        if isinstance(value, list) and value:
            return (
                value[:-1]
                if len(value) > 1 and self.random.random() < 0.5
                else [*value[1:], value[0]]
            )
        return value

    def refactor(self, schema: dict[str, Json]) -> dict[str, Json]:
        """Write a schema differently, without changing its documents."""
        made = copy.deepcopy(schema)
        holders = [
            each
            for each in walk(made)
            if isinstance(each, dict)
            and is_schema(each)
            and "$dynamicAnchor" not in each
            and "$anchor" not in each
        ]
        for _ in range(self.random.randint(1, 3) if holders else 0):
            holder = self.random.choice(holders)
            change: Callable[[dict[str, Json], dict[str, Json]], None] = self.random.choice(
                _REFACTORINGS
            )
            change(holder, made)
        return made

    def make_documents(self, schemas: tuple[Json, ...], count: int) -> list[Json]:
        """Make documents that follow a schema more or less, and neighbours of them."""
        made: dict[str, Json] = {}
        for _ in range(count):
            root = self.random.choice(schemas)
            document = self._follow(root, root, 4)
            if self.random.random() < 0.3:
                document = self._disturb(document)
            made.setdefault(json.dumps(document, sort_keys=True), document)
        return list(made.values())

    def _follow(self, schema: Json, root: Json, depth: int) -> Json:
        if not isinstance(schema, dict) or depth < 0 or self.random.random() < 0.08:
            return self._any(depth)
        target = schema.get("$ref", schema.get("$dynamicRef"))
        if isinstance(target, str) and isinstance(root, dict) and len(schema) == 1:
            return self._follow(
                root.get("$defs", {}).get(target.rpartition("/")[2], {}), root, depth - 1
            )
        for word in ("const", "enum"):
            if word in schema:
                return schema["const"] if word == "const" else self.random.choice(schema["enum"])
        unions = [
            word
            for word in ("anyOf", "oneOf", "allOf", "if", "then", "else", "not", "$ref")
            if word in schema
        ]
        parts: list[Json] = [schema]
        for word in unions:
            part = schema[word]
            if isinstance(part, list):
                part = self.random.choice(part)
            elif word == "$ref":
                part = {"$ref": part}
            parts.append(part)
        kinds = [kind for part in parts if isinstance(part, dict) for kind in list_kinds(part)]
        return self._make_value(
            self.random.choice(kinds or ["object", "array", "string", "number", "null"]),
            parts,
            root,
            depth,
        )

    def _make_value(self, kind: str, parts: list[Json], root: Json, depth: int) -> Json:
        listed = [part for part in parts if isinstance(part, dict)]
        match kind:
            case "object":
                return self._make_members(listed, root, depth)
            case "array":
                return self._make_items(listed, root, depth)
            case "string":
                words = ("minLength", "maxLength")
                sizes = [part[word] for part in listed for word in words if word in part]
                longest = "a" * self.random.choice([*sizes, 1])
                return self.random.choice((longest, "b", "ab", "xa", "2025-01-01", "127.0.0.1", ""))
            case "number" | "integer":
                words = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
                bounds = [part[word] for part in listed for word in words if word in part]
                return self.random.choice((*bounds, 0)) + self.random.choice((0, 0, 1, -1, 0.5))
            case "boolean":
                return self.random.random() < 0.5
            case _:
                return None

    def _make_members(self, parts: list[dict[str, Json]], root: Json, depth: int) -> Json:
        members: dict[str, Json] = {}
        for part in parts:
            members |= part.get("properties", {})
        names = [name for name in members if self.random.random() < 0.6]
        required = [name for part in parts for name in part.get("required", ())]
        names += [name for name in required if self.random.random() < 0.9]
        names += [name for name in NAMES if self.random.random() < 0.08]
        word = "additionalProperties"
        rest = next((part[word] for part in parts if word in part), {})
        return {name: self._follow(members.get(name, rest), root, depth - 1) for name in names}

    def _make_items(self, parts: list[dict[str, Json]], root: Json, depth: int) -> Json:
        prefix = next((part["prefixItems"] for part in parts if "prefixItems" in part), [])
        words = ("items", "contains", "unevaluatedItems")
        rest = next((part[word] for part in parts for word in words if word in part), {})
        return [
            self._follow(prefix[index] if index < len(prefix) else rest, root, depth - 1)
            for index in range(self.random.randint(0, 3))
        ]

    def _any(self, depth: int) -> Json:
        if depth > 0 and self.random.random() < 0.3:
            return self.random.choice(
                ([], {}, [1], ["a"], {"a": 1}, {"b": "a"}, {"kind": "a"}, {"title": 1}, [1, 1])
            )
        return self.random.choice(SCALARS)

    def _disturb(self, document: Json) -> Json:
        if isinstance(document, dict):
            name = self.random.choice((*document, *NAMES))
            return (
                {each: value for each, value in document.items() if each != name}
                if name in document
                else {**document, name: self._any(1)}
            )
        if isinstance(document, list):
            return [*document, self._any(1)] if self.random.random() < 0.5 else document[:-1]
        return self._any(2)


def _bounds(maker: SchemaMaker, _: int) -> dict[str, Json]:
    word = maker.random.choice(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    )
    return {
        word: maker.random.choice((1, 2, 0.5))
        if word == "multipleOf"
        else maker.random.randint(-1, 4)
    }


def _sizes(maker: SchemaMaker, _: int) -> dict[str, Json]:
    words = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
    return {maker.random.choice(words): maker.random.randint(0, 3)}


_LEAVES: tuple[Callable[[SchemaMaker, int], dict[str, Json]], ...] = (
    lambda maker, _: {
        "type": maker.random.choice(
            ("string", "number", "integer", "boolean", "null", "object", "array")
        )
    },
    lambda maker, _: {"type": maker._pick(("string", "number", "integer", "null", "object"), 3)},
    lambda maker, _: {"enum": maker._pick(SCALARS, 4)},
    lambda maker, _: {"const": maker.random.choice(SCALARS)},
    lambda maker, _: {"required": maker._pick(NAMES, 2)},
    lambda maker, _: {"$ref": maker.random.choice(("#/$defs/one", "#/$defs/two"))},
    lambda maker, _: {"pattern": maker.random.choice(PATTERNS)},
    lambda maker, _: {"format": maker.random.choice(FORMATS)},
    lambda maker, _: {"uniqueItems": maker.random.random() < 0.7},
    lambda _maker, _: {"title": "a title", "default": 1, "deprecated": True},
    _bounds,
    _sizes,
)
_NESTED: tuple[Callable[[SchemaMaker, int], dict[str, Json]], ...] = (
    lambda maker, depth: {"type": "object", "properties": maker._table(NAMES, depth)},
    lambda maker, depth: {
        "properties": maker._table(NAMES, depth),
        "required": maker._pick(NAMES, 2),
    },
    lambda maker, depth: {
        "type": "object",
        "properties": maker._table(NAMES, depth),
        "additionalProperties": False,
    },
    lambda maker, depth: {"additionalProperties": maker.make_schema(depth)},
    lambda maker, depth: {"patternProperties": maker._table(PATTERNS, depth)},
    lambda maker, _: {"propertyNames": maker.make_schema(0)},
    lambda maker, depth: {"type": "array", "items": maker.make_schema(depth)},
    lambda maker, depth: {
        "prefixItems": [maker.make_schema(depth) for _ in range(maker.random.randint(1, 2))]
    },
    lambda maker, depth: {
        "contains": maker.make_schema(depth),
        **maker.random.choice(({}, {"minContains": 0}, {"minContains": 2}, {"maxContains": 1})),
    },
    lambda maker, depth: {
        "anyOf": [maker.make_schema(depth) for _ in range(maker.random.randint(1, 3))]
    },
    lambda maker, depth: {
        "oneOf": [maker.make_schema(depth) for _ in range(maker.random.randint(1, 3))]
    },
    lambda maker, depth: {
        "allOf": [maker.make_schema(depth) for _ in range(maker.random.randint(1, 2))]
    },
    lambda maker, depth: {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": tag}, "a": maker.make_schema(depth)},
                "required": ["kind"],
            }
            for tag in "ab"
        ]
    },
    lambda maker, depth: {"not": maker.make_schema(depth)},
    lambda maker, depth: {
        word: maker.make_schema(depth) for word in ("if", *maker._pick(("then", "else"), 2))
    },
    lambda maker, _: {
        "dependentRequired": {str(name): maker._pick(NAMES, 2) for name in maker._pick(NAMES, 2)}
    },
    lambda maker, depth: {"dependentSchemas": maker._table(NAMES, depth)},
    lambda maker, depth: {
        "unevaluatedProperties": maker.random.choice((False, maker.make_schema(depth)))
    },
    lambda maker, depth: {
        "unevaluatedItems": maker.random.choice((False, maker.make_schema(depth)))
    },
)
_ALL = (*_LEAVES, *_NESTED, *_NESTED)


def _wrap_in_union(holder: dict[str, Json], _: dict[str, Json]) -> None:
    if not any(word.startswith(("unevaluated", "$")) for word in holder):
        inner = {word: holder.pop(word) for word in list(holder)}
        holder["anyOf"] = [inner]


def _repeat_in_union(holder: dict[str, Json], root: dict[str, Json]) -> None:
    _wrap_in_union(holder, root)
    if isinstance(holder.get("anyOf"), list):
        holder["anyOf"] = [*holder["anyOf"], False]


def _wrap_in_all_of(holder: dict[str, Json], _: dict[str, Json]) -> None:
    if not any(word.startswith(("unevaluated", "$")) for word in holder):
        inner = {word: holder.pop(word) for word in list(holder)}
        holder["allOf"] = [inner, {}]


def _const_as_enum(holder: dict[str, Json], _: dict[str, Json]) -> None:
    if "const" in holder and "enum" not in holder:
        holder["enum"] = [holder.pop("const")]


def _extract(holder: dict[str, Json], root: dict[str, Json]) -> None:
    definitions = root.get("$defs")
    if (
        holder is not root
        and isinstance(definitions, dict)
        and not any(holder is each for each in definitions.values())
    ):
        inner = {word: holder.pop(word) for word in list(holder)}
        name = f"extracted{len(definitions)}"
        definitions[name] = inner
        holder["$ref"] = f"#/$defs/{name}"


def _add_vacuous(holder: dict[str, Json], _: dict[str, Json]) -> None:
    for word, value in (
        ("minProperties", 0),
        ("propertyNames", {"type": "string"}),
        ("minItems", 0),
        ("description", "says nothing"),
    ):
        holder.setdefault(word, value)


def _reverse(holder: dict[str, Json], _: dict[str, Json]) -> None:
    for word in ("anyOf", "oneOf", "required", "enum"):
        if isinstance(holder.get(word), list):
            holder[word] = holder[word][::-1]


_REFACTORINGS = (
    _wrap_in_union,
    _repeat_in_union,
    _wrap_in_all_of,
    _const_as_enum,
    _extract,
    _add_vacuous,
    _reverse,
)
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def walk(schema: Json) -> Iterator[Json]:
    """Yield a schema and every schema in it."""
    yield schema
    if isinstance(schema, dict):
        for word, value in schema.items():
            if word in _MAPS:
                inner = list(value.values())
            elif word in _LISTS and isinstance(value, list):
                inner = value
            elif word in _APPLICATORS:
                inner = [value]
            else:
                continue
            for each in inner:
                yield from walk(each)


def is_endless(root: dict[str, Json]) -> bool:
    """Return true if a schema applies itself to the same value, which has no meaning."""
    targets = {name: set(_list_applied(schema)) for name, schema in root["$defs"].items()}
    try:
        TopologicalSorter(targets).prepare()
    except CycleError:
        return True
    return False


def _list_applied(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield {"#one": "one"}.get(schema["$ref"], schema["$ref"].rpartition("/")[2])
        inner = [schema[word] for word in ("not", "if", "then", "else") if word in schema]
        inner += [each for word in ("allOf", "anyOf", "oneOf") for each in schema.get(word, ())]
        for each in (*inner, *schema.get("dependentSchemas", {}).values()):
            yield from _list_applied(each)


def is_schema(schema: dict[str, Json]) -> bool:
    """Return true for a schema that may be moved: one whose meaning does not depend on what stands
    beside it.
    """
    return not any(word.startswith("unevaluated") for word in schema)


def list_kinds(schema: dict[str, Json]) -> list[str]:
    """List the kinds of value that a schema is about."""
    kinds = schema.get("type")
    if kinds is not None:
        return kinds if isinstance(kinds, list) else [kinds]
    if schema.keys() & {
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "dependentRequired",
        "unevaluatedProperties",
    }:
        return ["object"]
    return (
        ["array"]
        if schema.keys() & {"items", "prefixItems", "contains", "unevaluatedItems"}
        else []
    )
