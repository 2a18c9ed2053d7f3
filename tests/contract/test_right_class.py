"""The class of a value follows from its schema: by its tag, or by the validator."""

from __future__ import annotations

import pytest
from contract.made_schemas import PAYMENT, make

from a2a_contract.typed_schema import SchemaMismatchError

PETS = {
    "type": "object",
    "properties": {"pet": {"oneOf": [{"$ref": "#/$defs/Dog"}, {"$ref": "#/$defs/Cat"}]}},
    "$defs": {
        "Base": {
            "type": "object",
            "properties": {"kind": {"type": "string"}, "size": {"type": "number"}},
            "required": ["kind"],
        },
        "Dog": {
            "allOf": [
                {"$ref": "#/$defs/Base"},
                {"properties": {"kind": {"const": "dog"}, "size": {"type": "integer"}}},
            ]
        },
        "Cat": {"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"kind": {"const": "cat"}}}]},
    },
}


@pytest.mark.parametrize("kind", ["Dog", "Cat"])
def test_narrowed_tags_select_the_class(kind: str) -> None:
    """A tag that a part of ``allOf`` narrows is one: each pet arrives as what it is, and no member
    became free JSON.
    """
    form, warnings = make(PETS)
    document = {"pet": {"kind": kind.lower(), "size": 2}}
    value = form.parse(document)
    assert type(vars(value)["pet"]).__name__ == kind
    assert form.serialize(value) == document
    assert warnings == ()


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ({"minLength": 3}, "its schema allows values of every type"),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, "its schema allows values of every type"),
        (None, "it is declared only in some branches or under a condition"),
    ],
    ids=["no type", "an open branch", "conditional"],
)
def test_members_without_a_type_are_listed(member: object, reason: str) -> None:
    """A member that may be any JSON is a warning with the reason, unless its author left it
    open.
    """
    schema = {"type": "object", "properties": {"open": {"description": "Anything."}, "b": member}}
    if member is None:
        schema |= {
            "properties": {},
            "if": {"required": ["a"]},
            "then": {"properties": {"b": {"type": "integer"}}},
        }
    (warning,) = make(schema)[1]
    assert (warning.rule, warning.text) == ("A2A-K11", f"the member 'b' may be any JSON: {reason}")


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (
            {"properties": {"a": {}}},
            "properties without a type: values other than objects are valid too",
        ),
        (
            {"items": {"type": "string"}},
            "items without a type: values other than arrays are valid too",
        ),
        (
            {"allOf": [{"properties": {"a": {}}}, {"required": ["a"]}]},
            "properties without a type: values other than objects are valid too",
        ),
    ],
    ids=["properties", "items", "in allOf"],
)
def test_types_narrower_than_their_schema_are_listed(schema: dict[str, object], text: str) -> None:
    """A schema without ``type`` accepts more than its author meant."""
    assert [warning.text for warning in make(schema)[1]] == [text]


ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}}}
WORD = {"enum": ["x", "y"], "default": "y"}


@pytest.mark.parametrize(
    ("member", "default"),
    [
        ({"type": "array", "items": {"type": "string"}, "default": ["x"]}, "['x']"),
        ({"$ref": "#/$defs/Address", "default": {"street": "s"}}, "Address(street='s')"),
        ({"type": "string", "format": "date", "default": "2024-01-02"}, "2024-01-02"),
        ({"$ref": "#/$defs/Word"}, "y"),
        ({"allOf": [{"$ref": "#/$defs/Word"}], "default": "x"}, "x"),
        ({"type": "object", "default": {}}, "{}"),
        ({"type": ["string", "null"], "default": "x"}, "x"),
        ({"type": "integer", "default": 3}, "3"),
    ],
    ids=[
        "list",
        "object",
        "date",
        "enum by $ref",
        "enum in allOf",
        "empty object",
        "text or null",
        "number",
    ],
)
def test_defaults_are_kept(member: object, default: str) -> None:
    """A default of any kind is the value of an absent member; it is not written."""
    form, warnings = make(
        {"type": "object", "properties": {"a": member}, "$defs": {"Address": ADDRESS, "Word": WORD}}
    )
    value = form.parse({})
    other = form.parse({})
    assert str(vars(value)["a"]) in {default, default.partition("(")[2].rstrip(")")}
    assert form.serialize(value) == {}
    assert warnings == ()
    assert vars(value)["a"] is not vars(other)["a"] or isinstance(vars(value)["a"], str | int)


def test_defaults_that_do_not_match_are_listed() -> None:
    """A default that its schema refuses is ignored, with a warning."""
    form, (warning,) = make(
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "string"}, "default": [1]}},
        }
    )
    assert vars(form.parse({}))["a"] is None
    assert (warning.rule, warning.text) == (
        "A2A-K12",
        'the default [1] is ignored: [0]: the value is not of type "string"',
    )


def test_a_default_that_others_narrow_is_listed_once() -> None:
    """However many schemas narrow it, with the place of the first one; the default is at its
    own.
    """
    base = {"type": "object", "properties": {"kind": {"type": "string", "default": "any"}}}
    narrow = [
        {"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"kind": {"const": word}}}]}
        for word in ("a", "b", "c")
    ]
    schema = {
        "type": "object",
        "properties": dict(zip("xyz", narrow, strict=True)),
        "$defs": {"Base": base},
    }
    _, (warning,) = make(schema)
    assert warning.rule == "A2A-K12"
    assert warning.place.pointer.endswith("/$defs/Base/properties/kind")
    assert warning.text.startswith('the default "any" is ignored: ')
    assert "/properties/x/allOf/1/properties/kind" in warning.text


@pytest.mark.parametrize(
    ("payment", "reason"),
    [
        (
            {"kind": "card", "card": {"pan": "12"}},
            'payment.card.pan: the value does not match "^[0-9]{12,19}$"',
        ),
        ({"kind": "card", "card": {}}, 'payment.card.pan: "pan" is a required property'),
        ({"kind": "cash"}, 'payment.kind: the value is none of "card", "invoice"'),
    ],
    ids=["pattern", "missing", "tag"],
)
def test_an_example_in_a_union_is_refused_by_the_branch_of_its_tag(
    payment: object, reason: str
) -> None:
    """The warning has the place inside the branch that the tag picks; a default and a value give
    the same reason.
    """
    example = {"payment": payment}
    valid = {"payment": {"kind": "invoice"}}
    form, (warning,) = make({**PAYMENT, "examples": [valid, example]})
    assert (warning.rule, warning.text) == (
        "A2A-K15",
        f"examples[1] does not match the schema: {reason}",
    )
    _, (warning,) = make(
        {
            "type": "object",
            "properties": {"order": {**PAYMENT, "default": example}},
            "$defs": PAYMENT["$defs"],
        }
    )
    assert (warning.rule, warning.text.partition(" is ignored: ")[2]) == ("A2A-K12", reason)
    with pytest.raises(SchemaMismatchError) as refused:
        form.parse(example)
    assert [": ".join(each) for each in refused.value.fields] == [reason]


PAIR = {
    "type": "array",
    "prefixItems": [{"type": "string"}, {"type": "integer"}],
    "items": False,
    "minItems": 2,
}


@pytest.mark.parametrize(
    ("member", "document"),
    [
        ({"anyOf": [PAIR, {"type": "string"}]}, ["x", 1]),
        ({"anyOf": [PAIR, {"type": "null"}]}, ["x", 1]),
        ({"type": "array", "items": PAIR}, [["x", 1]]),
        ({"type": "object", "additionalProperties": PAIR}, {"a": ["x", 1]}),
        ({**PAIR, "prefixItems": [PAIR, PAIR]}, [["x", 1], ["y", 2]]),
    ],
    ids=["union", "or null", "list", "map", "tuple"],
)
def test_tuples_stand_everywhere(member: object, document: object) -> None:
    """An array of fixed length is a tuple, also within another type."""
    form, _ = make({"type": "object", "properties": {"a": member}})
    value = form.parse({"a": document})
    assert "('x', 1)" in str(vars(value)["a"])
    assert form.serialize(value) == {"a": document}


POINT = SIZE = {"type": "object", "properties": {"x": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "second", "documents"),
    [
        (
            {"prefixItems": [POINT, SIZE], "items": False},
            "MadeItem2",
            [[], [{"x": 1}], [{"x": 1}, {}]],
        ),
        (
            {"prefixItems": [POINT, SIZE], "items": False, "minItems": 1},
            "MadeItem2",
            [[{}], [{}, {"x": 2}]],
        ),
        ({"prefixItems": [POINT], "items": SIZE}, "MadeRest", [[], [{}], [{}, {}, {"x": 3}]]),
        (
            {"prefixItems": [POINT, SIZE]},
            "MadeItem2",
            [[], [{}, {}], [{}, {}, None, {"x": [1]}, "text"]],
        ),
        (
            {
                "items": [POINT, SIZE],
                "additionalItems": False,
                "$schema": "http://json-schema.org/draft-07/schema#",
            },
            "MadeItem2",
            [[], [{}], [{}, {}]],
        ),
    ],
    ids=["closed", "at least one", "the rest has a type", "open", "draft-07"],
)
def test_tuples_of_several_lengths_are_typed_by_position(
    schema: dict[str, object], second: str, documents: list[list[object]]
) -> None:
    """Each item of an array gets the class of its position, whatever the length, and writing gives
    the same back.
    """
    form, warnings = make({"type": "array", **schema})
    for document in documents:
        value = form.parse(document)
        assert isinstance(value, tuple)
        assert [type(each).__name__ for each in value[:2]] == ["MadeItem1", second][: len(value)]
        assert form.read(form.write(value)) == value
        assert form.serialize(value) == document
    assert warnings == ()
    with pytest.raises(SchemaMismatchError):
        form.parse([{"x": "text"}])


@pytest.mark.parametrize(
    ("names", "natural"),
    [
        (("kebab-case", "kebab_case", "KebabCase"), "kebab_case"),
        (("L", "l"), "l"),
        (("", "field_"), "field_"),
        (("firstName", "first_name"), "first_name"),
    ],
    ids=["kebab", "l", "nothing", "camel"],
)
def test_natural_names_come_first(names: tuple[str, ...], natural: str) -> None:
    """A member that has a Python name in JSON keeps it, wherever it stands; a member that is not
    set is not written.
    """
    form, _ = make({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    of = form.type
    assert isinstance(of, type)
    assert form.serialize(of(**{natural: "x"})) == {natural: "x"}
    document = {name: f"x{index}" for index, name in enumerate(names)}
    assert form.serialize(form.parse(document)) == document


def test_validators_select_the_branch() -> None:
    """Without a tag, the class of an object is that of the branch whose schema accepts it, also
    deep in a document.
    """
    narrow = {
        "title": "Narrow",
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^x"}},
        "required": ["a"],
    }
    wide = {
        "title": "Wide",
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    form, _ = make(
        {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"anyOf": [narrow, wide, {"type": "null"}]}}
            },
        }
    )
    document = {"items": [{"a": "y"}, {"a": "x"}, {"a": "x", "b": 1}, None]}
    value = form.parse(document)
    assert [type(each).__name__.removeprefix("MadeItemsItem") for each in vars(value)["items"]] == [
        "Wide",
        "Narrow",
        "Wide",
        "NoneType",
    ]
    assert form.serialize(value) == document


def test_explicit_nulls_survive_in_unions() -> None:
    """A null that only another branch allows stays in the document."""
    branch = {
        "properties": {"a": {"anyOf": [{"type": "number"}]}},
        "dependentRequired": {"a": ["b"]},
    }
    form, _ = make({"anyOf": [branch, {"type": "object"}]})
    assert form.serialize(form.parse({"a": None, "b": 1})) == {"a": None, "b": 1}
    assert type(form.parse({"a": 1, "b": 1})).__name__ == "MadeOption1"
    assert form.parse({"a": 1}) == {"a": 1}


def test_lists_and_recursive_unions_are_selected_too() -> None:
    """Arrays of different items, and a union that contains itself."""
    leaf = {
        "type": "object",
        "properties": {"value": {"type": "integer", "minimum": 0}},
        "required": ["value"],
        "additionalProperties": False,
    }
    node = {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}},
        "required": ["value"],
    }
    form, _ = make(
        {
            "title": "Tree",
            "anyOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Node"}],
            "$defs": {"Leaf": leaf, "Node": node},
        }
    )
    value = form.parse({"value": -1, "next": {"value": 1}})
    assert (type(value).__name__, type(vars(value)["next"]).__name__) == ("Node", "Leaf")
    lists, _ = make(
        {
            "anyOf": [
                {"type": "array", "items": each}
                for each in ({"type": "string", "maxLength": 1}, {"type": "string"})
            ]
        }
    )
    assert lists.parse(["x", "yy"]) == ["x", "yy"]


def test_lists_of_models_in_unions_are_written() -> None:
    """A list of objects, or of objects of another kind: the validators that select the branch know
    JSON, not models.
    """
    kinds = [
        {
            "type": "object",
            "properties": {name: {"type": "string"}},
            "required": [name],
            "additionalProperties": False,
        }
        for name in ("a", "b")
    ]
    form, _ = make(
        {
            "type": "object",
            "properties": {"list": {"oneOf": [{"type": "array", "items": each} for each in kinds]}},
        }
    )
    for document in ({"list": [{"a": "x"}]}, {"list": [{"b": "x"}, {"b": "y"}]}):
        assert form.serialize(form.parse(document)) == document


@pytest.mark.parametrize("name", ['input[type="image"]', "a b", "100%", "ä", "a/b~c", "x#y?z"])
def test_unions_below_names_of_any_text(name: str) -> None:
    """The schema of a branch is found below a member of any name, as oxlint has them."""
    narrow = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^x"}},
        "required": ["a"],
    }
    form, _ = make(
        {
            "type": "object",
            "properties": {
                name: {
                    "anyOf": [narrow, {"type": "object", "properties": {"a": {"type": "string"}}}]
                }
            },
        }
    )
    for document in ({name: {"a": "y"}}, {name: {"a": "x"}}):
        assert form.serialize(form.parse(document)) == document
