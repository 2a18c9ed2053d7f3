"""Cards written to attack the generator of clients, and random cards made of the same elements."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from a2a_contract.extension_table import SKILL_SCHEMAS

EXTENSION = SKILL_SCHEMAS.uri
_LEVELS = 30


def inline(schema: object, skill: str = "ask") -> dict[str, object]:
    """A card that holds a schema itself."""
    return {
        "name": "Hostile",
        "skills": [{"id": skill, "description": "Asks.", "metadata": {"input_schema": schema}}],
    }


def build_naming_card(said: object) -> dict[str, object]:
    """A card that says something of where the schema is."""
    extension = {"uri": EXTENSION, "params": {"skills": {"ask": {"input": said}}}}
    return {
        "name": "Hostile",
        "skills": [{"id": "ask"}],
        "capabilities": {"extensions": [extension]},
    }


def levels(
    made: Callable[[dict[str, object]], dict[str, object]], count: int = _LEVELS
) -> dict[str, object]:
    """A schema of levels, each of which is made of references to the next."""
    definitions = {
        f"L{number}": made({"$ref": f"#/$defs/L{number + 1}"}) for number in range(count)
    }
    last = {"type": "object", "properties": {"z": {"type": "string"}}}
    return {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/L0"}},
        "$defs": {**definitions, f"L{count}": last},
    }


def build_nested_schema(depth: int) -> object:
    """A schema of arrays of arrays."""
    schema: object = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


REFUSED: dict[str, tuple[object, str]] = {
    "a reference that is no URL": (
        inline({"properties": {"a": {"$id": "x", "$ref": "http://[::1"}}}),
        "http://[::1 is not part of this project",
    ),
    "alternatives that double": (
        inline(
            levels(
                lambda to: {"properties": {"q": {}}, "oneOf": [{"allOf": [to]}, {"allOf": [to]}]}
            )
        ),
        "too many",
    ),
    "conditions that double": (
        inline(levels(lambda to: {"properties": {"q": {}}, "if": to, "then": to, "else": to})),
        "too many",
    ),
    "references that lead on and on": (
        inline(levels(lambda to: {"allOf": [to]}, 1500)),
        "too many",
    ),
    "nesting without end": (inline(build_nested_schema(900)), "nested too deeply"),
    "lone surrogate in a name": (inline({"type": "object"}, "\ud800"), "lone surrogate"),
    "lone surrogate in a schema": (
        inline({"type": "object", "description": "\udfff"}),
        "lone surrogate",
    ),
    "a file of the protocol's package that is none of its schemas": (
        inline({"$ref": "a2a:../../secret#/$defs/X"}),
        "not a dialect of the protocol",
    ),
    "a settings file as a dialect": (
        inline({"$ref": "a2a:project#/$defs/Skill"}),
        "not a dialect of the protocol",
    ),
    "a file outside": (inline({"$ref": "../secret.json"}), "outside the project"),
    "no name of a file": (inline({"$ref": "a\0b"}), "not a file name"),
    "no number of a place": (inline({"allOf": [{}], "$ref": "#/allOf/\u00b2"}), "does not resolve"),
    "no schema": (inline({"type": "nonsense"}), "not a valid JSON Schema"),
    "a draft from a file": (inline({"$schema": "file:///etc/passwd"}), "not a supported draft"),
    "a number without end": ('{"skills": [' + "9" * 5000 + "]}", "cannot be represented"),
    "a key that is written twice": ('{"skills": [], "skills": []}', "duplicate key"),
    "no object": ([], "not a JSON object"),
    "no host": (build_naming_card({"url": "http://[::1"}), "not a valid address"),
    "no name of a host": (build_naming_card({"url": "http://xn--/"}), "not a valid address"),
    "a file as an address": (
        build_naming_card({"url": "file:///etc/passwd"}),
        "not an HTTP address",
    ),
    "an address elsewhere": (
        build_naming_card({"url": "http://127.0.0.1:1/s.json"}),
        "--schemas-from http://127.0.0.1:1",
    ),
    "no address at all": (build_naming_card(7), "not an HTTP address"),
}
"""A card, and what is said of it; none of them takes long."""

_TEXTS = st.sampled_from(
    [
        *(
            "",
            "x",
            "../../x",
            "/abs",
            "日本",
            "a\0b",
            "class",
            "__init__",
            "con",
            "\u202e",
            '"""',
            "{{1}}",
            "x" * 300,
            "BaseModel",
            "a\nb",
            "~1",
        ),
        *(
            "#",
            "#/$defs/A",
            "#/properties/²",
            "#a",
            "a2a:v1_0#/$defs/Task",
            "a2a:../x",
            "http://[::1",
            "file:///etc/passwd",
            "%2e%2e/x",
        ),
    ]
)
_VALUES: SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_TYPES = st.sampled_from(
    [
        "object",
        "string",
        "array",
        "integer",
        "number",
        "null",
        ["string", "null"],
        ["object", "array"],
    ]
)


def _schemas(depth: int) -> SearchStrategy[dict[str, object]]:
    words: dict[str, SearchStrategy[object]] = {
        **dict.fromkeys(
            ("title", "description", "format", "pattern", "$ref", "$anchor", "$id"), _TEXTS
        ),
        "type": _TYPES,
        "enum": st.lists(_VALUES, min_size=1, max_size=3),
        **dict.fromkeys(("const", "default"), _VALUES),
    }
    if depth:
        one = _schemas(depth - 1)
        words |= dict.fromkeys(("items", "if", "then", "else", "additionalProperties"), one)
        words |= dict.fromkeys(
            ("allOf", "anyOf", "oneOf", "prefixItems"), st.lists(one, min_size=1, max_size=2)
        )
        words |= dict.fromkeys(
            ("properties", "patternProperties", "$defs"),
            st.dictionaries(_TEXTS | st.just("A"), one, max_size=2),
        )
    chosen = st.lists(st.sampled_from(sorted(words)), max_size=4, unique=True)
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries({name: words[name] for name in names})
    )


CARDS: SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {
        "name": _TEXTS | _VALUES,
        "skills": st.lists(
            st.fixed_dictionaries(
                {
                    "id": _TEXTS,
                    "description": _TEXTS,
                    "metadata": st.fixed_dictionaries({"input_schema": _schemas(3)}),
                }
            ),
            max_size=2,
        )
        | _VALUES,
    },
    optional={"capabilities": _VALUES, "description": _VALUES},
)
"""Cards of hostile words at every place where a card has words."""
