"""Storage of all nine methods in dictionaries, for ``a2a_runtime.features.simple_stores``: for
tests, and as
an example of the rules.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Unpack

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.features.simple_stores import (
    Artifact,
    ArtifactWrite,
    ConcurrencyError,
    ListTasksQuery,
    ListTasksResult,
    Message,
    Storage,
    StorageChange,
    Task,
    TaskNotFoundError,
    TaskState,
    TaskTerminalStateError,
)


@dataclass
class _Entry:
    task: Task
    key: str | None
    version: int = 1


@dataclass
class DictStorage(Storage):
    """Tasks and contexts in dictionaries. No method awaits anything, so each of them is atomic."""

    _entries: dict[str, _Entry] = field(default_factory=dict[str, _Entry])
    _contexts: dict[str, object] = field(default_factory=dict[str, object])

    async def load_task(
        self, task_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> Task | None:
        """Load a task."""
        entry = self._entries.get(task_id)
        if entry is None:
            return None
        return _cut(entry.task, history_length, include_artifacts=include_artifacts)

    async def create_task(
        self, context_id: str, message: Message, *, idempotency_key: str | None = None
    ) -> Task:
        """Create a task, or find the one of the key."""
        for entry in self._entries.values():
            if idempotency_key is not None and (entry.task.context_id, entry.key) == (
                context_id,
                idempotency_key,
            ):
                return entry.task.model_copy(deep=True)
        task_id = str(uuid.uuid4())
        bound = message.model_copy(update={"task_id": task_id, "context_id": context_id})
        task = Task.model_validate(
            {
                "id": task_id,
                "context_id": context_id,
                "status": {"state": State.SUBMITTED, "timestamp": _now()},
            }
        )
        self._entries[task_id] = _Entry(
            task.model_copy(update={"history": [bound]}, deep=True), idempotency_key
        )
        return self._entries[task_id].task.model_copy(deep=True)

    async def update_task(
        self, task_id: str, state: TaskState | None = None, **change: Unpack[StorageChange]
    ) -> int:
        """Apply one change."""
        entry = self._entries.get(task_id)
        if entry is None:
            raise TaskNotFoundError
        if change.get("expected_version") not in {None, entry.version}:
            raise ConcurrencyError(
                f"The task is at version {entry.version}, not {change.get('expected_version')}"
            )
        task = entry.task
        if state is not None and State(task.status.state) in TERMINAL:
            raise TaskTerminalStateError(f"The task has ended ({task.status.state.name})")
        updates: dict[str, object] = {
            "history": [*(task.history or []), *(change.get("messages") or [])],
            "artifacts": _merge(task.artifacts or [], change.get("artifacts") or []),
            "metadata": {**(task.metadata or {}), **(change.get("task_metadata") or {})},
        }
        if state is not None:
            updates["status"] = type(task.status)(
                state=state, message=change.get("status_message"), timestamp=_now()
            )
        entry.task = task.model_copy(update=updates).model_copy(deep=True)
        entry.version += 1
        return entry.version

    async def list_tasks(self, query: ListTasksQuery) -> ListTasksResult:
        """List tasks, newest status first."""
        after = (
            None
            if query.status_timestamp_after is None
            else datetime.fromisoformat(query.status_timestamp_after)
        )
        found = [
            entry.task
            for entry in self._entries.values()
            if query.context_id in {None, entry.task.context_id}
            and query.status in {None, entry.task.status.state}
            and (after is None or _changed_at(entry.task) >= after)
        ]
        found.sort(key=_changed_at, reverse=True)
        first = int(query.page_token or 0)
        page = found[first : first + query.page_size]
        return ListTasksResult(
            tasks=[
                _cut(task, query.history_length, include_artifacts=query.include_artifacts)
                for task in page
            ],
            next_page_token=str(first + query.page_size)
            if first + query.page_size < len(found)
            else "",
            page_size=query.page_size,
            total_size=len(found),
        )

    async def delete_task(self, task_id: str) -> bool:
        """Delete a task."""
        return self._entries.pop(task_id, None) is not None

    async def delete_context(self, context_id: str) -> int:
        """Delete a context with its tasks."""
        found = [
            task_id
            for task_id, entry in self._entries.items()
            if entry.task.context_id == context_id
        ]
        for task_id in found:
            del self._entries[task_id]
        self._contexts.pop(context_id, None)
        return len(found)

    async def get_version(self, task_id: str) -> int | None:
        """Return the version of a task."""
        entry = self._entries.get(task_id)
        if entry is None:
            return None
        return entry.version

    async def load_context(self, context_id: str) -> object | None:
        """Load the data of a context."""
        return self._contexts.get(context_id)

    async def update_context(self, context_id: str, context: Mapping[str, object]) -> None:
        """Replace the data of a context."""
        self._contexts[context_id] = dict(context)


def _cut(task: Task, history_length: int | None, *, include_artifacts: bool) -> Task:
    """Copy a task without what was not asked for."""
    history = task.history or []
    kept = (
        history
        if history_length is None
        else history[len(history) - min(history_length, len(history)) :]
    )
    updates: dict[str, object] = (
        {"history": kept} if include_artifacts else {"history": kept, "artifacts": None}
    )
    return task.model_copy(update=updates).model_copy(deep=True)


def _merge(artifacts: Sequence[Artifact], writes: Sequence[ArtifactWrite]) -> list[Artifact]:
    """Append to artifacts, or replace them."""
    merged = {each.artifact_id: each for each in artifacts}
    for write in writes:
        before = merged.get(write.artifact.artifact_id)
        parts = (
            [*before.parts, *write.artifact.parts]
            if write.append and before is not None
            else write.artifact.parts
        )
        merged[write.artifact.artifact_id] = (
            before if write.append and before is not None else write.artifact
        ).model_copy(update={"parts": parts})
    return list(merged.values())


def _now() -> datetime:
    return datetime.now(UTC)


def _changed_at(task: Task) -> datetime:
    return task.status.timestamp or _now()
