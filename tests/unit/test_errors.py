"""The runtime's own errors: every one can be shown, and none tells a caller what is for the log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from a2a_contract.errors import ERRORS, A2AError, InvalidParamsError
from a2a_runtime import errors
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError

OURS = [getattr(errors, name) for name in errors.__all__]


def _below(error: type[A2AError]) -> Iterator[type[A2AError]]:
    for child in error.__subclasses__():
        yield child
        yield from _below(child)


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.__name__)
def test_every_error_is_shown_as_one_of_the_contract(error: type[A2AError]) -> None:
    """Its nearest ancestor in the table says how, and its docstring says when it happens and what to do."""
    assert next(parent for parent in error.__mro__ if parent in ERRORS) is not A2AError
    assert error.__doc__ is not None
    assert error().message


def test_the_drawing_shows_every_error() -> None:
    """The hierarchy in the head of the module is that of the classes."""
    drawn = [line.replace("│", " ").replace("├─", "  ").replace("└─", "  ") for line in (errors.__doc__ or "").splitlines() if "─" in line]
    below: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in drawn:
        depth, name = len(line) - len(line.lstrip()), line.split()[0]
        path = [*(each for each in path if each[0] < depth), (depth, name)]
        below[name] = path[-2][1] if len(path) > 1 else A2AError.__name__
    assert {error.__name__: error.__bases__[0].__name__ for error in OURS} == {name: below[name] for name in errors.__all__}


@pytest.mark.parametrize("error", [StoreUnavailableError, *_below(StoreUnavailableError), UnsupportedStoreError], ids=lambda error: error.__name__)
def test_what_a_store_says_of_itself_is_for_the_log(error: type[StoreUnavailableError]) -> None:
    """A path or an address in the reason never reaches a caller."""
    raised = error("/var/lib/agent/tasks.db: disk full")
    assert "tasks.db" in str(raised)
    assert "tasks.db" not in raised.message
    assert str(error()) == raised.message


def test_an_error_says_where() -> None:
    """In a log or a traceback, the places are there too; the message on the wire is without them."""
    error = InvalidParamsError("Wrong", fields=(("a.b", "too small"), ("c", "missing")))
    assert (str(error), error.message) == ("Wrong; a.b: too small; c: missing", "Wrong")
