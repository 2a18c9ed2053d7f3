"""Values that cross the boundary of a skill: read by the schema first, written so that absent stays
absent.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf, nan
from typing import Annotated, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, Field
from pydantic_core import PydanticSerializationError

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.finite import NOT_FINITE
from a2a_runtime.skills.annotations import AnnotatedSchema
from a2a_runtime.skills.model import ClosedModel, Number, SkillModel
from a2a_runtime.skills.schema import TEXT, SchemaMismatchError, TypedSchema


class Order(SkillModel):
    """A model with every kind of member."""

    __nullable__ = frozenset({"note"})
    __tags__ = frozenset({"kind"})

    kind: Literal["order"] = "order"
    item: str
    item_count: Annotated[int, Field(alias="itemCount")] = 1
    price: Number | None = None
    note: str | None = None
    due: AwareDatetime | None = None


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "kind": {"const": "order"},
        "item": {"type": "string", "minLength": 1},
        "itemCount": {"type": "integer", "minimum": 1, "default": 1},
        "price": {"type": "number"},
        "note": {"type": ["string", "null"]},
        "due": {"type": "string", "format": "date-time"},
    },
    "required": ["kind", "item"],
    "if": {"required": ["price"]},
    "then": {"required": ["due"]},
}
FORM: TypedSchema[Order] = TypedSchema(Order, SCHEMA)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Order(item="a"), {"kind": "order", "item": "a"}),
        (Order(item="a", item_count=1), {"kind": "order", "item": "a", "itemCount": 1}),
        (Order(item="a", note=None, price=None), {"kind": "order", "item": "a", "note": None}),
        (
            Order(item="a", due=datetime(2024, 5, 1, tzinfo=UTC)),
            {"kind": "order", "item": "a", "due": "2024-05-01T00:00:00Z"},
        ),
    ],
    ids=["nothing set", "a default set", "null where it may be", "a point in time"],
)
def test_unset_members_are_not_written(value: Order, written: JsonObject) -> None:
    """Tags are always written, other members if they were set, and None only where null is a
    value.
    """
    assert FORM.serialize(value) == written


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ({"kind": "order"}, ["item"]),
        ({"kind": "order", "item": "", "itemCount": 0}, ["item", "itemCount"]),
        ({"kind": "order", "item": "a", "price": 1}, ["due"]),
        ({"kind": "order", "item": "a", "due": "tomorrow"}, ["due"]),
        ({"kind": "order", "item": "a", "price": None}, ["price", "due"]),
        ([], [""]),
        (JSON_NULL, [""]),
    ],
    ids=[
        "missing",
        "two at once",
        "a keyword that types lack",
        "format",
        "null",
        "another type",
        "nothing",
    ],
)
def test_a_mismatch_lists_field_errors(value: object, places: list[str]) -> None:
    """The schema decides before a model is made, and reports every place."""
    with pytest.raises(SchemaMismatchError) as refused:
        FORM.parse(value)
    assert [place for place, _ in refused.value.fields] == places
    assert str(refused.value)


def test_names_of_python_are_no_names_of_the_wire() -> None:
    """A member that happens to have the Python name of another is unknown, whatever it holds."""
    assert FORM.parse({"kind": "order", "item": "a", "item_count": "many"}).item_count == 1


@pytest.mark.parametrize("number", [10**30, 1.5, -0.0, 2**63], ids=str)
def test_numbers_keep_their_digits(number: float) -> None:
    """Integers of any length stay integers, beside members that take fractions."""
    read = FORM.parse(
        {"kind": "order", "item": "a", "price": number, "due": "2024-05-01T00:00:00Z"}
    )
    assert (read.price, type(read.price)) == (number, type(number))


@pytest.mark.parametrize(
    "rest",
    [
        {"colour": None},
        {"item_count": "x"},
        {"model_dump": [1.0, 10**30]},
        {"": {"a": {}}},
        {"__class__": 1},
    ],
    ids=["null", "a name of Python", "a name of Pydantic", "no name", "a name of every object"],
)
def test_members_that_the_schema_does_not_speak_of_come_through(rest: JsonObject) -> None:
    """An open object is written with everything that it was read with."""
    document = {"kind": "order", "item": "a", "itemCount": 2, **rest}
    value = FORM.parse(document)
    assert (value.item_count, value.model_extra) == (2, rest)
    assert FORM.serialize(value) == document


def test_a_value_of_another_type_is_not_written() -> None:
    """The schema refuses a value that no type checker has seen."""
    with pytest.raises(SchemaMismatchError):
        FORM.serialize("a text")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(SchemaMismatchError) as refused:
        FORM.serialize(Order(item=""))
    assert [place for place, _ in refused.value.fields] == ["item"]


def test_unknown_members_are_kept_or_refused() -> None:
    """The base of a model decides whether unknown members are kept or refused."""
    assert SkillModel.model_validate({"a": 1}).model_dump() == {"a": 1}
    with pytest.raises(ValueError, match="Extra inputs"):
        ClosedModel.model_validate({"a": 1})


def test_field_paths_begin_at_the_message() -> None:
    """The path leads through the part that carries the value."""
    error = SchemaMismatchError((("", "a"), ("b.c", "d"), ("[0]", "e")))
    assert error.prefix_fields("message.parts[0].data") == (
        ("message.parts[0].data", "a"),
        ("message.parts[0].data.b.c", "d"),
        ("message.parts[0].data[0]", "e"),
    )


def test_text_needs_no_schema() -> None:
    """A skill without schemas takes and gives any text."""
    assert (TEXT.parse("a"), TEXT.serialize("a"), TEXT.validator.is_text, TEXT.id) == (
        "a",
        "a",
        True,
        "",
    )
    assert len(TEXT.digest) == 64


@pytest.mark.parametrize(
    ("text", "count"), [("1e20", 10**20), ("1e2", 100), ("36893488147419103232", 2**65)]
)
def test_integers_may_be_written_with_an_exponent(text: str, count: int) -> None:
    """An integer of any size is one, however it is written."""
    assert FORM.read(f'{{"kind": "order", "item": "a", "itemCount": {text}}}').item_count == count


@pytest.mark.parametrize("text", ["1e400", "-1E+999", "9" * 400 + ".5"])
def test_a_number_beyond_every_float_is_refused(text: str) -> None:
    """It would become infinity, also in free members, which no JSON can say."""
    with pytest.raises(SchemaMismatchError) as caught:
        FORM.read(f'{{"kind": "order", "item": "a", "more": [0, {text}]}}'.encode())
    assert caught.value.fields == (("more[1]", "the number is too large"),)


def _order_with(**members: object) -> Order:
    order = Order(item="a")
    for name, value in members.items():
        setattr(order, name, value)
    return order


@pytest.mark.parametrize(
    ("order", "place"),
    [
        (_order_with(price=inf), "price"),
        (_order_with(more=[0, {"a": -inf}]), "more[1].a"),
        (_order_with(inner=Order(item="b", more=(1, nan))), "inner.more[1]"),
    ],
    ids=["a number", "a free member", "a model in a free member"],
)
def test_numbers_that_json_lacks_are_not_written(order: Order, place: str) -> None:
    """They would become null in silence; the error names the place and the cure, whatever
    writes.
    """
    with pytest.raises(SchemaMismatchError) as caught:
        FORM.serialize(order)
    assert caught.value.fields == ((place, NOT_FINITE),)
    for write in (order.model_dump_json, lambda: order.model_dump(mode="json")):
        with pytest.raises(
            PydanticSerializationError, match=r"Order\..+: infinity and NaN are no JSON; "
        ):
            write()
    assert order.model_dump()["item"] == "a"


def test_numbers_that_json_lacks_are_not_written_outside_of_models() -> None:
    """A list or free JSON has no model that checks it."""
    for form, value in (
        (TypedSchema[object](object, {}), {"a": [nan]}),
        (TypedSchema[object](list[Order], {}), [_order_with(price=inf)]),
    ):
        with pytest.raises(SchemaMismatchError, match="infinity and NaN are no JSON"):
            form.write(value)


class Reading(BaseModel):
    """A model of a handler, with members that Pydantic writes as null."""

    value: float | None = None
    free: object = None


@pytest.mark.parametrize(
    ("value", "place"),
    [(Reading(value=inf), "value"), (Reading(free={"a": [nan]}), "free.a[0]")],
    ids=["number", "free"],
)
def test_results_of_annotated_functions_hold_no_numbers_that_json_lacks(
    value: Reading, place: str
) -> None:
    """Models of the application are refused too; null itself is written."""
    form: AnnotatedSchema[Reading] = AnnotatedSchema(Reading, "serialization", "urn:test")
    with pytest.raises(SchemaMismatchError) as caught:
        form.serialize(value)
    assert caught.value.fields == ((place, NOT_FINITE),)
    assert form.serialize(Reading(value=1.5)) == {"value": 1.5, "free": None}
