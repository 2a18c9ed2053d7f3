"""A process with an agent on a storage of nine methods, which is kept in a file.

python storage_process.py FILE start          print each task that is acknowledged, its end, and
                                              that it asks
python storage_process.py FILE read TASK …    print each task as it is found; answer its question

``A2A_FAULT``, such as ``before:7``, is the write of the storage before or after which the process
dies.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Unpack

from a2a_contract.lifecycle import TERMINAL
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.simple_stores import Message, SimpleStore, StorageChange, Task, TaskState
from a2a_runtime.process import AgentRuntime
from a2a_runtime.stores.models import NewTask, StoredTask, TaskQuery
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, build_user_message
from a2a_runtime.testing.dict_storage import DictStorage

say = partial(print, flush=True)

CALLER = Caller("ada")
KINDS = ("return", "ask", "stream")


class FileStorage(DictStorage):
    """A storage whose writes replace a file: each of them is there in full, or not at all."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        if file.exists():
            vars(self).update(pickle.loads(file.read_bytes()))  # noqa: S301 - written by this class
        self._where, _, number = os.environ.get("A2A_FAULT", "").partition(":")
        self._writes_left = int(number or 0)

    async def create_task(
        self, context_id: str, message: Message, *, idempotency_key: str | None = None
    ) -> Task:
        """Create a task."""
        task = await super().create_task(context_id, message, idempotency_key=idempotency_key)
        self._save()
        return task

    async def update_task(
        self, task_id: str, state: TaskState | None = None, **change: Unpack[StorageChange]
    ) -> int:
        """Apply one change."""
        version = await super().update_task(task_id, state, **change)
        self._save()
        return version

    async def update_context(self, context_id: str, context: object) -> None:
        """Replace the data of a context."""
        await super().update_context(context_id, context)
        self._save()

    def _save(self) -> None:
        self._writes_left -= 1
        if self._where == "before" and self._writes_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        draft = self._file.with_suffix(".draft")
        draft.write_bytes(
            pickle.dumps(
                {
                    name: value
                    for name, value in vars(self).items()
                    if name in {"_entries", "_contexts"}
                }
            )
        )
        draft.replace(self._file)
        if self._where == "after" and self._writes_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def work(ctx: TaskContext) -> str | None:
    """Return at once, ask, or stream for ever."""
    if ctx.text == "ask":
        return (await ctx.ask("More?")).text
    if ctx.text == "stream":
        async with ctx.artifact("stream") as chunks:
            while True:
                await chunks.text("x")
                await asyncio.sleep(0.01)
    return "done"


async def start_tasks(runtime: AgentRuntime) -> None:
    """Start one task after another."""
    scope = CALLER.task_scope(SURFACE.storage_key)
    for kind in cycle(KINDS):
        accepted = await runtime.engine.start(
            scope, NewTask("c-1", build_user_message(kind), "work", "v1_0"), CALLER
        )
        say("task", accepted.stored.wire_id)
        if kind != "stream":
            settled = await runtime.engine.wait_settled(accepted)
            say("end" if settled.state in TERMINAL else "asks", settled.wire_id)


async def read_tasks(runtime: AgentRuntime, task_ids: list[str]) -> None:
    """Say what has become of tasks."""
    scope = CALLER.task_scope(SURFACE.storage_key)
    for task_id in task_ids:
        stored = await runtime.engine.load(scope, task_id)
        say_task("found", stored)
        if stored.state.name == "INPUT_REQUIRED":
            accepted = await runtime.engine.send_message(
                scope, task_id, build_user_message("enough")
            )
            say_task("answered", await runtime.engine.wait_settled(accepted))
    say("listed", (await runtime.store.list_tasks(scope, TaskQuery())).total_size)


def say_task(word: str, stored: StoredTask) -> None:
    """Print the state of a task, and its result or its message."""
    task = stored.task.model
    text = artifact_texts(task).get("result", [""])[0] or (join_texts(task.status.message))
    say(word, stored.wire_id, stored.state.name, text)


agent = Agent("keeper")
agent.add("work", work)
SURFACE = Surface(agent)


async def main() -> None:
    """Do what the command line says."""
    file, what, *task_ids = sys.argv[1:]
    async with AgentRuntime(
        [SURFACE], SimpleStore(FileStorage(Path(file))), FAST_SETTINGS
    ) as runtime:
        await (read_tasks(runtime, task_ids) if what == "read" else start_tasks(runtime))


if __name__ == "__main__":
    asyncio.run(main())
