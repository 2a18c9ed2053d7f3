"""How a handler's run is stopped from inside a call that it made.

These are no ``Exception``: a handler's own ``except Exception`` must not be able to swallow that it has asked a question, given up, or been
replaced by another run.

    RunOver          nothing that this run writes counts any more
     ├─ Parked       the question is recorded; the handler runs again from the top when the answer comes
     └─ Ended        the handler has decided how the task ends
"""

from __future__ import annotations

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.errors import TaskStateError


class RunStopped(BaseException):
    """This run of the handler is over: it was replaced, or its task has ended. Clean up and let it pass."""


class TaskSuspended(RunStopped):
    """The task waits for an answer, and nothing of this run is needed any more. Let it pass."""


class TaskEnded(RunStopped):
    """The handler has said how its task ends."""

    def __init__(self, state: State, message: Message) -> None:
        super().__init__(state)
        self.state, self.message = state, message


def find_signal(error: BaseException) -> RunStopped | None:
    """Find the signal among what the tasks of a handler's task group have raised."""
    if isinstance(error, RunStopped):
        return error
    inside: tuple[BaseException, ...] = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for found in map(find_signal, inside) if found is not None), None)


class HandlerChangedError(TaskStateError):
    """What an earlier run recorded does not fit what the handler asks for now; give questions keys before you change their order or schemas."""
