"""The output of a skill, as it is found in tasks, messages and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Task
from a2a_runtime.skills.form import Form, WrongValueError
from a2a_runtime.skills.reading import carried
from a2a_runtime.typed_client.errors import ENDS, FailedError, OutputError

O = TypeVar("O")  # noqa: E741 - the output of a skill

RESULT = "result"
"""The artifact that a result stands in; agents that call it otherwise have the result in the last one."""


def output_of(form: Form[O], answer: Task | Message) -> O:
    """Read the output of a call that is over, or raise how it ended."""
    if isinstance(answer, Message):
        return read(form, answer.parts, None)
    if str(answer.status.state) != str(State.COMPLETED):
        raise failure(answer)
    return read(form, _parts(answer), answer)


def read(form: Form[O], parts: Sequence[Part], task: Task | None) -> O:
    """Read an output from its parts."""
    try:
        value, _ = carried(parts, form.law, "result")
        return form.read(value)
    except WrongValueError as error:
        raise OutputError(f"the output does not fit its schema: {error}", task) from error


def failure(task: Task) -> Exception:
    """Make the error that says how a task ended."""
    state = next((each for each in State if str(each) == str(task.status.state)), None)
    message = task.status.message
    text = "\n".join(part.text for part in message.parts if part.text is not None) if message else ""
    return ENDS.get(state.name if state else "", FailedError)(text or f"the task has ended as {task.status.state}", task)


def is_result(artifact: Artifact) -> bool:
    """Whether an artifact holds chunks of the result."""
    return RESULT in (artifact.artifact_id, artifact.name)


def _parts(task: Task) -> Sequence[Part]:
    artifacts = task.artifacts or []
    found = next((each for each in artifacts if is_result(each)), artifacts[-1] if artifacts else None)
    if found is not None:
        return found.parts
    return task.status.message.parts if task.status.message else []
