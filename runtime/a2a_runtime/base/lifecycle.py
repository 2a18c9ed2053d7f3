"""Lifecycle of a task: which state may follow which, and what a state allows.

Pure rules over the generated table.

A task begins in ``INITIAL`` and changes its state until it reaches one of ``TERMINAL``, in which it
stays. The table has three kinds of states:

    active        a process runs the task's handler, or should
    interrupted   suspended: the task waits for its caller or another party; no process runs it
    terminal      ended

Three rules depend on the kind:

1. No transition leaves a terminal state. Of several writers that want to end a task exactly one
   succeeds, so there is exactly one last event.
2. An active task without a live process is an orphan, and another process claims it. A suspended
   task is left alone, however long it waits.
3. A task accepts follow-up messages only where the table says so.

The stores enforce the rules inside of the atomic call that makes the change: ``predecessors`` is
the condition of the statement. Names of states in a dialect and all flags come from
``a2a_contract.lifecycle``; this module adds no state and no transition.
"""

from __future__ import annotations

from a2a_contract.lifecycle import ACTIVE, INITIAL, INTERRUPTED, LIFECYCLE, TERMINAL, State

OPEN = ACTIVE | INTERRUPTED
"""States of tasks that have not ended."""
SETTLED = TERMINAL | INTERRUPTED
"""States in which a task has ended or waits for its caller."""
_PREDECESSORS = {
    state: frozenset(before for before, stage in LIFECYCLE.items() if state in stage.next)
    for state in LIFECYCLE
}


def can_follow(state: State, before: State) -> bool:
    """Return whether a transition is allowed."""
    return state in LIFECYCLE[before].next


def predecessors(state: State) -> frozenset[State]:
    """The states from which a transition to this one is allowed."""
    return _PREDECESSORS[state]


def is_terminal(state: State) -> bool:
    """Return whether a task in this state has ended."""
    return state in TERMINAL


def is_active(state: State) -> bool:
    """Return whether a process runs a task in this state, or should."""
    return state in ACTIVE


def accepts_messages(state: State) -> bool:
    """Return whether a task in this state accepts follow-up messages."""
    return LIFECYCLE[state].accepts_messages


def is_cancelable(state: State) -> bool:
    """Return whether a task in this state can be canceled."""
    return LIFECYCLE[state].cancelable


__all__ = [
    "ACTIVE",
    "INITIAL",
    "INTERRUPTED",
    "OPEN",
    "SETTLED",
    "TERMINAL",
    "State",
    "accepts_messages",
    "can_follow",
    "is_active",
    "is_cancelable",
    "is_terminal",
    "predecessors",
]
