"""Interrupts: errors that are raised in the task of a request from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest
from unit.http.connection import Connection

from a2a_contract.errors import RequestTimeoutError
from a2a_runtime.http.asgi import Awaits, ClientDisconnectError, HttpRequest, Interrupt
from a2a_runtime.http.watchers import RequestWatcher, wait_for_disconnect

pytestmark = pytest.mark.anyio


async def raise_lookup_error() -> None:
    """Fail at once, as a watcher does."""
    raise LookupError("watched")


async def block(
    interrupt: Interrupt, watcher: Coroutine[object, object, None] | None = None
) -> None:
    """Block for ever within an interruptible block."""
    with interrupt:
        if watcher is not None:
            interrupt.watch(watcher)
        await asyncio.Event().wait()


async def fail(interrupt: Interrupt, watcher: Coroutine[object, object, None]) -> None:
    """Fail within an interruptible block."""
    with interrupt:
        interrupt.watch(watcher)
        await asyncio.sleep(0)
        raise LookupError("own")


async def test_a_thrown_error_takes_the_place_of_the_cancellation() -> None:
    """The task can await other things afterwards; only the first error counts."""
    interrupt = Interrupt()
    running = asyncio.create_task(block(interrupt))
    await asyncio.sleep(0)
    interrupt.throw(LookupError("first"))
    interrupt.throw(KeyError("second"))
    with pytest.raises(LookupError, match="first"):
        await running
    assert running.cancelling() == 0


async def test_an_error_of_a_watcher_is_raised() -> None:
    """A watcher needs no reference to the task that it watches."""
    with pytest.raises(LookupError, match="watched"):
        await block(Interrupt(), raise_lookup_error())


async def test_a_cancellation_by_others_passes() -> None:
    """The server cancels a request when its grace period is over."""
    running = asyncio.create_task(block(Interrupt()))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_errors_of_the_block_pass_and_its_watchers_end() -> None:
    """An error that is thrown after the block has no effect."""
    interrupt = Interrupt()
    connection = Connection([])
    with pytest.raises(LookupError, match="own"):
        await fail(interrupt, wait_for_disconnect(connection.receive))
    connection.left.set()
    interrupt.throw(KeyError("late"))
    await asyncio.sleep(0.01)


async def wait_forever(request: HttpRequest, watcher: RequestWatcher, awaits: Awaits) -> None:
    """Await an operation that does not end, as a request."""
    request.awaits = awaits
    watcher.checks[request] = 0
    if not watcher.is_running:
        watcher.start()
    try:
        with request.interrupt:
            await asyncio.Event().wait()
    finally:
        del watcher.checks[request]


async def test_one_timer_notices_the_disconnect_of_each_request() -> None:
    """The requests of other clients go on."""
    watcher = RequestWatcher(None, 0.01)
    gone = Connection([])
    there = Connection([])
    requests = [
        asyncio.create_task(wait_forever(each.request(), watcher, Awaits.RESULT))
        for each in (gone, there)
    ]
    gone.left.set()
    with pytest.raises(ClientDisconnectError):
        await asyncio.wait_for(requests[0], 1)
    assert not requests[1].done()
    requests[1].cancel()
    await asyncio.gather(requests[1], return_exceptions=True)


async def test_a_body_that_takes_too_long_is_interrupted() -> None:
    """A slow body is interrupted at its timeout, not before."""
    started = asyncio.get_running_loop().time()
    with pytest.raises(RequestTimeoutError, match=r"0\.1 s"):
        await wait_forever(Connection([]).request(), RequestWatcher(0.1), Awaits.BODY)
    assert asyncio.get_running_loop().time() - started >= 0.1


async def test_the_timer_ends_with_the_last_request() -> None:
    """The next request starts it again."""
    watcher = RequestWatcher(0.04)
    for _ in range(2):
        with pytest.raises(RequestTimeoutError):
            await wait_forever(Connection([]).request(), watcher, Awaits.BODY)
        while watcher.is_running:  # noqa: ASYNC110 - the timer has no event
            await asyncio.sleep(0)
