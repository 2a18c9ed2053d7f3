"""Rules and rows of a change."""

from __future__ import annotations

import pytest

from a2a_contract.errors import A2AError, IdempotencyConflictError
from a2a_contract.lifecycle import LIFECYCLE, State
from a2a_contract.v1_0 import Artifact, Part, StreamResponse
from a2a_runtime.base import lifecycle
from a2a_runtime.errors import ConcurrencyError, FencedError, TaskStateError, TaskTerminalError
from a2a_runtime.stores import changes, fragments
from a2a_runtime.stores.models import ChunkWrite, IdempotencyKey, TaskChange, TaskHead
from a2a_runtime.testing.store_contract.case import write_artifact

IDS = fragments.encode_ids("t", "c").joined


def build_head(state: State = State.WORKING, process: str | None = "p") -> TaskHead:
    """Build the head of a working task in its second run."""
    return TaskHead(state, version=3, epoch=2, process=process, status_at=0)


REFUSALS = {
    "ended": (build_head(State.FAILED), TaskChange(state=State.COMPLETED), TaskTerminalError),
    "ended, with other errors": (
        build_head(State.FAILED),
        TaskChange(state=State.COMPLETED, epoch=1, expected_version=1),
        TaskTerminalError,
    ),
    "older run": (build_head(), TaskChange(epoch=1), FencedError),
    "newer run": (build_head(), TaskChange(epoch=3), FencedError),
    "released run": (build_head(process=None), TaskChange(epoch=2), FencedError),
    "other version": (build_head(), TaskChange(expected_version=2), ConcurrencyError),
    "other state": (
        build_head(),
        TaskChange(expected_states=frozenset({State.INPUT_REQUIRED})),
        ConcurrencyError,
    ),
    "forbidden state": (build_head(), TaskChange(state=State.SUBMITTED), TaskStateError),
}


@pytest.mark.parametrize(("head", "change", "error"), REFUSALS.values(), ids=REFUSALS)
def test_a_change_is_refused_for_one_reason(
    head: TaskHead, change: TaskChange, error: type[A2AError]
) -> None:
    """The most specific error class is raised."""
    with pytest.raises(error) as caught:
        changes.check_change(head, change)
    assert type(caught.value) is error


@pytest.mark.parametrize(
    "change",
    [
        TaskChange(),
        TaskChange(
            state=State.COMPLETED,
            epoch=2,
            expected_version=3,
            expected_states=frozenset({State.WORKING}),
        ),
        TaskChange(state=State.WORKING),
    ],
)
def test_an_allowed_change_passes(change: TaskChange) -> None:
    """Nothing is raised if all expectations hold."""
    changes.check_change(build_head(), change)


@pytest.mark.parametrize("state", State)
def test_both_forms_of_the_rules_agree(state: State) -> None:
    """``allowed_source_states`` contains a state exactly if ``check_change`` passes in it."""
    for expected in (None, frozenset({State.WORKING, State.INPUT_REQUIRED}), frozenset(State)):
        change = TaskChange(state=state, expected_states=expected)
        allowed = changes.allowed_source_states(change)
        for before in State:
            try:
                changes.check_change(build_head(before), change)
            except (TaskStateError, ConcurrencyError):
                assert allowed is not None
                assert before not in allowed
            else:
                assert allowed is None or before in allowed
    assert changes.allowed_source_states(TaskChange()) is None
    assert lifecycle.predecessors(state) == {
        before for before, stage in LIFECYCLE.items() if state in stage.next
    }


def test_an_idempotency_key_is_for_one_request() -> None:
    """An idempotency key with another request hash is a conflict."""
    changes.check_same_request(IdempotencyKey("k", b"1"), b"1")
    with pytest.raises(IdempotencyConflictError):
        changes.check_same_request(IdempotencyKey("k", b"1"), b"2")


def build_write(
    artifact_id: str, text: str, *, append: bool, last: bool = False, **members: object
) -> ChunkWrite:
    """Build a write of one text."""
    artifact = Artifact.model_validate(
        {"artifact_id": artifact_id, "parts": [Part(text=text)], **members}
    )
    return write_artifact(artifact, append=append, last_chunk=last)


def test_writes_to_one_artifact_become_one() -> None:
    """Appending continues the merged write, replacing restarts it; names and metadata are
    merged.
    """
    writes = [
        build_write("a", "1", append=True, metadata={"x": 1}),
        build_write("b", "2", append=False, name="old"),
        build_write("a", "3", append=True, last=True, metadata={"y": 2}, name="A"),
        build_write("b", "4", append=False),
        build_write("b", "5", append=True, description="B"),
    ]
    rows = changes.build_change_rows(TaskChange(chunks=writes), IDS, 0)
    updates = [
        StreamResponse.model_validate_json(body).artifact_update for body, _ in rows.encode_events()
    ]
    assert [(row.artifact_id, row.replaces) for row in rows.chunks] == [("a", False), ("b", True)]
    assert [
        (each.append, each.last_chunk, [part.text for part in each.artifact.parts])
        for each in updates
        if each
    ] == [
        (True, True, ["1", "3"]),
        (None, None, ["4", "5"]),
    ]
    assert [
        (each.artifact.name, each.artifact.description, each.artifact.metadata)
        for each in updates
        if each
    ] == [
        ("A", None, {"x": 1, "y": 2}),
        (None, "B", None),
    ]


def test_events_are_numbered_and_only_the_last_ends_the_task() -> None:
    """Artifacts come before the state, with the state before."""
    rows = changes.build_change_rows(
        TaskChange(state=State.COMPLETED, chunks=[build_write("a", "1", append=False)]), IDS, 0
    )
    events = rows.encode_events()
    assert [
        (event.seq, event.state) for event in changes.number_events(events, 7, State.WORKING)
    ] == [(8, State.WORKING), (9, State.COMPLETED)]
    assert changes.number_events(events, 7, State.COMPLETED) == []
    assert rows.event_count == len(events)
