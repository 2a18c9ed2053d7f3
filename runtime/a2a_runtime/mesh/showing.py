"""A task as the mesh dialect shows it: consumers read the text of the first part of the first artifact, and nothing else.

artifact         none before the task has completed, then one called ``result``
its text         texts as they are, one after the other; anything else as JSON, several things as a list; ``null`` when there is nothing
history          the message that began the task
status message   one text
"""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.base import JSON_NULL, base64_text
from a2a_contract.derive import json_text
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Task, TaskState
from a2a_runtime.execution.answers import RESULT

COMPLETED = TaskState(State.COMPLETED)
FAILED = TaskState(State.FAILED)
WORKING = TaskState(State.WORKING)


def shown(task: Task, history_length: int | None = None) -> Task:
    """Show a task."""
    said = task.status.message
    history = (task.history or [])[:1] if history_length != 0 else []
    return task.model_copy(
        update={
            "status": task.status.model_copy(update={"message": None if said is None else in_one_text(said)}),
            "artifacts": [result_of(task)] if task.status.state == COMPLETED else None,
            "history": history or None,
        }
    )


def result_of(task: Task) -> Artifact:
    """Make the one artifact of a completed task; a handler that has answered with a message has no other result."""
    artifacts, said = task.artifacts or [], task.status.message
    named = [artifact for artifact in artifacts if artifact.artifact_id == RESULT]
    parts = [part for artifact in named or artifacts for part in artifact.parts]
    if not artifacts and said is not None:
        parts = said.parts
    return Artifact(artifact_id=RESULT, name=RESULT, parts=[Part(text=text_of(parts))])


def in_one_text(message: Message) -> Message | None:
    """Show a message as one text; one that says nothing is not shown."""
    return message.model_copy(update={"parts": [Part(text=text_of(message.parts))], "metadata": None}) if message.parts else None


def text_of(parts: Sequence[Part]) -> str:
    """Write some parts as one text."""
    texts = [part.text for part in parts if part.text is not None]
    if parts and len(texts) == len(parts):
        return "".join(texts)
    values = [_value_of(part) for part in parts]
    return json_text(values if len(values) > 1 else next(iter(values), None))


def _value_of(part: Part) -> object:
    if part.raw is not None:
        return base64_text(part.raw)
    if part.data is not None:
        return None if part.data is JSON_NULL else part.data
    return part.url if part.text is None else part.text
