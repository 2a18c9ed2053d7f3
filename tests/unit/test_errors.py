"""Errors of the runtime: each can be rendered, and none shows a client what is for the log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from a2a_contract.errors import ERRORS, A2AError, InvalidParamsError
from a2a_runtime import errors
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError

OURS = [error for name in errors.__all__ if issubclass(error := getattr(errors, name), A2AError)]


def _below(error: type[A2AError]) -> Iterator[type[A2AError]]:
    for child in error.__subclasses__():
        yield child
        yield from _below(child)


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.__name__)
def test_every_error_is_one_of_the_contract(error: type[A2AError]) -> None:
    """Its nearest base class in the table says how it is rendered, and its docstring when it
    happens.
    """
    assert next(parent for parent in error.__mro__ if parent in ERRORS) is not A2AError
    assert error.__doc__ is not None
    assert error().message


def test_the_tree_has_every_error() -> None:
    """The tree in the docstring of the module is that of the classes."""
    drawn = [
        line.replace("│", " ").replace("├─", "  ").replace("└─", "  ")
        for line in (errors.__doc__ or "").splitlines()
        if "─" in line
    ]
    below: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in drawn:
        depth = len(line) - len(line.lstrip())
        name = line.split()[0]
        path = [*(each for each in path if each[0] < depth), (depth, name)]
        below[name] = path[-2][1] if len(path) > 1 else A2AError.__name__
    assert {error.__name__: error.__bases__[0].__name__ for error in OURS} == {
        error.__name__: below[error.__name__] for error in OURS
    }


@pytest.mark.parametrize(
    "error",
    [StoreUnavailableError, *_below(StoreUnavailableError), UnsupportedStoreError],
    ids=lambda error: error.__name__,
)
def test_reasons_of_a_store_are_for_the_log(error: type[StoreUnavailableError]) -> None:
    """A path or URL in the reason never reaches a client."""
    raised = error("/var/lib/agent/tasks.db: disk full")
    assert "tasks.db" in str(raised)
    assert "tasks.db" not in raised.message
    assert str(error()) == raised.message


def test_the_text_of_an_error_has_its_fields() -> None:
    """A log or traceback shows field errors; the message on the wire does not."""
    error = InvalidParamsError("Wrong", fields=(("a.b", "too small"), ("c", "missing")))
    assert (str(error), error.message) == ("Wrong; a.b: too small; c: missing", "Wrong")
