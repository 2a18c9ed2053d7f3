"""What can go wrong in the runtime and what the protocol has no name for.

Each class is a kind of one of the contract's errors, so that rendering it for a caller needs no case of its own. What stands in ``message`` may be
shown to anyone; where a store says what is wrong with it, the text is for the log (``str``), and callers get the contract's own.

    A2AError                                  (contract)
     ├─ InvalidParamsError                    (contract)
     │   └─ ContextMismatchError              the message names another conversation than its task
     ├─ UnsupportedOperationError             (contract)
     │   └─ TaskStateError                    the task's state does not allow it
     │       ├─ TaskTerminalError             it has ended
     │       └─ TaskNotAcceptingMessagesError it takes no message now
     ├─ UnavailableError                      (contract)
     │   ├─ ConcurrencyError                  the task is no longer as the writer has seen it
     │   │   └─ FencedError                   the writer's run of the task is over
     │   ├─ EventsGoneError                   the log no longer reaches back to the cursor
     │   └─ StoreUnavailableError             the store cannot be read or written now
     │       ├─ StoreFullError                no room for another task
     │       └─ StoreInUseError               another process runs on this store
     └─ InternalError                         (contract)
         └─ UnsupportedStoreError             not a store that the runtime can work with
"""

from __future__ import annotations

from a2a_contract.errors import InternalError, InvalidParamsError, UnavailableError, UnsupportedOperationError


class ContextMismatchError(InvalidParamsError):
    """A message names a conversation that is not its task's; leave out ``contextId``, or send the task's own."""


class TaskStateError(UnsupportedOperationError):
    """The state that the task is in does not allow what was asked; load the task to see where it stands."""


class TaskTerminalError(TaskStateError):
    """The task has ended and its state changes no more; somebody else was first, or it is over for long."""


class TaskNotAcceptingMessagesError(TaskStateError):
    """The task takes no follow-up message in its present state; start a new task in the same conversation."""


class ConcurrencyError(UnavailableError):
    """The task has changed since the writer looked; load it again and decide anew."""


class FencedError(ConcurrencyError):
    """The writer's run of the task is over: another run has begun, or the task was given up or ended. Stop quietly."""


class EventsGoneError(UnavailableError):
    """The log no longer holds the events after this cursor; begin again with a snapshot of the task."""


class StoreUnavailableError(UnavailableError):
    """The store cannot be read or written now; the reason says where and what to do.

    A change that was under way may have been made all the same: repeat it with the version that it expected, or with its idempotency key.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__()
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or self.message


class StoreFullError(StoreUnavailableError):
    """There is no room for another task, and every task in the store is unfinished or undelivered; raise the capacity."""


class StoreInUseError(StoreUnavailableError):
    """Another process runs on this store; give each its own file, or use Postgres, which many may share."""


class UnsupportedStoreError(InternalError):
    """This is not a store that the runtime can work with; the reason says what it lacks."""

    def __init__(self, reason: str = "") -> None:
        super().__init__()
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or self.message


__all__ = [
    "ConcurrencyError",
    "ContextMismatchError",
    "EventsGoneError",
    "FencedError",
    "StoreFullError",
    "StoreInUseError",
    "StoreUnavailableError",
    "TaskNotAcceptingMessagesError",
    "TaskStateError",
    "TaskTerminalError",
    "UnsupportedStoreError",
]
