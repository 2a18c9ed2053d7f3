"""Rules of the task lifecycle, over the table of the contract."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from a2a_contract.lifecycle import LIFECYCLE, State
from a2a_runtime.base import lifecycle


def test_every_state_is_of_one_kind() -> None:
    """Active, interrupted and terminal states are all states, and no state is two of them."""
    kinds = (lifecycle.ACTIVE, lifecycle.INTERRUPTED, lifecycle.TERMINAL)
    assert sorted(state for kind in kinds for state in kind) == sorted(State)


def test_nothing_follows_a_terminal_state() -> None:
    """A terminal state allows no transition, no message and no cancellation."""
    for state in lifecycle.TERMINAL:
        assert not any(lifecycle.can_follow(after, state) for after in State)
        assert not lifecycle.accepts_messages(state)
        assert not lifecycle.is_cancelable(state)
        assert lifecycle.is_terminal(state)


def test_every_other_state_can_end_in_every_way() -> None:
    """Each terminal state directly follows each state that is not terminal."""
    for before in lifecycle.ACTIVE | lifecycle.INTERRUPTED:
        assert all(lifecycle.can_follow(end, before) for end in lifecycle.TERMINAL)
        assert not lifecycle.is_terminal(before)


@pytest.mark.parametrize("state", State)
def test_predecessors_are_the_inverse_of_can_follow(state: State) -> None:
    """Both functions read the same transitions."""
    assert lifecycle.predecessors(state) == {
        before for before in State if lifecycle.can_follow(state, before)
    }


def test_a_suspended_task_needs_no_process() -> None:
    """Only active tasks need a process; a suspended one continues when it becomes active."""
    for state in lifecycle.INTERRUPTED:
        assert not lifecycle.is_active(state)
        assert any(lifecycle.can_follow(active, state) for active in lifecycle.ACTIVE)
    assert lifecycle.is_active(lifecycle.INITIAL)


def test_the_module_is_pure() -> None:
    """It imports the table and nothing that could wait, read or write."""
    tree = ast.parse(Path(lifecycle.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported == {"__future__", "a2a_contract.lifecycle"}
    assert set(LIFECYCLE) == set(State)
