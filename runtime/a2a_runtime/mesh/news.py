"""Which of the things that happen to a task a stream tells, and how it ends. Pure.

    the handler returns at once        artifact, completed
    it fails                           failed
    it hands back a job, or says       working, then working again whenever its text or its progress has changed,
    how it goes                        then artifact and completed, or failed, or canceled

That a task has begun is nothing that a stream tells by itself, since consumers take ``working`` for a sign that the work goes on elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from a2a_contract.v1_0 import Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent
from a2a_runtime.mesh.showing import COMPLETED, FAILED, WORKING, in_one_text, result_of, text_of

PROGRESS = "progress"
"""Member of the metadata of a status: how much is done, a number."""


class News:
    """What a stream has told so far of a task."""

    def __init__(self, task_id: str, context_id: str) -> None:
        self._task_id, self._context_id = task_id, context_id
        self._begun = False
        self._said: Message | None = None
        self._progress: object = None

    def opening(self, at: datetime | None) -> Iterator[StreamResponse]:
        """Tell, once, that the work goes on."""
        if not self._begun:
            self._begun = True
            yield self._status(TaskStatus(state=WORKING, timestamp=at))

    def status(self, status: TaskStatus, metadata: dict[str, object] | None) -> Iterator[StreamResponse]:
        """Tell how it goes, if that is not what was told last; what is not said again still holds."""
        said = self._said if status.message is None else in_one_text(status.message)
        progress = (metadata or {}).get(PROGRESS, self._progress)
        if (_text(said), progress) == (_text(self._said), self._progress):
            return
        yield from self.opening(status.timestamp)
        self._said, self._progress = said, progress
        yield self._status(TaskStatus(state=WORKING, timestamp=status.timestamp, message=said), progress)

    def end(self, task: Task) -> Iterator[StreamResponse]:
        """Tell how the task has ended."""
        status = task.status
        if status.state == COMPLETED:
            yield StreamResponse(
                artifact_update=TaskArtifactUpdateEvent(task_id=self._task_id, context_id=self._context_id, artifact=result_of(task))
            )
        yield self.final(status.state, status.message if status.state != COMPLETED else None, status.timestamp)

    def final(self, state: TaskState, message: Message | None, at: datetime | None) -> StreamResponse:
        """Tell the end alone."""
        return self._status(TaskStatus(state=state, timestamp=at, message=None if message is None else in_one_text(message)))

    def failure(self, message: Message, at: datetime) -> StreamResponse:
        """Tell that there is nothing to follow."""
        return self.final(FAILED, message, at)

    def _status(self, status: TaskStatus, progress: object = None) -> StreamResponse:
        metadata = None if progress is None else {PROGRESS: progress}
        return StreamResponse(
            status_update=TaskStatusUpdateEvent(task_id=self._task_id, context_id=self._context_id, status=status, metadata=metadata)
        )


def _text(said: Message | None) -> str | None:
    return None if said is None else text_of(said.parts)
