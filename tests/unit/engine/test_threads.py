"""Calls of handlers; plain functions run in a thread of their own."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from a2a_runtime.engine.background import run_in_thread
from a2a_runtime.engine.signals import TaskSuspended

pytestmark = pytest.mark.anyio


async def test_blocking_functions_run_in_parallel() -> None:
    """The event loop is not blocked while a hundred functions wait for each other, each in its own
    thread.
    """
    barrier = threading.Barrier(100)
    names = await asyncio.gather(
        *(
            run_in_thread(lambda _: (barrier.wait(30), threading.current_thread().ident)[1], None)
            for _ in range(100)
        )
    )
    assert len(set(names)) == 100


@pytest.mark.parametrize(
    "error",
    [ValueError, TaskSuspended, StopIteration, SystemExit],
    ids=lambda error: error.__name__,
)
async def test_exceptions_cross_from_the_thread(error: type[BaseException]) -> None:
    """The caller gets every exception of the thread, also a ``BaseException``."""

    def fails(_: object) -> None:
        raise error

    with pytest.raises(RuntimeError if error is StopIteration else error):
        async with asyncio.timeout(30):
            await run_in_thread(fails, None)


async def test_an_abandoned_function_delays_no_shutdown() -> None:
    """A function that never returns blocks neither its caller nor the process."""
    stop = threading.Event()
    call = asyncio.ensure_future(run_in_thread(lambda _: stop.wait(10), None))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "a2a-handler")
    stop.set()


@pytest.mark.parametrize(
    "canceled", ["while it runs", "after it returned", "before the result is taken"]
)
async def test_a_coroutine_of_an_abandoned_function_is_closed(canceled: str) -> None:
    """A plain function that returns a coroutine to a caller that was canceled leaves none that was
    never awaited.
    """
    go = threading.Event()
    returned = threading.Event()
    coroutine = asyncio.sleep(1000)

    def function(_: object) -> object:
        go.wait(10)
        returned.set()
        return coroutine

    call = asyncio.ensure_future(run_in_thread(function, None))
    await asyncio.sleep(0)
    if canceled == "while it runs":
        call.cancel()
    go.set()
    while any(thread.name == "a2a-handler" for thread in threading.enumerate()):
        returned.wait(10)
        threading.Event().wait(0.001)  # the event loop does not run meanwhile
    if canceled == "before the result is taken":
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
