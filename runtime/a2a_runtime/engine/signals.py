"""Signals that stop a handler from inside a call that it has made.

They are no ``Exception``: ``except Exception`` in a handler must not swallow them.

    RunStopped         the writes of this run are refused from now on
     ├─ TaskSuspended  the question is recorded; with the answer the handler runs from the top again
     └─ TaskEnded      the handler has decided the outcome of its task
"""

from __future__ import annotations

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.errors import TaskStateError


class RunStopped(BaseException):
    """The run was replaced, or its task has ended. Clean up and let the signal pass."""


class TaskSuspended(RunStopped):
    """The task waits for an answer and this run is over. Let the signal pass."""


class TaskEnded(RunStopped):
    """The handler has rejected or failed its task."""

    def __init__(self, state: State, message: Message) -> None:
        super().__init__(state)
        self.state = state
        self.message = message


def find_signal(error: BaseException) -> RunStopped | None:
    """Find the signal in an exception group that the task group of a handler has raised."""
    if isinstance(error, RunStopped):
        return error
    nested: tuple[BaseException, ...] = ()
    if isinstance(error, BaseExceptionGroup):
        nested = error.exceptions
    return next((found for found in map(find_signal, nested) if found is not None), None)


class HandlerChangedError(TaskStateError):
    """A record of an earlier run does not match the call of this run; give questions keys before
    you change their order or schemas.
    """
