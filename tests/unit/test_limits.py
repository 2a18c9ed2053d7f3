"""Limits of a surface that cannot work are refused."""

from __future__ import annotations

from math import inf, nan

import pytest

from a2a_runtime.surface import Limits

WRONG: dict[str, tuple[dict[str, float], list[str]]] = {
    "a stream of nothing but comments": (
        {"keep_alive_interval": 0},
        ["Limits.keep_alive_interval: 0 is not a finite number above 0"],
    ),
    "no body": ({"body_bytes": -1}, ["Limits.body_bytes: -1 is not a finite number above 0"]),
    "all at once": (
        {"parts": 0, "history": -1, "concurrency": inf, "body_seconds": nan},
        [
            "Limits.body_seconds: nan is not a finite number above 0",
            "Limits.parts: 0 is not a finite number above 0",
            "Limits.history: -1 is not a finite number of at least 0",
            "Limits.concurrency: inf is not a finite number of at least 0",
        ],
    ),
}


@pytest.mark.parametrize(("limits", "problems"), WRONG.values(), ids=WRONG.keys())
def test_limits_that_cannot_work_are_refused(limits: dict[str, float], problems: list[str]) -> None:
    """One error lists all of them."""
    with pytest.raises(ValueError, match=r"Limits\.") as raised:
        Limits(**limits)  # type: ignore[arg-type]  # wrong values on purpose
    assert str(raised.value).split("; ") == problems


def test_none_and_zero_can_be_limits() -> None:
    """``None`` is unlimited, and 0 is allowed where it works."""
    assert Limits(history=0, concurrency=None, part_bytes=None, card_max_age=0).history == 0
