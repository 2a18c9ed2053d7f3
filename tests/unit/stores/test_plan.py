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
from a2a_runtime.stores.models import ArtifactWrite, Change, Idempotency


class Head(NamedTuple):
    """A task as the rules see it."""

    state: State = State.WORKING
    version: int = 3
    epoch: int = 2
    process: str | None = "p"


REFUSALS = {
    "ended": (Head(State.FAILED), Change(state=State.COMPLETED), TaskTerminalError),
    "ended, whatever else is wrong": (Head(State.FAILED), Change(state=State.COMPLETED, epoch=1, expected_version=1), TaskTerminalError),
    "older run": (Head(), Change(epoch=1), FencedError),
    "newer run": (Head(), Change(epoch=3), FencedError),
    "run given up": (Head(process=None), Change(epoch=2), FencedError),
    "other version": (Head(), Change(expected_version=2), ConcurrencyError),
    "other state": (Head(), Change(expected_states=frozenset({State.INPUT_REQUIRED})), ConcurrencyError),
    "unlawful state": (Head(), Change(state=State.SUBMITTED), TaskStateError),
}


@pytest.mark.parametrize(("head", "change", "error"), REFUSALS.values(), ids=REFUSALS)
def test_a_change_is_refused_for_one_reason(head: Head, change: Change, error: type[A2AError]) -> None:
    """The narrowest class says why."""
    with pytest.raises(error) as caught:
        changes.refuse(head, change)
    assert type(caught.value) is error


@pytest.mark.parametrize(
    "change",
    [Change(), Change(state=State.COMPLETED, epoch=2, expected_version=3, expected_states=frozenset({State.WORKING})), Change(state=State.WORKING)],
)
def test_a_lawful_change_passes(change: Change) -> None:
    """Nothing is raised when everything fits."""
    changes.refuse(Head(), change)


@pytest.mark.parametrize("state", State)
def test_both_forms_of_the_rules_agree(state: State) -> None:
    """What ``states_before`` lets through is what ``refuse`` does not refuse, for every state of the task."""
    for expected in (None, frozenset({State.WORKING, State.INPUT_REQUIRED}), frozenset(State)):
        change = Change(state=state, expected_states=expected)
        allowed = changes.states_before(change)
        for before in State:
            try:
                changes.refuse(Head(before), change)
            except (TaskStateError, ConcurrencyError):
                assert allowed is not None
                assert before not in allowed
            else:
                assert allowed is None or before in allowed
    assert changes.states_before(Change()) is None
    assert lifecycle.predecessors(state) == {before for before, stage in LIFECYCLE.items() if state in stage.next}


def test_a_key_stands_for_one_request() -> None:
    """Another hash is a conflict."""
    changes.same_request(Idempotency("k", b"1"), b"1")
    with pytest.raises(IdempotencyConflictError):
        changes.same_request(Idempotency("k", b"1"), b"2")


def _write(artifact_id: str, text: str, *, append: bool, last: bool = False, **told: object) -> ArtifactWrite:
    made = Artifact.model_validate({"artifact_id": artifact_id, "parts": [Part(text=text)], **told})
    return ArtifactWrite(made, append=append, last_chunk=last)


def test_writes_to_one_artifact_become_one() -> None:
    """Appending adds to what the call has so far, replacing begins it anew; what is said about the artifact is merged."""
    writes = [
        _write("a", "1", append=True, metadata={"x": 1}),
        _write("b", "2", append=False, name="old"),
        _write("a", "3", append=True, last=True, metadata={"y": 2}, name="A"),
        _write("b", "4", append=False),
        _write("b", "5", append=True, description="B"),
    ]
    rows = changes.change_rows(Change(artifacts=writes), "t", "c", 0)
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
    rows = changes.change_rows(Change(state=State.COMPLETED, artifacts=[_write("a", "1", append=False)]), "t", "c", 0)
    assert [(event.seq, event.state) for event in rows.numbered(7, State.WORKING)] == [(8, State.WORKING), (9, State.COMPLETED)]
    assert rows.numbered(7, State.COMPLETED) == []
