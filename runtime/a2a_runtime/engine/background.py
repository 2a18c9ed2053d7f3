"""Background tasks of a process, threads of blocking functions, and delayed calls that share one
timer.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from types import CoroutineType
from typing import Any, Generic, TypeVar

from a2a_runtime.base.clock import Clock
from a2a_runtime.errors import StoreUnavailableError

T = TypeVar("T")

log = logging.getLogger(__name__)

_CANCEL_AGAIN_SECONDS = 1.0


class BackgroundTasks:
    """Owner of background tasks: keeps a reference to each one, and cancels all of them on
    ``stop``.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_stopping = False

    def run_every(self, interval_seconds: float, function: Callable[[], Awaitable[object]]) -> None:
        """Call a function now and after every interval; an exception is logged and the next call is
        made all the same.
        """

        async def run() -> None:
            while True:
                try:
                    await function()
                except StoreUnavailableError:
                    pass  # the store logs its outages
                except Exception:  # the edge of a background task: the loop has to go on
                    log.exception(
                        "background task failed: %s, next attempt in %g s",
                        function,
                        interval_seconds,
                    )
                # The driver of a database may lose a cancellation that comes together with its
                # answer.
                if self._is_stopping:
                    return
                await self._clock.sleep(interval_seconds)

        self.start(run())

    def start(self, coroutine: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Run a coroutine once."""
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Wait until all tasks have ended by themselves."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Cancel all tasks and wait until they are done."""
        self._is_stopping = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class DelayedCalls(Generic[T]):
    """Calls a function with each item that is still there after one delay, and before the second.

    Most items are discarded before that. They cost two dictionary operations: one shared timer
    looks only at the items that are left.
    """

    def __init__(self, delay_seconds: float, callback: Callable[[T], object]) -> None:
        self._delay_seconds = delay_seconds
        self._callback = callback
        self._items: dict[T, int] = {}  # each with the round of the timer in which it was added
        self._round = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, item: T) -> None:
        """Schedule the call for an item."""
        self._items[item] = self._round
        if self._timer is None:
            self._start_timer()

    def discard(self, item: T) -> None:
        """Cancel the call for an item; a no-op if it was made."""
        self._items.pop(item, None)

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._delay_seconds, self._fire)

    def _fire(self) -> None:
        self._timer = None
        for item in [item for item, added in self._items.items() if added < self._round]:
            del self._items[item]
            self._callback(item)
        self._round += 1
        if self._items:
            self._start_timer()


async def run_in_thread(function: Callable[[T], object], argument: T) -> object:
    """Call a blocking function in a thread of its own.

    Not in a pool: a handler may block for minutes, and one that never returns must neither delay
    other handlers nor keep the process alive. A coroutine that it returns after the caller is gone
    is closed: nothing awaits it any more.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    inherited = contextvars.copy_context()

    def deliver(result: object, error: BaseException | None) -> None:
        if done.done():
            _close_coroutine(result)
        elif error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        result: object = None
        error: BaseException | None = None
        try:
            result = inherited.run(function, argument)
        except StopIteration:
            error = RuntimeError("a handler raised StopIteration")
        except BaseException as raised:  # noqa: BLE001  # the edge of a thread: the caller gets it
            error = raised
        try:
            loop.call_soon_threadsafe(deliver, result, error)
        except RuntimeError:  # the event loop is closed: the caller is gone
            _close_coroutine(result)

    threading.Thread(target=work, name="a2a-handler", daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        # The result came before the cancellation, but no caller has taken it.
        if done.done() and not done.cancelled() and done.exception() is None:
            _close_coroutine(done.result())
        raise


def _close_coroutine(result: object) -> None:
    if isinstance(result, CoroutineType):
        result.close()


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task until it has ended.

    ``asyncio.wait_for`` before Python 3.12, and drivers of databases, may lose a cancellation that
    comes together with an answer; a task that never returns by itself then goes on for ever.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait((task,), timeout=_CANCEL_AGAIN_SECONDS)
    if not task.cancelled():
        task.exception()  # asyncio would log an exception that was not read


def detach_task(task: asyncio.Task[Any]) -> None:
    """Exclude a task that ignores its cancellation from the shutdown of the event loop and of the
    interpreter.

    A loop that is closed cancels its tasks and waits for them, possibly for ever: it does not know
    an unregistered task. An interpreter that exits deallocates the coroutine and thereby resumes
    it, possibly for ever: a reference that is never released prevents that.
    """
    asyncio._unregister_task(task)  # noqa: SLF001 - documented in "Extending asyncio"
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))
