"""A process with a skill that blocks the event loop for longer than the lease, and one that does
not.

python blocking_process.py URL TASKS    start a task that blocks and this many others, then run
                                        until killed
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from dataclasses import replace
from functools import partial

from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.features.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import NewTask
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

say = partial(print, flush=True)

SCOPE = TaskScope("/agent", "acme", "ada")
LEASE_SECONDS = 4.0
"""Long enough for a busy machine: a process that is starved for a lease loses its tasks too."""


async def blocks(_ctx: TaskContext) -> str:
    """Block the loop in a task of a task group, as a library may do it."""
    async with asyncio.TaskGroup() as group:
        await group.create_task(block())
    return "late"


async def block() -> None:
    """Block the loop."""
    await asyncio.sleep(0.2)
    time.sleep(LEASE_SECONDS * 2)  # noqa: ASYNC251 - the fault


async def innocent(_ctx: TaskContext) -> str:
    """Await for a while."""
    await asyncio.sleep(0.5)
    return "undisturbed"


async def main() -> None:
    """Do what the command line says."""
    url = sys.argv[1]
    tasks = int(sys.argv[2])
    logging.basicConfig(level=logging.WARNING)
    skills = Skills(
        Skill("blocks", blocks, max_restarts=1), Skill("innocent", innocent, max_restarts=0)
    )
    store = PostgresStore(url, StoreOptions(lease_seconds=LEASE_SECONDS))
    settings = replace(FAST_SETTINGS, lease_duration=LEASE_SECONDS)
    async with Engine(
        store, skills, EngineOptions(settings=settings, notifier=PostgresNotifier(url))
    ) as engine:
        for number in range(tasks + 1 if tasks else 0):
            await engine.start(
                SCOPE,
                NewTask(
                    "c-1",
                    build_user_message("go"),
                    "innocent" if number else "blocks",
                    "v1_0",
                    wire_id=f"t-{number}",
                ),
            )
        say("open")
        await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(main())
