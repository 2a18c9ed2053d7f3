"""Random schemas, random edits of them, and random documents: what the comparison of contracts is
tried with.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

Schema = dict[str, object] | bool

NAMES = ("a", "b", "kind", "id")
WORDS = ("x", "y", "zz")
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def sparse(**keywords: SearchStrategy[object]) -> SearchStrategy[dict[str, object]]:
    """Make a schema that has some of some keywords."""
    return st.fixed_dictionaries({}, optional=keywords)


INTEGERS = st.integers(-3, 4)
SIZES = st.integers(0, 3)
SCALARS: SearchStrategy[object] = st.one_of(
    sparse(
        minimum=INTEGERS,
        maximum=INTEGERS,
        exclusiveMinimum=INTEGERS,
        multipleOf=st.sampled_from([1, 2, 0.5]),
    ).map(lambda each: {"type": "number", **each}),
    sparse(minimum=INTEGERS, exclusiveMaximum=INTEGERS, multipleOf=st.sampled_from([1, 2, 3])).map(
        lambda each: {"type": "integer", **each}
    ),
    sparse(minLength=SIZES, maxLength=SIZES, pattern=st.sampled_from(["^x", "y$", "^[xy]+$"])).map(
        lambda each: {"type": "string", **each}
    ),
    st.lists(
        st.sampled_from([*WORDS, 1, 2, None, True]), min_size=1, max_size=3, unique_by=repr
    ).map(lambda each: {"enum": each}),
    st.sampled_from([*WORDS, 1]).map(lambda each: {"const": each}),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {},
            True,
            {"type": ["string", "null"]},
            {"type": ["integer", "boolean"]},
        ]
    ),
    st.sampled_from([{"$ref": "#/$defs/One"}, {"$ref": "#/$defs/Two"}]),
)


def _richer(inner: SearchStrategy[object]) -> SearchStrategy[object]:
    properties = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    required = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
    plain = sparse(
        properties=properties,
        required=required,
        additionalProperties=st.sampled_from([False]) | inner,
        minProperties=SIZES,
        maxProperties=SIZES,
    )
    groups = st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True).map(
        lambda names: [{"required": [name]} for name in names]
    )
    return st.one_of(
        plain.map(lambda each: {"type": "object", **each}),
        st.tuples(plain, groups).map(lambda both: {"type": "object", **both[0], "oneOf": both[1]}),
        sparse(items=inner, minItems=SIZES, maxItems=SIZES, uniqueItems=st.booleans()).map(
            lambda each: {"type": "array", **each}
        ),
        sparse(prefixItems=st.lists(inner, min_size=1, max_size=2), items=inner).map(
            lambda each: {"type": "array", **each}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: {"anyOf": each}),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: {"oneOf": each}),
        st.lists(inner, min_size=1, max_size=2).map(lambda each: {"allOf": each}),
        SCALARS.map(lambda each: {"not": each}),
        st.tuples(plain, plain).map(lambda both: {"type": "object", **both[0], "allOf": [both[1]]}),
        st.dictionaries(st.sampled_from(["^a", "i"]), inner, min_size=1, max_size=1).map(
            lambda each: {"type": "object", "patternProperties": each}
        ),
        inner.map(
            lambda each: {
                "type": "object",
                "properties": {"a": each},
                "dependentRequired": {"a": ["b"]},
            }
        ),
        SCALARS.map(lambda each: {"type": "array", "contains": each}),
        st.sampled_from([{"maxLength": 1}, {"pattern": "^[ab]"}]).map(
            lambda each: {"type": "object", "propertyNames": each}
        ),
    )


SCHEMAS: SearchStrategy[object] = st.recursive(SCALARS, _richer, max_leaves=6)


@st.composite
def bundles(draw: DrawFn) -> dict[str, object]:
    """Make a schema with two definitions, which may be made of themselves."""
    root = draw(SCHEMAS)
    definitions = {"One": draw(SCHEMAS), "Two": draw(SCHEMAS)}
    return {"$schema": DRAFT, "$defs": {**definitions, "Root": root}}


@st.composite
def pairs(draw: DrawFn) -> tuple[dict[str, object], dict[str, object]]:
    """Make a schema and a version of it with a few edits."""
    old = copy.deepcopy(draw(bundles()))
    new = copy.deepcopy(old)
    for _ in range(draw(st.integers(1, 2))):
        _edit(draw, new)
    return old, new


def _edit(draw: DrawFn, bundle: dict[str, object]) -> None:
    """Change one thing somewhere: a keyword, a member, an item, or a whole schema."""
    places = list(_places(bundle["$defs"]))
    holder, key = places[draw(st.integers(0, len(places) - 1))]
    match draw(st.integers(0, 3)):
        case 0 if isinstance(holder, dict) and holder is not bundle["$defs"]:
            del holder[key]
        case 1 if isinstance(holder[key], dict):
            schema = copy.deepcopy(draw(SCHEMAS))
            if isinstance(schema, dict):
                holder[key] = {**holder[key], **schema}
        case 2:
            holder[key] = (
                {"anyOf": [holder[key], copy.deepcopy(draw(SCHEMAS))]}
                if isinstance(holder[key], dict)
                else holder[key]
            )
        case _:
            holder[key] = copy.deepcopy(draw(_like(holder[key], key)))


def _like(value: object, key: object) -> SearchStrategy[object]:
    if key == "required":
        return st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int | float):
        return st.sampled_from([1, 2, 0.5]) if key == "multipleOf" else SIZES
    if isinstance(value, str):
        return st.sampled_from(["string", "integer", "object"]) if key == "type" else st.just(value)
    if isinstance(value, dict) and key not in {
        "properties",
        "$defs",
        "patternProperties",
        "dependentRequired",
    }:
        return SCHEMAS
    return st.just(value)


def _places(data: object) -> Iterator[tuple[dict | list, str | int]]:
    if isinstance(data, dict):
        items: Iterable[tuple[str | int, object]] = data.items()
    elif isinstance(data, list):
        items = ((index, each) for index, each in enumerate(data) if isinstance(each, dict | bool))
    else:
        return
    for key, value in items:
        yield data, key
        yield from _places(value)


VALUES: SearchStrategy[object] = st.recursive(
    st.sampled_from([None, True, False, *WORDS, "", "xx", "yyyy", "xyx"])
    | st.integers(-4, 5)
    | st.sampled_from([0.5, 1.5, -2.5, 2.0]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "other"]), inner, max_size=3)
    ),
    max_leaves=5,
)
"""Any documents, of the words that the schemas are made of."""


def as_sent(bundle: dict[str, object]) -> dict[str, object]:
    """Close the schemas of a bundle where members have names: a strict writer sends no other
    members.

    Definitions stay as they are for references under ``not``; beside each is one that is closed and
    one that a union can close.
    """
    definitions = bundle["$defs"]
    assert isinstance(definitions, dict)
    closed = {
        f"{name} sent": _close_schema(schema, definitions) for name, schema in definitions.items()
    }
    branches = {
        f"{name} branch": _open_branch(schema, definitions) for name, schema in definitions.items()
    }
    return {**bundle, "$defs": {**definitions, **closed, **branches}}


def _close_schema(schema: object, definitions: dict[str, object]) -> object:
    if not isinstance(schema, dict):
        return schema
    made = _open_branch(schema, definitions)
    assert isinstance(made, dict)
    return {**made, "unevaluatedProperties": False} if _has_names(schema, definitions, 3) else made


def _open_branch(schema: object, definitions: dict[str, object]) -> object:
    if not isinstance(schema, dict):
        return schema
    made: dict[str, object] = {}
    for word, value in schema.items():
        if word in {"properties", "patternProperties"}:
            made[word] = {name: _close_schema(each, definitions) for name, each in value.items()}
        elif word in {"items", "additionalProperties"}:
            made[word] = _close_schema(value, definitions)
        elif word == "prefixItems":
            made[word] = [_close_schema(each, definitions) for each in value]
        elif word in {"allOf", "anyOf", "oneOf"}:
            made[word] = [_open_branch(each, definitions) for each in value]
        else:
            made[word] = f"{value} branch".replace(" ", "%20") if word == "$ref" else value
    return made


def _has_names(schema: object, definitions: dict[str, object], depth: int) -> bool:
    if not isinstance(schema, dict) or not depth:
        return False
    inner = [each for word in ("allOf", "anyOf", "oneOf") for each in schema.get(word, ())]
    inner += [definitions[str(schema["$ref"]).rpartition("/")[2]]] if "$ref" in schema else []
    return bool(schema.get("properties")) or any(
        _has_names(each, definitions, depth - 1) for each in inner
    )
