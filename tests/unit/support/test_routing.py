"""Verbs after a colon, and requests made of path, query and body."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from a2a_gen.support.base import Base64, WireModel
from a2a_gen.support.binding import AnyBinding, Binding, Operation, identity, serialize_as_is
from a2a_gen.support.http import PathMember, Route, RouteBinding, RouteMatch


class Request(WireModel):
    """A request with a member of every kind that a query can hold."""

    id: str | None = None
    name: str | None = None
    limit: int | None = None
    deep: bool | None = None
    tags: list[str] | None = None
    raw: Base64 | None = None
    metadata: dict[str, object] | None = None


def bind(name: str) -> AnyBinding:
    """Bind a made-up operation to the request."""
    return Binding(
        Operation(name, name, streams=False, capability=None, calls={}),
        "any",
        Request,
        identity,
        serialize_as_is,
    )


GET, CANCEL, SUBSCRIBE = (
    RouteBinding(bind(name), (PathMember("id", (0,)),)) for name in ("get", "cancel", "subscribe")
)
TASK = Route(
    "/tasks/{id:str}",
    {
        ("GET", None): (GET,),
        ("POST", "cancel"): (CANCEL,),
        ("GET", "subscribe"): (SUBSCRIBE,),
        ("POST", "subscribe"): (SUBSCRIBE,),
    },
)

PATHS: dict[str, tuple[str, str, RouteBinding | None, str]] = {
    "no verb": ("GET", "t-1", GET, "t-1"),
    "verb": ("POST", "t-1:cancel", CANCEL, "t-1"),
    "verb of two methods": ("POST", "t-1:subscribe", SUBSCRIBE, "t-1"),
    "id with a colon": ("GET", "a:b", GET, "a:b"),
    "id with a colon and a verb": ("POST", "a:b:cancel", CANCEL, "a:b"),
    "id that ends like a verb of another method": ("GET", "a:cancel", GET, "a:cancel"),
    "id that ends like a verb, and the verb": ("POST", "a:cancel:cancel", CANCEL, "a:cancel"),
    "unknown verb": ("GET", "a:stop", GET, "a:stop"),
    "verb in capitals": ("GET", "a:SUBSCRIBE", GET, "a:SUBSCRIBE"),
    "colon at the end": ("GET", "a:", GET, "a:"),
    "method without a verb": ("POST", "t-1", None, ""),
    "verb without an id": ("POST", ":cancel", None, ""),
    "other method": ("DELETE", "t-1", None, ""),
    "method in small letters": ("get", "t-1", None, ""),
}


@pytest.mark.parametrize(("method", "path", "choice", "task"), PATHS.values(), ids=PATHS.keys())
def test_only_a_verb_of_the_method_is_split_off(
    method: str, path: str, choice: RouteBinding | None, task: str
) -> None:
    """Ids may hold colons: the end of a path is a verb only where this HTTP method has it."""
    assert TASK.match(method, (path,)) == (
        None if choice is None else RouteMatch((choice,), (task,))
    )


@pytest.mark.parametrize(
    ("path", "methods"),
    [("t-1", ("GET",)), ("t-1:cancel", ("GET", "POST")), ("", ("GET",))],
    ids=["id", "verb", "nothing"],
)
def test_a_path_names_its_methods(path: str, methods: tuple[str, ...]) -> None:
    """The error for a wrong method lists the right ones."""
    assert TASK.methods((path,)) == methods


def test_a_path_without_parameters_has_its_methods() -> None:
    """Nothing is split off a path without parameters."""
    route = Route("/tasks", {("GET", None): (GET,)})
    assert route.match("GET", ()) == RouteMatch((GET,), ())
    assert route.match("POST", ()) is None


def build_request(
    *,
    query: bytes = b"",
    body: bytes = b"",
    members: tuple[PathMember, ...] = (),
    parameters: tuple[str, ...] = (),
) -> WireModel:
    """Make a request of its pieces."""
    choice = RouteBinding(
        bind("any"), members, lists=frozenset({"tags"}), flags=frozenset({"deep"})
    )
    return RouteMatch((choice,), parameters).parse(choice, query, body)


QUERIES: dict[str, tuple[bytes, Request]] = {
    "nothing": (b"", Request()),
    "every kind": (b"name=a%20b&limit=5&deep=true", Request(name="a b", limit=5, deep=True)),
    "not ASCII": (b"name=%E4%BD%A0", Request(name="你")),
    "list with commas": (b"tags=a,b", Request(tags=["a", "b"])),
    "repeated list": (b"tags=a&tags=b,c", Request(tags=["a", "b", "c"])),
    "repeated value": (b"name=a&name=b", Request(name="b")),
    "comma in a value": (b"name=a,b", Request(name="a,b")),
    "unknown": (b"other=1", Request()),
    "plus": (b"name=a+b", Request(name="a b")),
}


@pytest.mark.parametrize(("query", "request_"), QUERIES.values(), ids=QUERIES.keys())
def test_a_query_is_a_request(query: bytes, request_: Request) -> None:
    """Numbers and booleans are read from text, and lists may be repeated or have commas."""
    assert build_request(query=query) == request_


def test_a_body_is_a_request() -> None:
    """A body alone is read in one go, bytes included."""
    assert build_request(
        body=b'{"raw": "AP8=", "metadata": {"n": 123456789012345678901234567890}}'
    ) == Request(raw=b"\x00\xff", metadata={"n": 123456789012345678901234567890})


def test_a_body_keeps_its_values_beside_a_path() -> None:
    """Integers stay integers when the path adds a member."""
    big = 123456789012345678901234567890
    request = build_request(
        body=b'{"raw": "AP8=", "metadata": {"n": %d, "x": null}}' % big,
        members=(PathMember("id", (0,)),),
        parameters=("t",),
    )
    assert request == Request(id="t", raw=b"\x00\xff", metadata={"n": big, "x": None})


def test_the_path_goes_before_the_body_and_the_body_before_the_query() -> None:
    """The body cannot change values of the path."""
    members = (PathMember("id", (0,)),)
    assert build_request(
        query=b"id=q&name=q&limit=1",
        body=b'{"id": "b", "name": "b"}',
        members=members,
        parameters=("p",),
    ) == Request(id="p", name="b", limit=1)


def test_a_member_can_be_made_of_several_segments() -> None:
    """A resource name joins what stands in the path."""
    members = (PathMember("name", ("tasks", 0, "configs", 1)),)
    assert build_request(members=members, parameters=("a:b", "c")) == Request(
        name="tasks/a:b/configs/c"
    )


BAD_BODIES = {
    "not JSON": b"{",
    "list": b"[1]",
    "text": b'"x"',
    "wrong member": b'{"limit": "many"}',
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
@pytest.mark.parametrize("query", [b"", b"name=a"], ids=["body alone", "with a query"])
def test_a_wrong_body_is_refused(body: bytes, query: bytes) -> None:
    """Whatever is wrong with a body is Pydantic's error, with or without other pieces."""
    with pytest.raises(ValidationError):
        build_request(query=query, body=body)


def test_a_body_may_be_one_member_of_the_request() -> None:
    """Transcoding of gRPC sends one member; its own member tells it, and a body with the member is
    the whole request.
    """
    choice = RouteBinding(bind("create"), (PathMember("id", (0,)),), body=("metadata", "name"))
    match = RouteMatch((choice,), ("t-1",))
    assert match.request_members(choice, b"", b'{"name":"n"}') == {
        "id": "t-1",
        "metadata": {"name": "n"},
    }
    for whole in (b'{"metadata":{"name":"n"},"name":"n"}', b'{"limit":1}'):
        assert (
            "metadata" not in match.request_members(choice, b"", whole)
            or match.request_members(choice, b"", whole)["name"] == "n"
        )


def test_misplaced_members_are_moved_to_free_places() -> None:
    """A place that is taken, or that is in no object, stays as it is."""
    binding = replace(bind("send"), misplaced=(("messageId", ("message", "messageId")),))
    assert binding.mend({"message": {"a": 1}, "messageId": "m", "b": 2}) == {
        "message": {"a": 1, "messageId": "m"},
        "b": 2,
    }
    for members in (
        {"message": {"messageId": "n"}, "messageId": "m"},
        {"messageId": "m"},
        {"message": "x", "messageId": "m"},
        {"message": {}},
    ):
        assert binding.mend(members) is None
