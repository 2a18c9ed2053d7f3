"""Paths become routes."""

import pytest

from a2a_gen.ir.model import PathField
from a2a_gen.ir.tables import http_paths


@pytest.mark.parametrize(
    ("path", "segments", "verb", "fields"),
    [
        pytest.param("/tasks", ("tasks",), None, (), id="words"),
        pytest.param("/message:send", ("message",), "send", (), id="verb after a word"),
        pytest.param("/tasks/{id}", ("tasks", 0), None, (PathField("id", (0,)),), id="member"),
        pytest.param(
            "/tasks/{id}:cancel",
            ("tasks", 0),
            "cancel",
            (PathField("id", (0,)),),
            id="verb after a member",
        ),
        pytest.param(
            "/tasks/{taskId}/configs/{id}",
            ("tasks", 0, "configs", 1),
            None,
            (PathField("taskId", (0,)), PathField("id", (1,))),
            id="two",
        ),
        pytest.param(
            "/{name=tasks/*}", ("tasks", 0), None, (PathField("name", ("tasks", 0)),), id="piece"
        ),
        pytest.param(
            "/{name=tasks/*}:cancel",
            ("tasks", 0),
            "cancel",
            (PathField("name", ("tasks", 0)),),
            id="verb after a piece",
        ),
        pytest.param(
            "/{name=tasks/*/configs/*}",
            ("tasks", 0, "configs", 1),
            None,
            (PathField("name", ("tasks", 0, "configs", 1)),),
            id="long piece",
        ),
        pytest.param(
            "/{parent=tasks/*}/configs",
            ("tasks", 0, "configs"),
            None,
            (PathField("parent", ("tasks", 0)),),
            id="piece and word",
        ),
    ],
)
def test_route(
    path: str, segments: tuple[str | int, ...], verb: str | None, fields: tuple[PathField, ...]
) -> None:
    """Both ways of writing a path give the same segments, and say what each member is made of."""
    (made,) = http_paths((f"GET {path}",), ("",))
    assert (made.method, made.segments, made.verb, made.fields) == ("GET", segments, verb, fields)


def test_prefixes() -> None:
    """Every path stands below every prefix, and a prefix may have a parameter too."""
    plain, below = http_paths(("POST /tasks/{id}:stop",), ("", "/{tenant}"))
    assert (plain.path, plain.segments) == ("/tasks/{id}:stop", ("tasks", 0))
    assert (below.path, below.segments, below.verb) == (
        "/{tenant}/tasks/{id}:stop",
        (0, "tasks", 1),
        "stop",
    )
    assert below.fields == (PathField("tenant", (0,)), PathField("id", (1,)))


def test_no_prefix() -> None:
    """A dialect without prefixes has no routes."""
    assert list(http_paths(("GET /tasks",), ())) == []
