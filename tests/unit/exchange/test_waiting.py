"""Something is done before a wait, and what waits notices nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from a2a_runtime.http.event_stream import BeforeItWaits

pytestmark = pytest.mark.anyio


class Notes:
    """What was done, in its order."""

    def __init__(self, *, fails: bool = False, waits: bool = False) -> None:
        self.said: list[str] = []
        self._fails, self._waits = fails, waits

    async def first(self) -> None:
        """Be the first thing."""
        self.said.append("first")
        if self._waits:
            await asyncio.sleep(0)
        if self._fails:
            raise LookupError("first")

    async def after(self, *waits: Callable[[], Awaitable[object]]) -> str:
        """Wait for some things, and say how it went."""
        try:
            for wait in waits:
                await wait()
                self.said.append("waited")
        except asyncio.CancelledError:
            self.said.append("canceled")
            raise
        finally:
            self.said.append("left")
        return "done"


async def test_what_is_there_at_once_is_not_waited_for() -> None:
    """Then nothing is done before."""
    notes = Notes()
    assert await BeforeItWaits(notes.after(), notes.first) == "done"
    assert notes.said == ["left"]


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "after a wait of its own"])
async def test_before_the_first_wait_something_is_done_once(*, waits: bool) -> None:
    """Whatever it waits for: a turn of the loop, a time, or what has come in the meantime."""
    notes, gate = Notes(waits=waits), asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(gate.set_result, None)

    async def come() -> None:
        await gate

    assert await BeforeItWaits(notes.after(come, lambda: asyncio.sleep(0), lambda: asyncio.sleep(0.001)), notes.first) == "done"
    assert notes.said == ["first", "waited", "waited", "waited", "left"]


async def test_a_failure_of_either_is_raised_and_both_are_left() -> None:
    """What is awaited hears that the thing before it has failed, and can put its affairs in order."""
    notes = Notes(fails=True)
    with pytest.raises(LookupError):
        await BeforeItWaits(notes.after(lambda: asyncio.sleep(10)), notes.first)
    assert notes.said == ["first", "left"]


@pytest.mark.parametrize("waits", [False, True], ids=["while it waits", "while the first thing waits"])
async def test_a_cancellation_gets_through(*, waits: bool) -> None:
    """As it would to anything that is awaited."""
    notes = Notes(waits=waits)
    running = asyncio.ensure_future(_run(notes))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert notes.said == ["first", "canceled", "left"]


async def _run(notes: Notes) -> str:
    return await BeforeItWaits(notes.after(lambda: asyncio.sleep(10)), notes.first)
