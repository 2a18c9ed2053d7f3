"""A process of an agent whose skill runs on workers: one that accepts tasks and says which, or one that runs them.

python worker_process.py URL web        accept tasks until it is killed; `ack ID` after each commit
python worker_process.py URL worker     run them until it is stopped
"""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import replace
from functools import partial
from itertools import count

from a2a_contract.dialects import CANONICAL
from a2a_runtime.caller import TaskScope
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import Engine, EngineOptions
from a2a_runtime.execution.placement import RunRetryPolicy, WorkerOptions
from a2a_runtime.execution.runner import Skills
from a2a_runtime.execution.skill import Skill
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.postgres import PostgresStore
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message
from a2a_runtime.workers.worker import serve_jobs

say = partial(print, flush=True)  # what was said before the process was killed has been said

LEASE = 1.5
CHUNKS = 10
PAUSE = 0.02
SCOPE = TaskScope("/agent a", "acme", "ada")
SETTINGS = replace(FAST_SETTINGS, runs_on="workers", lease_renew_interval=0.2, lease_duration=LEASE)


async def stream(ctx: TaskContext) -> str:
    """Stream for a while; every seventh task raises at its first attempt."""
    async with ctx.artifact("stream") as chunks:
        for number in range(CHUNKS):
            await chunks.text(str(number))
            await asyncio.sleep(PAUSE)
    if ctx.attempt == 1 and int(ctx.text) % 7 == 0:
        raise OSError
    return await ctx.once("result", partial(find_result, ctx.text))


async def find_result(text: str) -> str:
    """Compute something that is recorded."""
    return f"done {text}"


def build_skills() -> Skills:
    """Build the registry that both processes share."""
    skills = Skills()
    skills.add(SCOPE.surface, Skill("stream", stream, worker=WorkerOptions(retry=RunRetryPolicy(3, 0.05))))
    return skills


async def accept(engine: Engine) -> None:
    """Accept tasks, one after the other."""
    for number in count():
        new = NewTask("c-1", build_user_message(str(number)), "stream", CANONICAL.name)
        try:
            say("ack", (await engine.start(SCOPE, new)).stored.wire_id)
        except StoreUnavailableError:
            await asyncio.sleep(0.1)
        await asyncio.sleep(PAUSE)


async def main(url: str, role: str) -> None:
    """Do what the command line says."""
    store = PostgresStore(url, StoreOptions(lease_seconds=LEASE))
    skills = build_skills()
    engine = Engine(store, skills, EngineOptions(SETTINGS, notifier=store.notifier(), is_worker=role == "worker"))
    if role == "worker":
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with serve_jobs(engine, engine, skills):
            say("open")
            await stop.wait()
        return
    async with engine:
        say("open")
        await accept(engine)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
