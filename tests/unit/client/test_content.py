"""Messages made of what people have."""

from __future__ import annotations

import pytest

from a2a_contract.v1_0 import Message, Part, Role, Task, TaskState, TaskStatus
from a2a_runtime.client.client import Content, build_message
from a2a_runtime.client.options import SendOptions

TASK = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.INPUT_REQUIRED))

CONTENTS: dict[str, tuple[Content, list[Part]]] = {
    "text": ("hello", [Part(text="hello")]),
    "data": ({"a": None}, [Part(data={"a": None})]),
    "part": (Part(url="https://a.example"), [Part(url="https://a.example")]),
    "several": (
        ["look", {"n": 1}, Part(text="x")],
        [Part(text="look"), Part(data={"n": 1}), Part(text="x")],
    ),
    "message": (Message(parts=[Part(text="a")]), [Part(text="a")]),
}


@pytest.mark.parametrize(("content", "parts"), CONTENTS.values(), ids=CONTENTS.keys())
def test_everything_becomes_a_message_of_the_user(content: Content, parts: list[Part]) -> None:
    """Every kind of content becomes a message with an id and a role."""
    message = build_message(content)
    assert message.parts == parts
    assert message.role is Role.USER
    assert message.message_id
    assert (message.task_id, message.context_id) == (None, None)


def test_a_task_is_gone_on_with() -> None:
    """A task brings its conversation along; an id alone is enough; a conversation may be gone on
    with without a task.
    """
    assert (build_message("a", TASK).task_id, build_message("a", TASK).context_id) == ("t", "c")
    assert (build_message("a", "t").task_id, build_message("a", "t").context_id) == ("t", None)
    assert (build_message("a", None, "c").task_id, build_message("a", None, "c").context_id) == (
        None,
        "c",
    )


def test_a_complete_message_is_kept() -> None:
    """Only what it leaves open is filled in."""
    whole = Message(
        message_id="m",
        role=Role.AGENT,
        task_id="other",
        context_id="here",
        parts=[Part(text="a")],
        metadata={"k": 1},
    )
    assert build_message(whole, TASK) == whole


def test_a_message_takes_further_members() -> None:
    """Its id, the tasks that it refers to and the extensions that it uses; a whole message keeps
    its own.
    """
    options = SendOptions(message_id="m", reference_task_ids=("t-1",), extensions=("https://x/1",))
    made = build_message("a", options=options)
    assert (made.message_id, made.reference_task_ids, made.extensions) == (
        "m",
        ["t-1"],
        ["https://x/1"],
    )
    whole = Message(
        message_id="own",
        role=Role.USER,
        parts=[Part(text="a")],
        reference_task_ids=[],
        extensions=["https://x/2"],
    )
    assert build_message(whole, options=options) == whole
    assert build_message(
        whole.model_copy(update={"extensions": None}), options=options
    ).extensions == ["https://x/1"]
