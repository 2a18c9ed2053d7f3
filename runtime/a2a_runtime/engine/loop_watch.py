"""Watch of the event loop: a thread that notices when a coroutine blocks it.

A blocked loop renews no lease, so other processes take over its tasks, and with them the one that
blocks: it walks through all processes. The thread warns once, with skill and seconds, and notes the
suspect in the store well before the lease ends. Then the crashes of the suspect are counted, and
those of its neighbours are not.

    answered         the loop has called back since the last tick
    blocked          no answer for several ticks, and one task ran all the time: the suspect
    overloaded       no answer for several ticks, with several tasks: none of them is the suspect

Time is counted in ticks, so that a process that was frozen as a whole, thread and all, is not taken
for a blocked one.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
from contextvars import Context
from types import FrameType
from typing import Any

from a2a_runtime.base.origin import current_run
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import RunStore
from a2a_runtime.stores.models import StoredTask

log = logging.getLogger(__name__)

_TICKS = 4


class LoopWatch:
    """Watches the event loop in which it was started."""

    def __init__(self, store: RunStore, process: str, blocked_seconds: float) -> None:
        self._store = store
        self._process = process
        self._blocked_seconds = blocked_seconds
        self._stopping = threading.Event()
        self._answered = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        loop = asyncio.get_running_loop()
        thread_id = threading.get_ident()
        self._thread = threading.Thread(
            target=self._watch, args=(loop, thread_id), name="a2a-loop-watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(self._blocked_seconds)

    def _watch(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        seen: list[asyncio.Task[Any] | None] = []
        self._answered.set()
        while not self._stopping.wait(self._blocked_seconds / _TICKS):
            if self._answered.is_set():
                self._answered.clear()
                seen.clear()
                try:
                    loop.call_soon_threadsafe(self._answered.set)
                except RuntimeError:  # the loop is closed
                    return
                continue
            seen.append(asyncio.current_task(loop))
            if len(seen) == _TICKS:
                has_one_culprit = len(set(seen)) == 1
                self._report(seen[0] if has_one_culprit else None, thread_id)

    def _report(self, task: asyncio.Task[Any] | None, thread_id: int) -> None:
        # The function is documented, for debuggers of deadlocks.
        frames = sys._current_frames()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        frame = frames.get(thread_id)
        place = "unknown" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        run = None if task is None else _find_run(task)
        if run is None and _is_importing(frame):  # a start, which imports the app or a part of it
            return
        if run is None:
            culprit = "many tasks: the process is overloaded"
            if task is not None:
                culprit = task.get_name()
            log.warning(
                "event loop blocked: for %.1f s by %s, now at %s",
                self._blocked_seconds,
                culprit,
                place,
            )
            return
        skill, stored = run
        log.warning(
            (
                "event loop blocked: for %.1f s by skill %s, task %s, at %s; await there, or "
                "make the handler a plain function, which runs in a thread"
            ),
            self._blocked_seconds,
            skill.id,
            stored.wire_id,
            place,
        )
        try:
            asyncio.run(self._store.mark_suspect(self._process, stored.key))
        except StoreUnavailableError:
            pass  # the store logs its outages
        except Exception:  # the edge of a thread: the watch goes on
            log.exception("event loop blocked: the suspect could not be noted in the store")


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to an import."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _find_run(task: asyncio.Task[Any]) -> tuple[Skill, StoredTask] | None:
    """Find the run that a task belongs to, by its context."""
    return next(
        (context[current_run][:2] for context in _find_contexts(task) if current_run in context),
        None,
    )


if sys.version_info >= (3, 12):

    def _find_contexts(task: asyncio.Task[Any]) -> list[Context]:
        return [task.get_context()]
else:

    def _find_contexts(task: asyncio.Task[Any]) -> list[Context]:
        # The task has no other access to its context.
        return [each for each in gc.get_referents(task) if isinstance(each, Context)]
