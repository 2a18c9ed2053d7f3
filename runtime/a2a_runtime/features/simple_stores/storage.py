"""Port of a storage: tasks by id, with the rules that keep them whole.

Owners, leases, events and webhooks are not its concern.

    must have     load_task, create_task, update_task
    may have      list_tasks, delete_task, delete_context, get_version, load_context, update_context

Methods, values and errors have the names and the meaning of ``a2akit.storage``. A storage that was
written for that library is used with its own models; a new one uses the canonical models, which
this module names too.

Rules:

- A call that returns is visible to the next read. A call that fails leaves nothing behind.
- A task that has ended takes no other state (``TaskTerminalStateError``); messages and artifacts
  may still be added.
- ``expected_version`` other than the stored version is a ``ConcurrencyError``; ``update_task``
  returns the new version.
- The same ``idempotency_key`` in the same context finds the same task, also for concurrent calls.
- ``task_metadata`` is merged key by key. Without a state the state stays.
- Models passed in are never changed. An id of any form that no task has is not found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from pydantic import BaseModel, Field

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from a2a_contract.v1_0 import Artifact, Message, Task, TaskState
from a2a_runtime.errors import (
    ConcurrencyError,
    ContextMismatchError,
    TaskNotAcceptingMessagesError,
    TaskTerminalError,
)

TaskTerminalStateError = TaskTerminalError


@dataclass(frozen=True, slots=True)
class ArtifactWrite:
    """Parts for one artifact, appended to it or replacing its content."""

    artifact: Artifact
    append: bool = False


class StorageChange(TypedDict, total=False):
    """Members of a change besides its state; absent or ``None`` changes nothing.

    ``task_metadata`` is merged, ``expected_version`` a condition.
    """

    status_message: Message | None
    artifacts: Sequence[ArtifactWrite] | None
    messages: Sequence[Message] | None
    task_metadata: Mapping[str, object] | None
    expected_version: int | None


class ListTasksQuery(BaseModel):
    """Filters, page and level of detail of a list of tasks."""

    context_id: str | None = None
    status: TaskState | None = None
    page_size: int = Field(default=50, ge=1, le=100)
    page_token: str | None = None
    history_length: int | None = None
    status_timestamp_after: str | None = None
    include_artifacts: bool = False


class ListTasksResult(BaseModel):
    """One page of tasks, newest status first."""

    tasks: list[Task] = Field(default_factory=list[Task])
    next_page_token: str = ""
    page_size: int = 50
    total_size: int = 0


class Storage(ABC):
    """Base of a storage. A method that is not overridden counts as missing."""

    @abstractmethod
    async def load_task(
        self, task_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> Task | None:
        """Load a task with the last messages of its history: all if the length is ``None``, none if
        it is 0.
        """

    @abstractmethod
    async def create_task(
        self, context_id: str, message: Message, *, idempotency_key: str | None = None
    ) -> Task:
        """Create a submitted task with a copy of a message that has both ids, or find the one of
        the key in this context.
        """

    @abstractmethod
    async def update_task(
        self, task_id: str, state: TaskState | None = None, **change: Unpack[StorageChange]
    ) -> int:
        """Apply one change, all of it or nothing, and return the new version."""

    async def list_tasks(
        self,
        query: ListTasksQuery,  # noqa: ARG002 - as below: a default that ignores its argument
    ) -> ListTasksResult:
        """List tasks, newest status first."""
        raise UnsupportedOperationError

    async def delete_task(self, task_id: str) -> bool:  # noqa: ARG002 - see above
        """Delete a task; return false if it did not exist."""
        raise UnsupportedOperationError

    async def delete_context(self, context_id: str) -> int:  # noqa: ARG002 - see above
        """Delete all tasks of a context and its data; return the number of tasks."""
        raise UnsupportedOperationError

    async def get_version(self, task_id: str) -> int | None:  # noqa: ARG002 - see above
        """Return the version of a task; ``None`` if there is no such task, or if tasks have no
        versions.
        """
        return None

    async def load_context(self, context_id: str) -> object | None:  # noqa: ARG002 - see above
        """Load the data of a context."""
        return None

    async def update_context(  # noqa: B027 - optional
        self, context_id: str, context: Mapping[str, object]
    ) -> None:
        """Replace the data of a context."""


__all__ = [
    "Artifact",
    "ArtifactWrite",
    "ConcurrencyError",
    "ContextMismatchError",
    "ListTasksQuery",
    "ListTasksResult",
    "Message",
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
