"""A process with an agent that drives one task to its end, however often it has to be started for
that; what it has seen acknowledged, it prints.

    python engine_process.py URL            drive the task `t-1`
    python engine_process.py URL bystander  work slowly on a task of one's own, `t-2`

``A2A_FAULT`` says where the process dies, ``A2A_PACE`` how many seconds it takes for two chunks.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from contextlib import aclosing
from functools import partial

from a2a_contract.errors import TaskIdInUseError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.lifecycle import SETTLED
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.features.postgres import PoolSettings, PostgresNotifier, PostgresStore
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message
from a2a_runtime.testing.fail_points import fail_point_from_environment

say = partial(print, flush=True)  # what was said before the process was killed has been said

SCOPE = TaskScope("/agent", "acme", "ada")
LEASE = 1.5
CHUNKS = 40
PACE = float(os.environ.get("A2A_PACE", "0"))


async def thorough(ctx: TaskContext) -> object:
    """Do one of everything: say, stream, remember, ask, stream more, ask again."""
    await ctx.status("begun")
    price = await ctx.once("price", find_price)
    async with ctx.artifact("stream") as stream:
        for number in range(CHUNKS // 2):
            await stream.text(str(number))
            if number % 2:  # two chunks share a commit
                await ctx.flush()
                await asyncio.sleep(PACE)
    first = await ctx.ask("First?")
    await ctx.status("between")
    async with ctx.artifact("stream") as stream:
        for number in range(CHUNKS // 2, CHUNKS):
            await stream.text(str(number))
            if number % 2:
                await ctx.flush()
    second = await ctx.ask("Second?", {"type": "string"}, key="second")
    return {"price": price, "first": first.text, "second": second.text}


async def find_price() -> int:
    """Find out something that floats would bend."""
    return 2**53 + 1


async def slowly(_ctx: TaskContext) -> str:
    """Take longer than a lease lasts."""
    await asyncio.sleep(LEASE * 2)
    return "undisturbed"


def store_of(url: str) -> Store:
    """Open the store behind a URL, with the fault that the environment asks for."""
    options = StoreOptions(lease_seconds=LEASE, fail_point=fail_point_from_environment())
    if url.startswith("postgresql"):
        return PostgresStore(url, options, PoolSettings())
    return SqliteStore(url, options)


async def drive(engine: Engine, wire_id: str, skill: str) -> None:
    """See the task to its end, answering what it asks."""
    try:
        await engine.start(
            SCOPE, NewTask("c-1", build_user_message("go"), skill, "v1_0", wire_id=wire_id)
        )
    except TaskIdInUseError:
        say("found")
    cursor = 0
    answered = 0
    while True:
        async with aclosing(await engine.follow(SCOPE, wire_id, cursor, SETTLED)) as events:
            async for event in events:
                cursor = event.seq
                say("event", event.seq, hashlib.sha256(event.body).hexdigest())
        stored = await engine.load(SCOPE, wire_id)
        if stored.state in TERMINAL:
            say("end", stored.task.json.decode())
            return
        if stored.state is State.INPUT_REQUIRED and stored.last_seq > answered:
            question = stored.task.model.status.message
            accepted = await engine.send_message(
                SCOPE,
                wire_id,
                build_user_message(
                    f"to {question.parts[0].text}", message_id=f"m-{stored.last_seq}"
                ),
            )
            answered = accepted.cursor
            say("answered")


async def main() -> None:
    """Do what the command line says."""
    url, *what = sys.argv[1:]
    notifier = PostgresNotifier(url) if url.startswith("postgresql") else None
    skills = Skills(Skill("thorough", thorough), Skill("slowly", slowly))
    async with Engine(
        store_of(url), skills, EngineOptions(settings=FAST_SETTINGS, notifier=notifier)
    ) as engine:
        say("open")
        await drive(engine, *(("t-2", "slowly") if what else ("t-1", "thorough")))


if __name__ == "__main__":
    asyncio.run(main())
