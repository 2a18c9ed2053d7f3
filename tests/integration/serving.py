"""An agent that does everything over HTTP, in process or on a real socket."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import uvicorn
from litestar import Litestar

from a2a_contract.v1_0 import AgentExtension
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.execution.context import Context, TaskContext
from a2a_runtime.stores.port import Store
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import QUICK

EXTENSION = "https://example.org/extensions/poems/v1"
LINE_ENDS = "one\u2028two\u2029three\u0085four\x0bfive"


@dataclass
class Handlers:
    """What the handlers of an agent have noticed, and what they wait for."""

    canceled: list[str] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)


def busy_agent(handlers: Handlers | None = None, **capabilities: object) -> Agent:
    """Make an agent with a skill for every way in which a task can go."""
    handlers = handlers or Handlers()
    able = {
        "streaming": True,
        "push_notifications": True,
        "extended_agent_card": True,
        "extensions": (AgentExtension(uri=EXTENSION),),
        **capabilities,
    }
    agent = Agent("busy", description="Does all there is.", capabilities=Capabilities(**able))  # type: ignore[arg-type]  # whatever a test says

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    @agent.skill("count")
    async def count(ctx: TaskContext) -> AsyncGenerator[str, None]:
        for number in range(int(ctx.text)):
            yield str(number)

    @agent.skill("ask")
    async def ask(ctx: TaskContext) -> str:
        return f"You said {(await ctx.ask('What?')).text}"

    @agent.skill("wait")
    async def wait(ctx: TaskContext) -> None:
        await ctx.status("at it")
        try:
            while not handlers.go_on.is_set():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            handlers.canceled.append(ctx.text)
            raise

    @agent.skill("greet", answers="message")
    async def greet(ctx: Context) -> str:
        return f"Hello, {ctx.text}!"

    @agent.skill("break")
    async def broken(_ctx: TaskContext) -> None:
        raise RuntimeError("password=hunter2")

    @agent.skill("lines")
    async def lines(_ctx: TaskContext) -> AsyncGenerator[str, None]:
        yield LINE_ENDS

    @agent.skill("picture", input_modes=("image/*",), output_modes=("image/png",))
    async def picture(_ctx: TaskContext) -> bytes:
        return b"png"

    return agent


def busy_app(*surfaces: Surface, store: Store | str | None = None) -> Litestar:
    """Make an app of surfaces, or of one at the root."""
    return create_app(*(surfaces or (Surface(busy_agent()),)), store=store, settings=QUICK)


@contextmanager
def on_a_socket(app: object) -> Iterator[httpx.Client]:
    """Serve an app with uvicorn, and give a client of it."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))  # type: ignore[arg-type]  # any ASGI app
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(15)
