"""Starts that fail: the report of the error."""

from __future__ import annotations

import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.base.importing import explain_missing
from a2a_runtime.cli.startup import report_import_error, report_start_error


def test_an_error_on_purpose_ends_with_the_line_of_the_app() -> None:
    """The steps of the package to its own error say nothing to those who wrote the app."""
    with pytest.raises(TypeError) as raised:
        # The wrong type is the point of the test.
        Agent("a").add("s", lambda ctx: ctx, tag=["x"])  # type: ignore[call-arg]
    message = report_import_error("hello:app", raised.value).message
    assert "unknown options tag; known: " in message
    assert message.count("  File ") == 1
    assert __file__ in message


def test_an_error_of_the_package_itself_shows_all_of_its_steps() -> None:
    """So that it can be reported."""
    with pytest.raises(TypeError) as raised:
        # No check expects a number.
        Agent("a").add("s", lambda ctx: ctx, tags=3)  # type: ignore[arg-type]
    assert "agent.py" in report_import_error("hello:app", raised.value).message


def test_a_missing_extra_at_start_is_a_configuration_error() -> None:
    """The line has the command that installs it, without a traceback."""
    with pytest.raises(ModuleNotFoundError) as raised, explain_missing("store"):
        raise ModuleNotFoundError(name="asyncpg")
    error = report_start_error(raised.value)
    assert (error.exit_code, error.message) == (
        1,
        "store: asyncpg is not installed; run pip install 'a2a-gen[postgres]'",
    )
