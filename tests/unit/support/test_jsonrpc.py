"""A JSON-RPC body is read in one pass, and what is wrong with one is told apart as JSON-RPC wants
it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from pydantic_core import to_json

from a2a_gen.support.base import Base64, Encoded, WireModel
from a2a_gen.support.binding import (
    AnyBinding,
    Binding,
    Empty,
    Operation,
    build_default,
    identity,
    serialize_as_is,
)
from a2a_gen.support.jsonrpc import CallProblem, InvalidCallError, JsonRpcParser, ParsedCall


class Send(WireModel):
    """A request with bytes in it."""

    raw: Base64


class Get(WireModel):
    """A request of a strict dialect."""

    id: str
    limit: int | None = None


class GetElsewhere(WireModel):
    """The same method in a forgiving dialect."""

    id: str = ""
    reason: str | None = None


class Many(WireModel):
    """A request with any number of things that can be wrong."""

    items: list[int]


def build_binding(dialect: str, request: type[WireModel], *, forgives: bool = False) -> AnyBinding:
    """Bind a made-up operation."""
    operation = Operation("Op", "op", streams=False, capability=None, calls={})
    return Binding(
        operation, dialect, request, identity, serialize_as_is, lenient_envelope=forgives
    )


STRICT: Mapping[str, AnyBinding] = {
    "Send": build_binding("strict", Send),
    "get": build_binding("strict", Get),
    "Card": build_binding("strict", Empty),
    "Many": build_binding("strict", Many),
}
FORGIVING: Mapping[str, AnyBinding] = {
    "get": build_binding("loose", GetElsewhere, forgives=True),
    "send": build_binding("loose", Empty, forgives=True),
}
BOTH = JsonRpcParser([STRICT, FORGIVING])
ONE = JsonRpcParser([STRICT])


def read_call(reader: JsonRpcParser, **members: object) -> ParsedCall:
    """Read a call that is right but for some members."""
    return reader.parse(json.dumps({"jsonrpc": "2.0", "id": 1, **members}).encode())


def read_requests(call: ParsedCall) -> list[WireModel]:
    """List the requests of a call, in the order of its bindings."""
    return [call.requests[each.dialect] for each in call.bindings]


def test_envelope_and_params_are_read_together() -> None:
    """The request is a model already, with bytes as bytes."""
    call = read_call(ONE, method="Send", params={"raw": "AP8="})
    assert (call.call_id, call.bindings, read_requests(call)) == (
        b"1",
        (STRICT["Send"],),
        [Send(raw=b"\x00\xff")],
    )


def test_a_shared_method_is_read_for_each_dialect() -> None:
    """The dialect is not known yet, so there is a request of each, in the order of the tables."""
    call = read_call(BOTH, method="get", params={"id": "x", "limit": 3, "reason": "because"})
    assert [each.dialect for each in call.bindings] == ["strict", "loose"]
    assert read_requests(call) == [Get(id="x", limit=3), GetElsewhere(id="x", reason="because")]


@pytest.mark.parametrize(
    "call_id",
    [
        '"abc"',
        "7",
        "-1",
        str(2**70),
        "1.5",
        "1.50",
        "-0.0",
        "1e3",
        "0.1234567890123456789",
        "null",
        '""',
    ],
)
def test_an_id_is_kept(call_id: str) -> None:
    """Texts, numbers of any size with all of their digits, and null are ids."""
    body = f'{{"method": "Card", "id": {call_id}, "jsonrpc": "2.0"}}'
    assert ONE.parse(body.encode()).call_id == call_id.encode()


def test_digits_are_kept_where_the_rest_is_forgiven() -> None:
    """A lenient dialect keeps the digits of an id."""
    assert BOTH.parse(b'{"id": 1.50, "method": "send", "params": null}').call_id == b"1.50"


def test_an_id_may_be_missing() -> None:
    """A call without an id has null for one."""
    assert ONE.parse(b'{"jsonrpc": "2.0", "method": "Card"}').call_id == b"null"


def test_params_may_be_missing_where_nothing_is_required() -> None:
    """Missing params are read as empty ones."""
    assert read_requests(read_call(ONE, method="Card")) == [Empty()]


PARAMS_PROBLEMS: dict[str, tuple[object, tuple[str, ...]]] = {
    "missing member": ({}, ("id",)),
    "wrong member": ({"id": 5, "limit": "many"}, ("id", "limit")),
    "list": ([1], ("",)),
    "null": (None, ("",)),
    "text": ("id", ("",)),
}


@pytest.mark.parametrize(("params", "where"), PARAMS_PROBLEMS.values(), ids=PARAMS_PROBLEMS.keys())
def test_wrong_params_name_every_place(params: object, where: tuple[str, ...]) -> None:
    """The places are those of the request, without the envelope."""
    with pytest.raises(InvalidCallError) as caught:
        read_call(ONE, method="get", params=params)
    assert (caught.value.problem, caught.value.call_id, caught.value.method) == (
        CallProblem.WRONG_PARAMS,
        b"1",
        "get",
    )
    assert tuple(place for place, _ in caught.value.fields) == where


def test_missing_params_name_the_missing_member() -> None:
    """A call without params lacks what it had to say in them."""
    with pytest.raises(InvalidCallError) as caught:
        read_call(ONE, method="get")
    assert (caught.value.problem, caught.value.fields) == (
        CallProblem.WRONG_PARAMS,
        (("id", "Field required"),),
    )


def test_equal_problems_are_listed_once() -> None:
    """The same problem in two dialects is one problem."""
    with pytest.raises(InvalidCallError) as caught:
        read_call(BOTH, method="get", params={"id": 5})
    assert caught.value.fields == (("id", "Input should be a valid string"),)


FAULTS: dict[str, tuple[bytes, CallProblem, object]] = {
    "nothing": (b"", CallProblem.NOT_JSON, None),
    "half": (b'{"jsonrpc": "2.0", "id": 1', CallProblem.NOT_JSON, None),
    "not UTF-8": (b'{"jsonrpc": "2.0", "id": "\xff"}', CallProblem.NOT_JSON, None),
    "too deep": (b"[" * 10_000, CallProblem.NOT_JSON, None),
    "two values": (b"{} {}", CallProblem.NOT_JSON, None),
    "batch": (b'[{"jsonrpc": "2.0", "id": 1, "method": "Card"}]', CallProblem.NOT_AN_OBJECT, None),
    "text": (b'"Card"', CallProblem.NOT_AN_OBJECT, None),
    "null": (b"null", CallProblem.NOT_AN_OBJECT, None),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', CallProblem.NOT_A_CALL, 1),
    "number as method": (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', CallProblem.NOT_A_CALL, 1),
    "null as method": (b'{"jsonrpc": "2.0", "id": 1, "method": null}', CallProblem.NOT_A_CALL, 1),
    "no version": (b'{"id": "a", "method": "Card"}', CallProblem.NOT_A_CALL, "a"),
    "other version": (b'{"jsonrpc": "1.0", "id": 1, "method": "Card"}', CallProblem.NOT_A_CALL, 1),
    "endless number as id": (
        b'{"jsonrpc": "2.0", "id": 1e999, "method": "Card"}',
        CallProblem.NOT_A_CALL,
        None,
    ),
    "no number as id": (
        b'{"jsonrpc": "2.0", "id": NaN, "method": "Card"}',
        CallProblem.NOT_A_CALL,
        None,
    ),
    "list as id": (
        b'{"jsonrpc": "2.0", "id": [1], "method": "Card"}',
        CallProblem.NOT_A_CALL,
        None,
    ),
    "fraction as id of an unknown method": (
        b'{"jsonrpc": "2.0", "id": 1.5, "method": "Other"}',
        CallProblem.UNKNOWN_METHOD,
        1.5,
    ),
    "boolean as id": (
        b'{"jsonrpc": "2.0", "id": true, "method": "Card"}',
        CallProblem.NOT_A_CALL,
        None,
    ),
    "object as id": (
        b'{"jsonrpc": "2.0", "id": {}, "method": "Card"}',
        CallProblem.NOT_A_CALL,
        None,
    ),
    "unknown method": (
        b'{"jsonrpc": "2.0", "id": 1, "method": "Other"}',
        CallProblem.UNKNOWN_METHOD,
        1,
    ),
    "method of another dialect": (
        b'{"jsonrpc": "2.0", "id": 1, "method": "send"}',
        CallProblem.UNKNOWN_METHOD,
        1,
    ),
}


@pytest.mark.parametrize(("body", "fault", "call_id"), FAULTS.values(), ids=FAULTS.keys())
def test_kinds_of_problems_are_distinguished(
    body: bytes, fault: CallProblem, call_id: object
) -> None:
    """Each kind has its own error, with the id of the call where one could be read."""
    with pytest.raises(InvalidCallError) as caught:
        ONE.parse(body)
    assert (caught.value.problem, json.loads(caught.value.call_id)) == (fault, call_id)


def test_an_unknown_method_is_in_the_error() -> None:
    """An endpoint can report the method."""
    with pytest.raises(InvalidCallError) as caught:
        read_call(ONE, method="Other")
    assert caught.value.method == "Other"


FORGIVEN: dict[str, tuple[bytes, object]] = {
    "no version": (b'{"id": 1, "method": "send", "params": {}}', 1),
    "object as id": (b'{"id": {"trace": null}, "method": "send", "params": {}}', {"trace": None}),
    "list as params": (b'{"id": 1, "method": "send", "params": [1]}', 1),
    "null as params": (b'{"id": 1, "method": "send", "params": null}', 1),
    "text as params": (b'{"id": 1, "method": "send", "params": "x"}', 1),
    "another version": (b'{"jsonrpc": "1.0", "id": 1, "method": "send"}', 1),
    "no number as id": (b'{"id": NaN, "method": "send"}', None),
}


@pytest.mark.parametrize(("body", "call_id"), FORGIVEN.values(), ids=FORGIVEN.keys())
def test_a_forgiving_dialect_takes_an_incomplete_envelope(body: bytes, call_id: object) -> None:
    """Params that are no object count as empty ones, and any JSON is an id."""
    call = BOTH.parse(body)
    assert (call.call_id, call.bindings, read_requests(call)) == (
        to_json(call_id),
        (FORGIVING["send"],),
        [Empty()],
    )


def test_a_binding_without_a_request_makes_one() -> None:
    """An operation that takes nothing in a dialect takes an empty canonical request."""
    operation = Operation("Op", "op", streams=False, capability=None, calls={})
    card = Binding(operation, "strict", Empty, build_default(Empty), serialize_as_is)
    assert card.parse(Empty()) == Empty()
    assert card.serialize is not None
    assert card.serialize(Encoded.of(Empty())) == b"{}"


def test_a_body_with_countless_faults_costs_no_more_than_it_weighs() -> None:
    """A hundred thousand wrong items are one fault with one place, not a hundred thousand."""
    with pytest.raises(InvalidCallError) as refused:
        read_call(ONE, method="Many", params={"items": [None] * 100_000})
    assert (refused.value.problem, refused.value.call_id, len(refused.value.fields)) == (
        CallProblem.WRONG_PARAMS,
        b"1",
        1,
    )
