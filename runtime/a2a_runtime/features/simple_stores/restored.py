"""Tasks of earlier processes, built from what a storage holds."""

from __future__ import annotations

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.base import lifecycle
from a2a_runtime.base.clock import to_millis
from a2a_runtime.features.simple_stores.reserved import ReservedMetadata
from a2a_runtime.stores import fragments
from a2a_runtime.stores.changes import ChunkRow
from a2a_runtime.stores.memory.content import TaskContent
from a2a_runtime.stores.memory.index import MemoryTask

LOST = "The process that ran this task is gone"


def build_lost_message(task: Task, message_id: str) -> Message:
    """Build the message of a task that was active when its process ended."""
    return Message(
        message_id=message_id,
        context_id=task.context_id,
        task_id=task.id,
        role=Role.AGENT,
        parts=[Part(text=LOST)],
    )


def status_millis(task: Task, found: ReservedMetadata) -> int:
    """Return the time of the status."""
    if task.status.timestamp is None:
        return found.facts.created
    return to_millis(task.status.timestamp)


def build_memory_task(task: Task, found: ReservedMetadata, key: str) -> MemoryTask:
    """Build the task of a memory store from a task and its reserved metadata.

    Its earlier events are gone.
    """
    facts = found.facts
    progress = found.progress
    state = State(task.status.state)
    message = None if task.status.message is None else task.status.message.to_json()
    history = tuple(each.to_json() for each in task.history or ())
    metadata = fragments.encode_object(found.public) if found.public else fragments.EMPTY_OBJECT
    content = TaskContent(
        fragments.join_ids(task.id, task.context_id or ""),
        fragments.encode_status(state, status_millis(task, found), message),
        metadata,
        history,
        {},
        sum(map(len, history)) + len(metadata),
        None if state in lifecycle.TERMINAL else [],
    )
    for artifact in task.artifacts or ():
        chunk = fragments.encode_chunk(artifact)
        content.write_chunk(ChunkRow(chunk, True, artifact.to_json()))  # noqa: FBT003 - a column
    content.log_bytes = 0
    return MemoryTask(
        facts.scope,
        key,
        task.id,
        task.context_id or "",
        facts.skill,
        facts.dialect,
        None,
        epoch=progress.epoch,
        content=content,
        created_at=facts.created,
        later_times=(facts.created,) * (len(history) - 1),
        has_plain_log=False,
        state=state,
        version=progress.version,
        last_seq=progress.last_seq,
        first_seq=progress.last_seq + 1,
        hidden_skills=facts.hidden_skills,
        limit_key=facts.scope.limit_key,
    )
