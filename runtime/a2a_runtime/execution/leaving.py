"""Leaving without a handler that does not stop: nobody may have to wait for it, and nobody may wake it up again."""

from __future__ import annotations

import asyncio
import threading


def let_go(task: asyncio.Task[None]) -> None:
    """Have neither the end of the loop nor that of the interpreter wait for a task.

    Whoever closes a loop cancels what is left in it and waits, which may be for ever: so the task is taken off the list. And whoever finalizes the
    interpreter would have its coroutine run on to be closed, which may be for ever too: so a thread that nobody waits for holds on to it.
    """
    done = threading.Event()
    task.add_done_callback(lambda _: done.set())
    asyncio._unregister_task(task)  # noqa: SLF001 - documented for those who keep lists of their own
    threading.Thread(target=_hold, args=(task, done), name="a2a-left-behind", daemon=True).start()


def _hold(_task: asyncio.Task[None], done: threading.Event) -> None:
    done.wait()
