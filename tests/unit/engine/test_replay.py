"""Replay of the records of earlier runs."""

from __future__ import annotations

import pytest

from a2a_contract.v1_0 import Message, Part, Role
from a2a_runtime.engine.replay import Replay, fingerprint
from a2a_runtime.engine.signals import HandlerChangedError
from a2a_runtime.stores.models import RecordKind, ReplayRecord

TEXT = fingerprint("ask", None)
YES = Message(message_id="m", role=Role.USER, parts=[Part(text="yes")])


def record_question(key: str, wanted: str = TEXT) -> ReplayRecord:
    """Record a question."""
    return ReplayRecord(RecordKind.QUESTION, key, b"{}", wanted)


def record_answer(key: str) -> ReplayRecord:
    """Record an answer."""
    return ReplayRecord(RecordKind.ANSWER, key, YES.to_json())


def test_questions_are_numbered_unless_they_have_a_key() -> None:
    """The n-th question without a key is number n, whatever keys come in between."""
    replay = Replay()
    assert [replay.next_key(key) for key in (None, "own", None)] == ["#1", "own", "#2"]


def test_an_answer_is_found_by_the_key_of_its_question() -> None:
    """An answered question has an answer, an open one has none."""
    replay = Replay([record_question("#1"), record_answer("#1"), record_question("own")])
    assert replay.find_answer("#1", TEXT) == YES
    assert replay.find_answer("own", TEXT) is None
    assert replay.find_answer("new", TEXT) is None


def test_another_kind_of_question_under_a_key_raises() -> None:
    """The answer to one schema is never given for another."""
    replay = Replay([record_question("#1"), record_answer("#1")])
    with pytest.raises(HandlerChangedError, match="handler changed"):
        replay.find_answer("#1", fingerprint("ask", {"type": "boolean"}))


def test_a_run_replays_until_the_last_answer() -> None:
    """A run replays until it has read every recorded answer."""
    replay = Replay(
        [
            record_question("#1"),
            record_answer("#1"),
            record_question("#2"),
            record_answer("#2"),
            record_question("#3"),
        ]
    )
    repeats = [replay.is_replaying]
    for key in ("#1", "#2"):
        replay.find_answer(key, TEXT)
        repeats.append(replay.is_replaying)
    assert repeats == [True, True, False]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("ask", {"a": 1, "b": {"x": 1, "y": 2}}), ("ask", {"b": {"y": 2, "x": 1}, "a": 1}), True),
        (("ask", None), ("auth", None), False),
        (("ask", None), ("ask", {}), False),
        (("ask", {"enum": [1, 2]}), ("ask", {"enum": [2, 1]}), False),
    ],
    ids=["order of keys", "kind", "schema or none", "order of a list"],
)
def test_fingerprints_differ_by_kind_and_schema(
    one: tuple[str, dict], other: tuple[str, dict], *, same: bool
) -> None:
    """The order of keys makes no difference to a schema; everything else does."""
    assert (fingerprint(*one) == fingerprint(*other)) is same
