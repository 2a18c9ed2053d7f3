"""Text of agents for terminals."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from a2a_contract.v1_0 import Artifact, Part, TaskArtifactUpdateEvent
from a2a_runtime.cli.terminal.report import CallReport
from a2a_runtime.cli.terminal.text import to_safe_json, to_safe_line, to_safe_text

CLEAN_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
STEERING = {"Cc", "Cs", "Zl", "Zp"}
BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def has_steering(text: str, allowed: str) -> bool:
    """Tell whether a character could steer a terminal, by the tables of Unicode."""
    return any(
        each not in allowed
        and (
            unicodedata.category(each) in STEERING
            or unicodedata.bidirectional(each) in BIDIRECTIONAL
            or each in "\u200e\u200f"
        )
        for each in text
    )


@given(st.text())
def test_nothing_in_a_text_steers(text: str) -> None:
    """By the categories of Unicode, not by a list of ours."""
    assert not has_steering(to_safe_text(text), "\t\n")
    assert not has_steering(to_safe_line(text), "")


@given(
    st.recursive(CLEAN_TEXTS, lambda inner: st.lists(inner) | st.dictionaries(CLEAN_TEXTS, inner))
)
def test_json_stays_the_same_document(value: object) -> None:
    """An escape in a string means the character itself."""
    output = to_safe_json(to_json(value, indent=2))
    assert json.loads(output) == value
    assert not has_steering(output, "\n")


@pytest.mark.parametrize(
    "text",
    ["Grüße, 世界 👩‍👩‍👧", "سلام", "a\tb\nc"],
    ids=["letters and emoji", "right to left", "layout"],
)
def test_ordinary_text_is_as_it_was(text: str) -> None:
    """Letters of any script and emoji with joiners."""
    assert to_safe_text(text) == text


def test_chunks_that_are_repeated_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A handler that starts again sends its chunks again; what differs is printed."""
    report = CallReport(as_json=False)

    def chunk(text: str, *, append: bool) -> None:
        report.print_event(
            TaskArtifactUpdateEvent(
                task_id="t",
                artifact=Artifact(artifact_id="a", parts=[Part(text=text)]),
                append=append,
            )
        )

    for text, append in (
        ("one ", False),
        ("two ", True),
        ("one ", False),
        ("two ", True),
        ("three", True),
    ):
        chunk(text, append=append)
    report.close()
    assert capsys.readouterr().out == "one two three\n"
