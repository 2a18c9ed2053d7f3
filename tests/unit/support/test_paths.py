"""Paths, queries and bodies of requests over HTTP+JSON."""

from __future__ import annotations

import pytest

from a2a_gen.support.base import WireModel
from a2a_gen.support.binding import AnyBinding, Binding, Operation, identity, serialize_as_is
from a2a_gen.support.http import PathBuilder, PathMember, RequestTarget, Route, RouteBinding

GET, CANCEL, HOOK, OTHER = (
    Operation(name, name, streams=False, capability=None, calls={})
    for name in ("get", "cancel", "hook", "other")
)


def bind(operation: Operation, dialect: str = "one") -> AnyBinding:
    """Bind an operation to any request."""
    return Binding(operation, dialect, WireModel, identity, serialize_as_is)


ROUTES = (
    Route(
        "/tasks/{id:str}",
        {
            ("GET", None): (
                RouteBinding(bind(GET), (PathMember("id", (0,)),)),
                RouteBinding(bind(GET, "two"), (PathMember("name", ("tasks", 0)),)),
            ),
            ("POST", "cancel"): (RouteBinding(bind(CANCEL), (PathMember("id", (0,)),)),),
        },
    ),
    Route(
        "/{tenant:str}/tasks/{id:str}",
        {
            ("GET", None): (
                RouteBinding(bind(GET), (PathMember("tenant", (0,)), PathMember("id", (1,)))),
            )
        },
    ),
    Route(
        "/tasks/{task:str}/hooks/{id:str}",
        {
            ("GET", None): (
                RouteBinding(bind(HOOK, "two"), (PathMember("name", ("tasks", 0, "hooks", 1)),)),
            )
        },
    ),
)
ONE = PathBuilder("one", ROUTES)
TWO = PathBuilder("two", ROUTES)

REQUESTS: dict[str, tuple[PathBuilder, Operation, dict[str, object], RequestTarget]] = {
    "member in the path": (ONE, GET, {"id": "t"}, RequestTarget("GET", "/tasks/t", (), None)),
    "the path that says more": (
        ONE,
        GET,
        {"id": "t", "tenant": "a"},
        RequestTarget("GET", "/a/tasks/t", (), None),
    ),
    "empty member": (
        ONE,
        GET,
        {"id": "t", "tenant": ""},
        RequestTarget("GET", "/tasks/t", (("tenant", ""),), None),
    ),
    "the rest in the query": (
        ONE,
        GET,
        {"id": "t", "deep": True, "limit": 3, "tags": ["a", "b&"]},
        RequestTarget(
            "GET",
            "/tasks/t",
            (("deep", "true"), ("limit", "3"), ("tags", "a"), ("tags", "b&")),
            None,
        ),
    ),
    "everything in the body": (
        ONE,
        CANCEL,
        {"id": "t", "deep": True},
        RequestTarget("POST", "/tasks/t:cancel", (), b'{"id":"t","deep":true}'),
    ),
    "slash, colon and space in an id": (
        ONE,
        CANCEL,
        {"id": "a/b: c"},
        RequestTarget("POST", "/tasks/a%2Fb%3A%20c:cancel", (), b'{"id":"a/b: c"}'),
    ),
    "id of dots": (ONE, GET, {"id": ".."}, RequestTarget("GET", "/tasks/%2E%2E", (), None)),
    "id that looks escaped": (
        ONE,
        GET,
        {"id": "%2F"},
        RequestTarget("GET", "/tasks/%252F", (), None),
    ),
    "name of a resource": (
        TWO,
        GET,
        {"name": "tasks/t"},
        RequestTarget("GET", "/tasks/t", (), None),
    ),
    "name with a slash in it": (
        TWO,
        GET,
        {"name": "tasks/a/b"},
        RequestTarget("GET", "/tasks/a%2Fb", (), None),
    ),
    "name of two": (
        TWO,
        HOOK,
        {"name": "tasks/t/hooks/h"},
        RequestTarget("GET", "/tasks/t/hooks/h", (), None),
    ),
}


@pytest.mark.parametrize(
    ("addresses", "operation", "said", "address"), REQUESTS.values(), ids=REQUESTS.keys()
)
def test_requests_become_paths(
    addresses: PathBuilder, operation: Operation, said: dict[str, object], address: RequestTarget
) -> None:
    """Path parameters are quoted, so no id leads to another path."""
    assert addresses.build(operation, said) == address


@pytest.mark.parametrize(
    ("addresses", "said"),
    [(ONE, {}), (ONE, {"id": ""}), (TWO, {"name": "jobs/1"})],
    ids=["nothing", "empty id", "name of another form"],
)
def test_a_request_that_fits_no_path_is_refused(
    addresses: PathBuilder, said: dict[str, object]
) -> None:
    """An empty id would ask for something else."""
    with pytest.raises(ValueError, match=r"path"):
        addresses.build(GET, said)


def test_each_dialect_has_its_operations() -> None:
    """An operation that a dialect has not over HTTP+JSON has no binding there."""
    assert ONE.find_binding(GET) is not None
    assert ONE.find_binding(HOOK) is None
    assert TWO.find_binding(OTHER) is None
