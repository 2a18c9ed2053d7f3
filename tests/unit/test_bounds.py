"""Numbers that cannot work are refused where they are set."""

from __future__ import annotations

from math import inf, nan

import pytest

from a2a_runtime.surface import Limits

WRONG: dict[str, tuple[dict[str, float], list[str]]] = {
    "a stream of nothing but comments": ({"keep_alive": 0}, ["Limits: keep_alive is 0, and must be a finite number above 0"]),
    "no body": ({"body": -1}, ["Limits: body is -1, and must be a finite number above 0"]),
    "all at once": (
        {"parts": 0, "history": -1, "concurrency": inf, "body_seconds": nan},
        [
            "Limits: body_seconds is nan, and must be a finite number above 0",
            "Limits: parts is 0, and must be a finite number above 0",
            "Limits: history is -1, and must be a finite number of at least 0",
            "Limits: concurrency is inf, and must be a finite number of at least 0",
        ],
    ),
}


@pytest.mark.parametrize(("said", "complaints"), WRONG.values(), ids=WRONG.keys())
def test_limits_that_cannot_work_are_refused(said: dict[str, float], complaints: list[str]) -> None:
    """With every one of them, and what it would have to be."""
    with pytest.raises(ValueError, match="Limits: ") as raised:
        Limits(**said)  # type: ignore[arg-type]  # whatever a test says
    assert str(raised.value).split("; ") == complaints


def test_no_limit_and_none_at_all_are_limits() -> None:
    """Where nothing is an answer, nothing may be said."""
    assert Limits(history=0, concurrency=None, part_bytes=None, card_max_age=0).history == 0
