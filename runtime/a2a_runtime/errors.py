"""Errors of the runtime, as subclasses of the contract's errors: they are rendered like the nearest
class of the contract.

``message`` may be shown to any client. Where a store reports a problem, its text is for the log
(``str``), and clients get the text of the contract.

    A2AError                                  (contract)
     ├─ InvalidParamsError                    (contract)
     │   └─ ContextMismatchError              the message names another context than its task
     ├─ UnsupportedOperationError             (contract)
     │   └─ TaskStateError                    the task's state does not allow the operation
     │       ├─ TaskTerminalError             the task has ended
     │       └─ TaskNotAcceptingMessagesError the task accepts no message now
     ├─ UnavailableError                      (contract)
     │   ├─ ConcurrencyError                  the task has changed since the writer read it
     │   │   └─ FencedError                   another run of the task has replaced the writer's
     │   │       └─ LostWritesError           the store does not have the earlier writes of the run
     │   ├─ EventsGoneError                   the event log no longer has the event at the cursor
     │   └─ StoreUnavailableError             the store cannot be read or written now
     │       ├─ StoreFullError                no capacity for another task
     │       └─ StoreInUseError               another process uses this store
     └─ InternalError                         (contract)
         ├─ ListenError                       a port cannot be listened on
         └─ ConfigurationError                the configuration cannot be used
             ├─ SkillSourceError              a source whose skills cannot be offered
             ├─ UnsupportedStoreError         not a store that the runtime can use
             └─ WorkerConfigError             a worker with nothing to run, or contradictory queues
"""

from __future__ import annotations

from collections.abc import Mapping

from a2a_contract.errors import (
    InternalError,
    InvalidParamsError,
    UnavailableError,
    UnsupportedOperationError,
)


class HasErrorData:
    """Mixin of an error with further members of its JSON-RPC data, in dialects where these data are
    one object.
    """

    data: Mapping[str, object]


class ContextMismatchError(InvalidParamsError):
    """The message names another context than its task; leave out ``contextId``, or send the task's
    own.
    """


class TaskStateError(UnsupportedOperationError):
    """The state of the task does not allow the operation; load the task to see its state."""


class TaskTerminalError(TaskStateError):
    """The task has ended and cannot change; another writer was first, or it ended long ago."""


class TaskNotAcceptingMessagesError(TaskStateError):
    """The task accepts no follow-up message in its state; start a new task in the same context."""


class ConcurrencyError(UnavailableError):
    """The task has changed since the writer read it; load it again and decide anew."""


class FencedError(ConcurrencyError):
    """The writer's run is over: another run has begun, or the task was released or has ended.

    Stop without an error.
    """


class LostWritesError(FencedError):
    """The store does not have the earlier writes of this run: it fell back to an earlier state.

    Stop; the task runs again.
    """


class EventsGoneError(UnavailableError):
    """The event log no longer has the event at this cursor, or what follows it; start again with a
    snapshot of the task.
    """


class StoreUnavailableError(UnavailableError):
    """The store cannot be read or written now; the reason names the place and the fix.

    A change in progress may have been committed: repeat it with the version that it expected, or
    with its idempotency key.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__()
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or self.message


class StoreFullError(StoreUnavailableError):
    """The store has no capacity for another task, and every task in it is unfinished or
    undelivered; raise the capacity.
    """


class StoreInUseError(StoreUnavailableError):
    """Another process uses this store; give each process its own file, or use Postgres, which many
    can share.
    """


class ConfigurationError(InternalError):
    """The runtime cannot start or go on with this configuration; the reason names the place and the
    fix.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__()
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or self.message


class UnsupportedStoreError(ConfigurationError):
    """This is not a store that the runtime can use; the reason names what it lacks."""


class ListenError(InternalError):
    """A port cannot be listened on, or not with this certificate; stop what runs there, or choose
    another.
    """


class SkillSourceError(ConfigurationError):
    """A source cannot be opened, or describes skills that cannot be offered; the reason names the
    source, the skill and the fix.
    """


class WorkerConfigError(ConfigurationError):
    """A worker cannot run with this configuration; the reason names the skill or queue and the
    fix.
    """


__all__ = [
    "ConcurrencyError",
    "ConfigurationError",
    "ContextMismatchError",
    "EventsGoneError",
    "FencedError",
    "HasErrorData",
    "LostWritesError",
    "SkillSourceError",
    "StoreFullError",
    "StoreInUseError",
    "StoreUnavailableError",
    "TaskNotAcceptingMessagesError",
    "TaskStateError",
    "TaskTerminalError",
    "UnsupportedStoreError",
    "WorkerConfigError",
]
