"""A store made of a storage of one's own: an object with three methods, and six optional ones.

Loaded where the store is an object with the methods of a storage.

class MyStorage(Storage): …         or any object with these methods, such as a storage of a2akit
create_app(agent, store=SimpleStore(MyStorage()))

storage     the port, with its values and errors, under the names that storages of others use too
codec       values of a storage: conversions to and from the models that it was written for
reserved    what a storage has no place for, as members of the metadata of a task
restored    tasks of earlier processes
store       the store: a memory store whose changes are written to the storage first
exclusive   one process at a time
"""

from a2a_runtime.features.simple_stores.storage import (
    Artifact,
    ArtifactWrite,
    ConcurrencyError,
    ContextMismatchError,
    ListTasksQuery,
    ListTasksResult,
    Message,
    Storage,
    StorageChange,
    Task,
    TaskNotAcceptingMessagesError,
    TaskNotCancelableError,
    TaskNotFoundError,
    TaskState,
    TaskTerminalStateError,
    UnsupportedOperationError,
)
from a2a_runtime.features.simple_stores.store import SimpleStore

__all__ = [
    "Artifact",
    "ArtifactWrite",
    "ConcurrencyError",
    "ContextMismatchError",
    "ListTasksQuery",
    "ListTasksResult",
    "Message",
    "SimpleStore",
    "Storage",
    "StorageChange",
    "Task",
    "TaskNotAcceptingMessagesError",
    "TaskNotCancelableError",
    "TaskNotFoundError",
    "TaskState",
    "TaskTerminalStateError",
    "UnsupportedOperationError",
]
