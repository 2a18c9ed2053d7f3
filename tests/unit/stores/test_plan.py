"""What a change comes to, before any store writes it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from a2a_contract.errors import A2AError, IdempotencyConflictError
from a2a_contract.lifecycle import LIFECYCLE, State
from a2a_contract.v1_0 import Artifact, Part, StreamResponse
from a2a_runtime import lifecycle
from a2a_runtime.errors import ConcurrencyError, FencedError, TaskStateError, TaskTerminalError
from a2a_runtime.stores import changes
from a2a_runtime.stores.models import ArtifactWrite, IdempotencyKey, TaskChange


class FakeHead(NamedTuple):
    """A task as the rules see it."""

    state: State = State.WORKING
    version: int = 3
    epoch: int = 2
    process: str | None = "p"


REFUSALS = {
    "ended": (FakeHead(State.FAILED), TaskChange(state=State.COMPLETED), TaskTerminalError),
    "ended, whatever else is wrong": (FakeHead(State.FAILED), TaskChange(state=State.COMPLETED, epoch=1, expected_version=1), TaskTerminalError),
    "older run": (FakeHead(), TaskChange(epoch=1), FencedError),
    "newer run": (FakeHead(), TaskChange(epoch=3), FencedError),
    "run given up": (FakeHead(process=None), TaskChange(epoch=2), FencedError),
    "other version": (FakeHead(), TaskChange(expected_version=2), ConcurrencyError),
    "other state": (FakeHead(), TaskChange(expected_states=frozenset({State.INPUT_REQUIRED})), ConcurrencyError),
    "unlawful state": (FakeHead(), TaskChange(state=State.SUBMITTED), TaskStateError),
}


@pytest.mark.parametrize(("head", "change", "error"), REFUSALS.values(), ids=REFUSALS)
def test_a_change_is_refused_for_one_reason(head: FakeHead, change: TaskChange, error: type[A2AError]) -> None:
    """The narrowest class says why."""
    with pytest.raises(error) as caught:
        changes.check_change(head, change)
    assert type(caught.value) is error


@pytest.mark.parametrize(
    "change",
    [
        TaskChange(),
        TaskChange(state=State.COMPLETED, epoch=2, expected_version=3, expected_states=frozenset({State.WORKING})),
        TaskChange(state=State.WORKING),
    ],
)
def test_a_lawful_change_passes(change: TaskChange) -> None:
    """Nothing is raised when everything fits."""
    changes.check_change(FakeHead(), change)


@pytest.mark.parametrize("state", State)
def test_both_forms_of_the_rules_agree(state: State) -> None:
    """What ``states_before`` lets through is what ``refuse`` does not refuse, for every state of the task."""
    for expected in (None, frozenset({State.WORKING, State.INPUT_REQUIRED}), frozenset(State)):
        change = TaskChange(state=state, expected_states=expected)
        allowed = changes.allowed_source_states(change)
        for before in State:
            try:
                changes.check_change(FakeHead(before), change)
            except (TaskStateError, ConcurrencyError):
                assert allowed is not None
                assert before not in allowed
            else:
                assert allowed is None or before in allowed
    assert changes.allowed_source_states(TaskChange()) is None
    assert lifecycle.predecessors(state) == {before for before, stage in LIFECYCLE.items() if state in stage.next}


def test_a_key_stands_for_one_request() -> None:
    """Another hash is a conflict."""
    changes.check_same_request(IdempotencyKey("k", b"1"), b"1")
    with pytest.raises(IdempotencyConflictError):
        changes.check_same_request(IdempotencyKey("k", b"1"), b"2")


def build_write(artifact_id: str, text: str, *, append: bool, last: bool = False, **told: object) -> ArtifactWrite:
    made = Artifact.model_validate({"artifact_id": artifact_id, "parts": [Part(text=text)], **told})
    return ArtifactWrite(made, append=append, last_chunk=last)


def test_writes_to_one_artifact_become_one() -> None:
    """Appending adds to what the call has so far, replacing begins it anew; what is said about the artifact is merged."""
    writes = [
        build_write("a", "1", append=True, metadata={"x": 1}),
        build_write("b", "2", append=False, name="old"),
        build_write("a", "3", append=True, last=True, metadata={"y": 2}, name="A"),
        build_write("b", "4", append=False),
        build_write("b", "5", append=True, description="B"),
    ]
    rows = changes.build_change_rows(TaskChange(artifacts=writes), "t", "c", 0)
    shown = [StreamResponse.model_validate_json(body).artifact_update for body, _ in rows.events]
    assert [(row.artifact_id, row.replaces) for row in rows.chunks] == [("a", False), ("b", True)]
    assert [(each.append, each.last_chunk, [part.text for part in each.artifact.parts]) for each in shown if each] == [
        (True, True, ["1", "3"]),
        (None, None, ["4", "5"]),
    ]
    assert [(each.artifact.name, each.artifact.description, each.artifact.metadata) for each in shown if each] == [
        ("A", None, {"x": 1, "y": 2}),
        (None, "B", None),
    ]


def test_events_are_numbered_and_only_the_last_ends_the_task() -> None:
    """Artifacts come before the state, with the state before."""
    rows = changes.build_change_rows(TaskChange(state=State.COMPLETED, artifacts=[build_write("a", "1", append=False)]), "t", "c", 0)
    assert [(event.seq, event.state) for event in rows.number_events(7, State.WORKING)] == [(8, State.WORKING), (9, State.COMPLETED)]
    assert rows.number_events(7, State.COMPLETED) == []
