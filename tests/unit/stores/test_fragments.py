"""JSON joined from fragments."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, StreamResponse, Task, TaskState
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.stores import fragments
from a2a_runtime.stores.models import Chunk

AT = 1_793_872_800_007
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
OWN = fragments.encode_ids("t", "c").joined
HELLO = Message(message_id="m", role=Role.USER, parts=[Part(text="hello")])


@given(wire_id=IDS, context_id=IDS, name=TEXTS, key=TEXTS)
def test_a_joined_task_is_what_its_model_writes(
    wire_id: str, context_id: str, name: str, key: str
) -> None:
    """The joined JSON equals that of the model, for all characters."""
    made = Artifact(
        artifact_id=name,
        name=name,
        parts=[Part(text=name), Part(text="2")],
        metadata={key: {"parts": []}},
    )
    ids = fragments.encode_ids(wire_id, context_id)
    said = fragments.encode_message(HELLO, ids)
    joined = fragments.encode_task(
        ids.joined,
        status=fragments.encode_status(State.WORKING, AT, said),
        artifacts=[
            fragments.encode_artifact([fragments.encode_chunk(made)]),
            fragments.encode_artifact([Chunk(key, b"", b""), Chunk(key, b"", b'{"text":""}')]),
        ],
        history=[said],
        metadata=fragments.encode_object({key: name}),
    )
    model = Task.model_validate_json(joined)
    assert model.to_json() == joined
    assert (model.id, model.context_id, model.status.state, model.status.timestamp) == (
        wire_id,
        context_id,
        TaskState.WORKING,
        to_datetime(AT),
    )
    assert [each.artifact_id for each in model.artifacts or []] == [name, key]
    assert (model.artifacts or [])[0] == made


def test_missing_fragments_leave_no_member() -> None:
    """A task without artifacts, history and metadata has no such members."""
    joined = fragments.encode_task(OWN, fragments.encode_status(State.SUBMITTED, AT, None))
    assert list(json.loads(joined)) == ["id", "contextId", "status"]


@pytest.mark.parametrize("state", State)
def test_events_are_what_their_models_write(state: State) -> None:
    """Every kind of event, read by the model and written again, is the same."""
    status = fragments.encode_status(state, AT, HELLO.to_json())
    chunk = fragments.encode_artifact(
        [fragments.encode_chunk(Artifact(artifact_id="a", parts=[Part(text="x")]))]
    )
    events = [
        fragments.encode_task_event(fragments.encode_task(OWN, status)),
        fragments.encode_status_event(OWN, status, None),
        fragments.encode_status_event(OWN, status, b'{"k":null}'),
        fragments.encode_artifact_event(OWN, chunk, append=True, last_chunk=True),
        fragments.encode_artifact_event(OWN, chunk, append=False, last_chunk=False),
    ]
    for event in events:
        assert StreamResponse.model_validate_json(event).to_json() == event


def test_a_message_is_bound_in_a_copy() -> None:
    """The message passed in is not changed."""
    bound = Message.model_validate_json(
        fragments.encode_message(HELLO, fragments.encode_ids("t", "c"))
    )
    assert (bound.task_id, bound.context_id, bound.parts) == ("t", "c", HELLO.parts)
    assert (HELLO.task_id, HELLO.context_id) == (None, None)


def test_metadata_is_merged_in_order_and_not_in_depth() -> None:
    """Later metadata replaces earlier members; large integers and nulls survive."""
    merged = fragments.merge_object(
        b'{"b":{"x":1},"a":12345678901234567890123456789012345678901}', {"c": None, "b": {"y": 2}}
    )
    assert merged == b'{"b":{"y":2},"a":12345678901234567890123456789012345678901,"c":null}'


@pytest.mark.parametrize(
    "bad",
    [{"k": object()}, {"k": float("inf")}, {"k": float("nan")}],
    ids=["object", "infinity", "not a number"],
)
def test_invalid_json_is_refused(bad: dict[str, object]) -> None:
    """A store never writes invalid JSON."""
    with pytest.raises((TypeError, ValueError)):
        fragments.encode_object(bad)


def test_other_json_is_no_object() -> None:
    """Decoding JSON that is not an object raises an error."""
    with pytest.raises(ValidationError):
        fragments.decode_object(b"[]")
