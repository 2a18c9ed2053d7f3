"""Conversion of a handler's return values."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from enum import IntEnum, StrEnum
from math import inf, nan
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Artifact, Message, Part, Role
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers.results import (
    RESULT,
    ResultTypeError,
    find_data,
    to_artifact,
    to_chunk,
    to_parts,
)
from a2a_runtime.stores.fragments import encode_chunk


class Word(StrEnum):
    """A text that is more."""

    HELLO = "hello"


class Number(IntEnum):
    """A number that is more."""

    ONE = 1


@pytest.mark.parametrize(
    ("value", "json"),
    [
        ("hi", b'{"text":"hi"}'),
        (Word.HELLO, b'{"text":"hello"}'),
        (
            {"b": None, "a": 10**39},
            b'{"data":{"b":null,"a":1000000000000000000000000000000000000000}}',
        ),
        (OrderedDict(x=1), b'{"data":{"x":1}}'),
        ([1, "2"], b'{"data":[1,"2"]}'),
        (2**53 + 1, b'{"data":9007199254740993}'),
        (Number.ONE, b'{"data":1}'),
        (1.5, b'{"data":1.5}'),
        (False, b'{"data":false}'),
        (JSON_NULL, b'{"data":null}'),
        (
            {"when": date(2026, 1, 2), "who": [Word.HELLO]},
            b'{"data":{"when":"2026-01-02","who":["hello"]}}',
        ),
        (b"\x00\xff", b'{"raw":"AP8=","mediaType":"application/octet-stream"}'),
        (bytearray(b"a"), b'{"raw":"YQ==","mediaType":"application/octet-stream"}'),
        (Part(url="https://example.org/a"), b'{"url":"https://example.org/a"}'),
    ],
    ids=[
        "text",
        "word",
        "object",
        "ordered",
        "list",
        "large",
        "enum",
        "float",
        "bool",
        "null",
        "nested",
        "bytes",
        "bytearray",
        "part",
    ],
)
def test_values_become_parts(value: object, json: bytes) -> None:
    """Each kind of value has one form as a part, and nothing of it is bent."""
    (part,) = to_parts(value)
    assert part.to_json() == json


class Price(BaseModel):
    """A model with a name of its own in JSON."""

    total_cents: int = Field(alias="totalCents")
    due: date


@dataclass
class Place:
    """A dataclass."""

    name: str
    near: tuple[str, ...] = ()


PRICE = Price(totalCents=10**20, due=date(2026, 1, 2))
PRICED = {"totalCents": 10**20, "due": "2026-01-02"}

STRUCTURES: dict[str, tuple[object, object]] = {
    "model": (PRICE, PRICED),
    "dataclass": (Place("here", ("a", "b")), {"name": "here", "near": ["a", "b"]}),
    "tuple": ((1, "a"), [1, "a"]),
    "tuple with a name": (NamedTuple("Pair", [("x", int)])(1), [1]),
    "models in a list": ([PRICE, PRICE], [PRICED, PRICED]),
    "models in an object": (
        {"at": Place("here"), "prices": (PRICE,)},
        {"at": {"name": "here", "near": []}, "prices": [PRICED]},
    ),
}


@pytest.mark.parametrize(("value", "data"), STRUCTURES.values(), ids=STRUCTURES.keys())
def test_structures_become_json(value: object, data: object) -> None:
    """Models and dataclasses are serialized at any depth."""
    assert to_parts(value) == [Part(data=data)]


def test_values_inside_a_plain_object_become_json_as_in_dataclasses() -> None:
    """Dates, sets, UUIDs and enums need no model around them."""
    assert to_parts({"when": date(2026, 11, 18), "tags": {"a"}, "in": [Place("x")]}) == [
        Part(data={"when": "2026-11-18", "tags": ["a"], "in": [to_parts(Place("x"))[0].data]})
    ]


def test_a_structure_without_json_raises() -> None:
    """The error names the type and the member."""
    with pytest.raises(ResultTypeError, match=r"Place cannot be serialized as JSON: .*object"):
        to_parts(Place(object()))  # type: ignore[arg-type]  # the mistake that is meant


@pytest.mark.parametrize(
    "value", [None, object(), {1, 2}, lambda: 1], ids=["nothing", "object", "set", "function"]
)
def test_unsupported_values_raise_with_the_supported_ones(value: object) -> None:
    """The error lists the supported types."""
    with pytest.raises(ResultTypeError, match="return text, JSON"):
        to_parts(value)


@pytest.mark.parametrize(
    "value",
    [{"a": float("nan")}, {"a": object()}, float("inf")],
    ids=["nan", "object inside", "infinity"],
)
def test_values_without_json_raise(value: object) -> None:
    """NaN, infinity and objects without a JSON form are not converted."""
    with pytest.raises((ValidationError, ResultTypeError)):
        to_parts(value)


@dataclass
class Measured:
    """A dataclass with a number."""

    values: list[float]


@pytest.mark.parametrize(
    "value",
    [
        Measured([1.0, inf]),
        {"values": [0, nan]},
        [Price.model_construct(total_cents=nan, due=date.min)],
    ],
    ids=["dataclass", "dict", "model"],
)
def test_numbers_that_json_lacks_are_refused_with_their_place(value: object) -> None:
    """Pydantic would write null, and the caller would never know."""
    with pytest.raises(
        ResultTypeError,
        match=(
            r"cannot be serialized as JSON: (values\[1\]|\[0\]\.totalCents): "
            r"infinity and NaN are no JSON; "
        ),
    ):
        to_parts(value)


@given(text=st.text())
def test_a_text_becomes_the_chunk_that_its_model_would(text: str) -> None:
    """It is encoded without a model; half a surrogate pair is refused as in a model."""
    try:
        expected = encode_chunk(to_artifact(text))
    except ValidationError as error:
        with pytest.raises(ValidationError, match=re.escape(error.errors()[0]["msg"])):
            to_chunk(text)
        assert to_chunk(text, is_lossy=True) == encode_chunk(to_artifact(text, is_lossy=True))
    else:
        assert to_chunk(text) == expected


def test_parts_in_a_list_stay_parts() -> None:
    """Each of them, and what stands beside them becomes parts of its own."""
    one = Part(text="hi")
    two = Part(raw=b"ho", filename="ho.txt")
    assert to_parts([one, two]) == [one, two]
    assert to_parts((one, "text", {"a": 1})) == [one, Part(text="text"), Part(data={"a": 1})]
    assert to_parts(["hi", "ho"]) == [Part(data=["hi", "ho"])]


def test_artifacts_and_messages_keep_their_parts() -> None:
    """A value becomes the artifact "result"; an artifact is one already."""
    own = Artifact(artifact_id="mine", parts=[Part(text="a"), Part(data={"x": 1}), Part(text="b")])
    said = Message(message_id="m", role=Role.AGENT, parts=own.parts)
    assert to_artifact(own) is own
    assert to_artifact("hi") == Artifact(artifact_id=RESULT, name=RESULT, parts=[Part(text="hi")])
    assert (join_texts(said), join_texts(own)) == ("a\nb", "ab")
    assert find_data(to_parts(said)) == {"x": 1}
    assert find_data([]) is None
