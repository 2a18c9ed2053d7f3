"""Agents of documents that need a framework of their own, run in its environment; the code is the
block of the page.

python document_agents.py graph PAGE
python document_agents.py workflow PAGE STORE start     print each step, and never leave the second
python document_agents.py workflow PAGE STORE follow    print each step, and the end of the task
"""

from __future__ import annotations

import asyncio
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.app import create_app
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.texts import join_texts
from a2a_runtime.local import connect
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS

say = partial(print, flush=True)
STEP = re.compile(r"(@DBOS\.step\(\)\nasync def (\w+)\(.*\n)")
HELD = "pay"


def run_block(page: str, names: dict[str, Any], code: str | None = None) -> dict[str, Any]:
    """Run the block of a page; return its names."""
    block = code or read_block(page)
    exec(compile(block, page, "exec", dont_inherit=True), names)  # noqa: S102 - our own document
    return names


def read_block(page: str) -> str:
    """Read the block of a page that needs another environment."""
    return Path(page).read_text(encoding="utf-8").partition("```py\n")[2].partition("```")[0]


def read_texts(task: Task) -> str:
    """Read the texts of a task: of its results, or of its status."""
    results = "".join(join_texts(each) for each in task.artifacts or ())
    return results or join_texts(task.status.message)


async def talk(page: str) -> None:
    """Have two callers with one context id ask a graph, and answer it."""
    app = create_app(run_block(page, {"__name__": "__main__"})["agent"], settings=FAST_SETTINGS)
    async with app.lifespan():
        clients = {name: connect(app, Caller(name)) for name in ("ada", "eve")}
        questions = {
            name: await client.send(f"go {name}", context_id="c")
            for name, client in clients.items()
        }
        for name, client in clients.items():
            task = questions[name]
            assert isinstance(task, Task)
            done = await client.send(f"yes, {name}", task=task)
            assert isinstance(done, Task)
            say(
                task.status.state.name,
                read_texts(task),
                "|",
                done.status.state.name,
                read_texts(done),
            )


async def work(page: str, store: str, what: str) -> None:
    """Start a task whose workflow stays in its second step, or see it to its end."""

    async def note(step: str) -> None:
        say("step", step)
        if what == "start" and step == HELD:
            await asyncio.Event().wait()

    code = STEP.sub(lambda found: f'{found[1]}    await note("{found[2]}")\n', read_block(page))
    app = create_app(
        run_block(page, {"__name__": "__main__", "note": note}, code)["agent"],
        store=SqliteStore(store, StoreOptions(lease_seconds=0.8)),
    )
    async with app.lifespan():
        client = connect(app, Caller("ada"))
        if what == "start":
            await client.send("Rome", wait=False)
            await asyncio.Event().wait()
        async with asyncio.timeout(60):
            while (  # noqa: ASYNC110 - of another run
                task := await anext(client.list(include_artifacts=True))
            ).status.state != State.COMPLETED:
                await asyncio.sleep(0.05)
        say("end", read_texts(task))


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[2]) if sys.argv[1] == "graph" else work(*sys.argv[2:]))
