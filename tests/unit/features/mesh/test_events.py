"""Projection of tasks to the mesh dialect."""

from __future__ import annotations

import pytest

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from a2a_runtime.features.mesh.projection import flatten_parts, project_task
from a2a_runtime.testing.agent import build_user_message

TEXTS = {
    "a text": ([Part(text="a")], "a"),
    "pieces of a text": ([Part(text="a"), Part(text=""), Part(text="b")], "ab"),
    "nothing": ([], "null"),
    "null": ([Part(data=JSON_NULL)], "null"),
    "an object": ([Part(data={"a": 2**70})], '{"a": 1180591620717411303424}'),
    "false": ([Part(data=False)], "false"),
    "bytes": ([Part(raw=b"\xff\x00")], '"/wA="'),
    "an address": ([Part(url="https://x/y")], '"https://x/y"'),
    "several things": ([Part(text="a"), Part(data=[1]), Part(raw=b"")], '["a", [1], ""]'),
    "letters of all kinds": ([Part(data={"ü": "漢"})], '{"ü": "漢"}'),
}


@pytest.mark.requirement("mesh", "D26")
@pytest.mark.parametrize(("parts", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_parts_are_one_text(parts: list[Part], text: str) -> None:
    """Texts stay as they are, everything else is JSON."""
    assert flatten_parts(parts) == text


def task(state: TaskState, *artifacts: Artifact, said: Message | None = None) -> Task:
    """Make a task."""
    history = [build_user_message("do it"), build_user_message("please", message_id="m-2")]
    status = TaskStatus(state=state, message=said)
    return Task(
        id="t", context_id="c", status=status, artifacts=list(artifacts) or None, history=history
    )


def artifact(name: str, *texts: str) -> Artifact:
    """Make an artifact."""
    return Artifact(
        artifact_id=name, name=name, description="d", parts=[Part(text=text) for text in texts]
    )


RESULTS = {
    "the result": ([artifact("result", "r"), artifact("log", "l")], "r"),
    "pieces of it": ([artifact("result", "a", "b")], "ab"),
    "another one": ([artifact("report", "r")], "r"),
    "several others": ([artifact("one", "1"), artifact("two", "2")], "12"),
    "none": ([], "null"),
}


@pytest.mark.parametrize(("artifacts", "text"), RESULTS.values(), ids=RESULTS.keys())
def test_a_completed_task_has_one_artifact(artifacts: list[Artifact], text: str) -> None:
    """It is called result, and has nothing but its text; the history is the message that began the
    task.
    """
    one = project_task(task(TaskState.COMPLETED, *artifacts))
    assert one.artifacts == [Artifact(artifact_id="result", name="result", parts=[Part(text=text)])]
    assert [message.message_id for message in one.history or ()] == ["m-1"]


@pytest.mark.parametrize(
    "state", [state for state in TaskState if state is not TaskState.COMPLETED]
)
def test_other_tasks_have_no_artifact(state: TaskState) -> None:
    """Consumers would read a partial result as the result."""
    assert project_task(task(state, artifact("result", "half"))).artifacts is None


def test_a_message_can_be_the_result() -> None:
    """A returned message is the result if there is no artifact."""
    said = Message(
        message_id="m",
        role=Role.AGENT,
        parts=[Part(text="Hello"), Part(text="!")],
        metadata={"a": 1},
    )
    assert (project_task(task(TaskState.COMPLETED, said=said)).artifacts or [])[0].parts == [
        Part(text="Hello!")
    ]
    assert (
        project_task(task(TaskState.COMPLETED, artifact("result", "r"), said=said)).artifacts or []
    )[0].parts == [Part(text="r")]


def test_a_status_message_is_one_text() -> None:
    """Several parts become one text; a message without parts becomes none."""
    said = Message(
        message_id="m", role=Role.AGENT, parts=[Part(text="a"), Part(data=1)], metadata={"a": 1}
    )
    message = project_task(task(TaskState.FAILED, said=said)).status.message
    assert message is not None
    assert (message.parts, message.metadata) == ([Part(text='["a", 1]')], None)
    assert (
        project_task(
            task(TaskState.FAILED, said=said.model_copy(update={"parts": []}))
        ).status.message
        is None
    )
