"""The life of a task: which state may follow which, and what a state allows. Pure rules over the generated table; no clock, no store, no protocol.

A task begins in ``INITIAL`` and goes from state to state until it reaches one of ``TERMINAL``, in which it stays for ever. The table has three kinds
of states:

    active        a process is, or should be, running the task's handler
    interrupted   parked: the task waits for somebody outside; no process runs it and none has to
    terminal      ended

Three rules hang on the kind, and everything durable hangs on the three rules:

1. No change of state leaves a terminal state. Of several writers that want to end a task, exactly one succeeds, so there is exactly one last event.
2. An active task that no live process runs is an orphan, and somebody has to take it over. A parked one is not: it is left alone however long it
waits.
3. A follow-up message is welcome only where the table says so.

The rules are kept by the stores, inside the same atomic call that makes the change: ``predecessors`` is what they put into the condition of a
statement. What a state is called in a dialect, and what the table says of it, comes from ``a2a_contract.lifecycle``; this module adds no state and no
transition.
"""

from __future__ import annotations

from a2a_contract.lifecycle import ACTIVE, INITIAL, INTERRUPTED, LIFECYCLE, TERMINAL, State

_PREDECESSORS = {state: frozenset(before for before, stage in LIFECYCLE.items() if state in stage.next) for state in LIFECYCLE}


def can_follow(state: State, before: State) -> bool:
    """Whether a task may go from one state to another."""
    return state in LIFECYCLE[before].next


def predecessors(state: State) -> frozenset[State]:
    """Every state from which a task may come into this one."""
    return _PREDECESSORS[state]


def is_terminal(state: State) -> bool:
    """Whether a task in this state has ended."""
    return state in TERMINAL


def is_active(state: State) -> bool:
    """Whether a process should be running a task in this state."""
    return state in ACTIVE


def accepts_messages(state: State) -> bool:
    """Whether a follow-up message is welcome in this state."""
    return LIFECYCLE[state].accepts_messages


def is_cancelable(state: State) -> bool:
    """Whether a task in this state can still be canceled."""
    return LIFECYCLE[state].cancelable


__all__ = [
    "ACTIVE",
    "INITIAL",
    "INTERRUPTED",
    "TERMINAL",
    "State",
    "accepts_messages",
    "can_follow",
    "is_active",
    "is_cancelable",
    "is_terminal",
    "predecessors",
]
