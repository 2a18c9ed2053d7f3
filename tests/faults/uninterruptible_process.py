"""Process whose handler ignores the stop request.

python uninterruptible_process.py FILE HANDLER    take a task and leave it, or go on with the one
                                                  that is left
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from dataclasses import replace

from a2a_contract.errors import TaskIdInUseError
from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

SCOPE = TaskScope("/agent")


async def ignore_cancel(_ctx: TaskContext) -> None:
    """Continue when canceled."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


async def ignores_everything(_ctx: TaskContext) -> None:
    """Go on whatever happens, also when the interpreter ends."""
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:  # noqa: BLE001, S112 - the worst of handlers
            continue


def blocked(_ctx: TaskContext) -> None:
    """Block a thread for ever."""
    threading.Event().wait()


async def sane(ctx: TaskContext) -> str:
    """Say how often this was tried."""
    return f"attempt {ctx.attempt}"


async def main(file: str, name: str) -> None:
    """Take a task and leave while it runs, or see it to its end."""
    handler = {
        "ignores_cancel": ignore_cancel,
        "ignores_everything": ignores_everything,
        "blocked": blocked,
        "sane": sane,
    }[name]
    engine = Engine(
        SqliteStore(file),
        Skills(Skill("s", handler)),
        EngineOptions(settings=replace(FAST_SETTINGS, cancel_grace=0.1)),
    )
    async with engine:
        try:
            stored = (
                await engine.start(
                    SCOPE, NewTask("c", build_user_message("go"), "s", "v1_0", wire_id="t-1")
                )
            ).stored
        except TaskIdInUseError:
            stored = await engine.load(SCOPE, "t-1")
        last = await engine.wait(
            stored, 1, frozenset({State.WORKING} if name != "sane" else {State.COMPLETED})
        )
        sys.stdout.write(
            f"{last.state.name} {(await engine.load(SCOPE, 't-1')).task.json.decode()}"
        )


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main(*sys.argv[1:]))
