"""Unions without a tag: the branch is found by its member, and a wrong value has one error."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import AliasChoices, Field, StrictInt, TypeAdapter, ValidationError

from a2a_gen.support.base import AnyOf, JsonAny, JsonNull, UnionByMember, WireModel


class Inline(WireModel):
    """A file with its content."""

    bytes: Annotated[str, Field(validation_alias=AliasChoices("bytes", "data"))]
    name: str | None = None


class Linked(WireModel):
    """A file elsewhere."""

    uri: str
    name: str | None = None


class Result(WireModel):
    """An answer that may be null."""

    result: JsonAny


class Failure(WireModel):
    """A refusal."""

    error: str


class Holder(WireModel):
    """An object with such members."""

    file: Annotated[
        Inline | Linked,
        UnionByMember({"bytes": "Inline", "uri": "Linked"}, aliases=(("data", "bytes"),)),
    ]
    other: Annotated[
        Inline | Linked | None,
        UnionByMember({"bytes": "Inline", "uri": "Linked"}, aliases=(("data", "bytes"),)),
    ] = None
    id: Annotated[str | StrictInt | JsonNull | None, AnyOf("string or integer or null")] = None


ANSWER = TypeAdapter(
    Annotated[
        Result | Failure, UnionByMember({"result": "Result", "error": "Failure"}, ("result",))
    ]
)


@pytest.mark.parametrize(
    ("file", "branch"),
    [
        pytest.param({"bytes": "YQ=="}, Inline, id="first"),
        pytest.param({"uri": "x:", "name": "a"}, Linked, id="second"),
        pytest.param({"data": "YQ=="}, Inline, id="alias"),
        pytest.param({"uri": "x:", "bytes": None}, Linked, id="null-is-nothing"),
        pytest.param({"uri": "x:", "size": 5}, Linked, id="unknown-member"),
        pytest.param(Linked(uri="x:"), Linked, id="model"),
    ],
)
def test_a_branch_is_found_by_its_member(file: object, branch: type[WireModel]) -> None:
    """The member that only one branch has says which branch it is."""
    holder = Holder.model_validate({"file": file, "other": file})
    assert type(holder.file) is branch
    assert type(holder.other) is branch
    assert Holder.model_validate_json(holder.to_json()) == holder


@pytest.mark.parametrize(
    "file", [{}, {"name": "a"}, {"bytes": "YQ==", "uri": "x:"}, {"bytes": None}, "x:", 5, [], None]
)
def test_neither_branch_or_both_are_one_error(file: object) -> None:
    """The one error is at the place of the union and names the members."""
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"file": file})
    (error,) = caught.value.errors()
    assert error["loc"] == ("file",)
    assert error["msg"] == "Input should be an object with exactly one of bytes, uri"


def test_an_error_inside_a_branch_has_its_path() -> None:
    """Once the branch is known, only its errors count."""
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"file": {"bytes": "YQ==", "name": 5}})
    assert [each["loc"][-1] for each in caught.value.errors()] == ["name"]


@pytest.mark.parametrize("value", [{"result": None, "error": "a"}, {"result": 1, "error": "a"}])
def test_null_counts_where_it_is_a_value(value: object) -> None:
    """A result of null beside an error is both."""
    with pytest.raises(ValidationError):
        ANSWER.validate_python(value)


def test_a_null_result_is_a_result() -> None:
    """A response with a null result is an answer."""
    assert isinstance(ANSWER.validate_json(b'{"result": null}'), Result)


@pytest.mark.parametrize(
    ("value", "read"),
    [("a", "a"), ("5", "5"), (5, 5), (None, None)],
    ids=["text", "digits", "number", "null"],
)
def test_a_value_of_any_type_of_a_union_is_kept(value: object, read: object) -> None:
    """Text stays text and a number stays a number."""
    assert Holder.model_validate({"file": {"uri": ""}, "id": value}).id == read


@pytest.mark.parametrize("value", [1.5, True, [], {}])
def test_a_value_of_no_type_of_a_union_is_one_error(value: object) -> None:
    """One error that names the types, not one for each of them."""
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"file": {"uri": ""}, "id": value})
    assert [(each["loc"], each["msg"]) for each in caught.value.errors()] == [
        (("id",), "Input should be of type string or integer or null")
    ]


@pytest.mark.parametrize("mark", [AnyOf("text"), UnionByMember({})], ids=["any-of", "told-apart"])
def test_only_unions_have_branches(mark: object) -> None:
    """A mark on anything else is a mistake of the generator, and is told when the model is made."""
    with pytest.raises(TypeError):
        TypeAdapter(Annotated[str, mark])
