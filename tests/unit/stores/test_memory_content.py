"""Tasks in memory as fragments and as one text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task
from a2a_runtime.stores import fragments
from a2a_runtime.stores.changes import ChunkRow
from a2a_runtime.stores.memory.content import TaskContent
from a2a_runtime.stores.models import LoggedEvent

AT = 1_793_872_800_007
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)


def build_content(
    wire_id: str, context_id: str, free: dict[str, object], messages: int, artifacts: int
) -> TaskContent:
    """Build a task whose members have free JSON wherever it is allowed."""
    ids = fragments.encode_ids(wire_id, context_id)
    said = [
        Message(message_id=f"m-{n}", role=Role.USER, parts=[Part(text=wire_id)], metadata=free)
        for n in range(max(1, messages))
    ]
    history = tuple(fragments.encode_message(each, ids) for each in said[:messages])
    status = fragments.encode_status(State.COMPLETED, AT, fragments.encode_message(said[0], ids))
    content = TaskContent(ids.joined, status, fragments.encode_object(free), history, {}, 0)
    for n in range(artifacts):
        artifact = Artifact(artifact_id=f"a-{n}", parts=[Part(data=free)], metadata=free)
        content.write_chunk(ChunkRow(fragments.encode_chunk(artifact), True, artifact.to_json()))  # noqa: FBT003 - a column
    return content


@given(
    wire_id=IDS,
    context_id=IDS,
    free=OBJECTS,
    messages=st.integers(0, 3),
    artifacts=st.integers(0, 3),
)
def test_a_packed_task_gives_the_same_json(
    wire_id: str, context_id: str, free: dict[str, object], messages: int, artifacts: int
) -> None:
    """Whole and in parts, byte by byte: forty digits, the order of members, nulls."""
    content = build_content(wire_id, context_id, free, messages, artifacts)
    packed = content.pack()
    assert packed is not None
    again = TaskContent.from_json(packed)
    assert (again.ids, again.status, again.metadata, again.history) == (
        content.ids,
        content.status,
        content.metadata,
        content.history,
    )
    assert packed == content.encode()() == again.encode()()
    for length in (None, 0, 1, 2, 5):
        for include_artifacts in (True, False):
            read = again.encode(length, include_artifacts=include_artifacts)()
            assert read == content.encode(length, include_artifacts=include_artifacts)()
            task = Task.model_validate_json(read)
            assert len(task.history or ()) == min(messages, messages if length is None else length)
            assert len(task.artifacts or ()) == (artifacts if include_artifacts else 0)
    assert json.loads(packed).get("metadata", {}) == json.loads(fragments.encode_object(free))


def test_a_packed_task_can_be_written_again() -> None:
    """A chunk for an artifact that is a text is appended to it."""
    packed = build_content("t", "c", {}, 1, 2).pack()
    assert packed is not None
    content = TaskContent.from_json(packed)
    more = Artifact(artifact_id="a-1", parts=[Part(text="more")])
    content.write_chunk(ChunkRow(fragments.encode_chunk(more), False, more.to_json()))  # noqa: FBT003 - a column
    assert [
        len(each.parts) for each in Task.model_validate_json(content.encode()()).artifacts or ()
    ] == [1, 2]


@pytest.mark.parametrize(
    ("size_bytes", "events"),
    [(100_000, None), (100, [LoggedEvent(1, b"{}", State.WORKING)])],
    ids=["large", "with a log"],
)
def test_some_tasks_stay_as_fragments(size_bytes: int, events: list[LoggedEvent] | None) -> None:
    """A large one would be held twice, and a log needs its fragments; their artifacts are one text
    each.
    """
    content = build_content("t", "c", {}, 1, 2)
    content.size_bytes = size_bytes
    content.events = events
    assert content.pack() is None
    assert [type(each) for each in content.artifacts] == [bytes, bytes]
