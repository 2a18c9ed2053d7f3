"""A process with an agent whose skills append a line to a file and wait; it starts a task of one of
them, or sees a task to its end.

python source_process.py STORE FILE start SKILL    print the id of the task; the tool never returns
python source_process.py STORE FILE follow TASK    print the end of the task; the tool returns
… mcp        the tools belong to an MCP server, a child of the process; ``ask`` has a question
… modules    the tools are modules of apcore
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.lifecycle import SETTLED
from a2a_runtime.base.texts import join_texts
from a2a_runtime.features.sources import SkillDescriptor, SkillSource
from a2a_runtime.process import AgentRuntime
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message
from a2a_runtime.testing.skill_source import FunctionSource

say = partial(print, flush=True)
LEASE = 0.8
SERVER = Path(__file__).parents[1] / "integration/features/mcp/stdio_server.py"


def source_of(file: Path, *, returns: bool) -> FunctionSource:
    """Make the tool twice: as one that may be repeated, and as one that may not."""

    async def append(_value: object, _ctx: SkillContext) -> str:
        with file.open("a", encoding="utf-8") as opened:
            opened.write("line\n")
        say("written")
        if not returns:
            await asyncio.Event().wait()
        return "done"

    source = FunctionSource()
    source.add(SkillDescriptor("append", "Appends a line."), append)
    source.add(
        SkillDescriptor(
            "append-again", "Appends a line, which may happen twice.", is_idempotent=True
        ),
        append,
    )
    return source


def mcp_source_of(file: Path, *, returns: bool) -> SkillSource:
    """Make the same tools those of a server that asks within its calls."""
    # The import takes a second, which the other tools need not wait for.
    from a2a_runtime.features.mcp import McpSource  # noqa: PLC0415

    return McpSource([sys.executable, str(SERVER), str(file), *(() if returns else ("wait",))])


async def wait_begun(file: Path, task: asyncio.Future[object]) -> None:
    """Wait until the tool of the server has written its line, or its question waits."""
    # Another process writes it.
    while not (task.done() or file.exists()):  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.01)
    say("written")


class Append:
    """The tool as a module of apcore; its annotations say whether it may be repeated."""

    description = "Appends a line."
    input_schema: Any = {  # noqa: RUF012 - of the framework
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    }
    output_schema: Any = {"type": "object"}  # noqa: RUF012 - as above

    def __init__(self, file: Path, annotations: object, *, returns: bool) -> None:
        self.annotations = annotations
        self._file = file
        self._returns = returns

    async def execute(self, inputs: dict[str, Any], context: object) -> dict[str, Any]:
        """Append."""
        del context
        with self._file.open("a", encoding="utf-8") as opened:
            opened.write("line\n")
        say("written")
        if not self._returns:
            await asyncio.Event().wait()
        return inputs


def modules_of(file: Path, *, returns: bool) -> SkillSource:
    """Register the tool in a registry of apcore."""
    from a2a_runtime.features.apcore import ApcoreSource  # noqa: PLC0415 - as above

    apcore: Any = import_module("apcore")
    registry = apcore.Registry()
    for name, said in (
        ("files.append", apcore.ModuleAnnotations()),
        ("files.append_again", apcore.ModuleAnnotations(idempotent=True)),
    ):
        registry.register(name, Append(file, said, returns=returns))
    return ApcoreSource(apcore.Executor(registry))


async def main() -> None:
    """Do what the command line says."""
    store, file, what, name, *rest = sys.argv[1:]
    build = {(): source_of, ("mcp",): mcp_source_of, ("modules",): modules_of}[tuple(rest)]
    is_server = rest == ["mcp"]
    surface = Surface(Agent("writer", sources=[build(Path(file), returns=what == "follow")]))
    scope = Caller("ada").task_scope(surface.storage_key)
    async with AgentRuntime(
        [surface], SqliteStore(store, StoreOptions(lease_seconds=LEASE)), FAST_SETTINGS
    ) as runtime:
        if what == "start":
            started = await runtime.engine.start(
                scope,
                NewTask("c-1", build_user_message({} if is_server else "go"), name, "v1_0"),
                Caller("ada"),
            )
            say("task", started.stored.wire_id)
            if is_server:
                await wait_begun(
                    Path(file),
                    asyncio.ensure_future(runtime.engine.wait(started.stored, 1, SETTLED)),
                )
            await asyncio.Event().wait()
        stored = await runtime.engine.load(scope, name)
        if stored.state is State.INPUT_REQUIRED:
            await runtime.engine.send_message(
                scope, name, build_user_message("tea", message_id="m-2")
            )
        if stored.state not in TERMINAL:
            await runtime.engine.wait(stored, stored.last_seq, TERMINAL)
        task = (await runtime.engine.load(scope, name)).task.model
        say(task.status.state.name, join_texts(task.status.message))


if __name__ == "__main__":
    asyncio.run(main())
