"""Observers of runs: each hears only what it overrides."""

from __future__ import annotations

import pytest

from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.ports.observer import Observation, Observer
from a2a_runtime.testing.agent import FAST_SETTINGS, run_agent

pytestmark = pytest.mark.anyio


class EndObserver(Observer):
    """Keeps how runs ended, and does not ask when they began."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, str, float]] = []

    def run_ended(self, skill: str, end: str, seconds: float) -> None:
        """Keep the end of a run."""
        self.ends.append((skill, end, seconds))


async def test_an_observer_of_ends_learns_how_long_a_run_took() -> None:
    """The time counts from the start of the run, though this observer does not hear of it."""
    observer = EndObserver()
    options = EngineOptions(FAST_SETTINGS, observation=Observation(observer))
    async with run_agent(lambda ctx: ctx.text, options=options) as client:
        await client.send("x")
    ((_, end, seconds),) = observer.ends
    assert end == "completed"
    assert 0 <= seconds < 30
