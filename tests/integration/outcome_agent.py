"""An agent with a skill for every outcome, in process or on a real socket.

Docstrings of its handlers are descriptions on recorded, signed cards.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Literal

import httpx
import uvicorn
from litestar import Litestar

from a2a_contract.v1_0 import AgentExtension
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.net.authorities import load_ssl_context
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

EXTENSION = "https://example.org/extensions/poems/v1"
LINE_ENDS = "one\u2028two\u2029three\u0085four\x0bfive"


ALL_CAPABILITIES = Capabilities(
    streaming=True,
    push_notifications=True,
    extended_agent_card=True,
    extensions=(AgentExtension(uri=EXTENSION),),
)


class BlockingHandler:
    """A handler that goes on until it is canceled, and remembers whose task that was."""

    def __init__(self) -> None:
        self.started_texts: list[str] = []
        self.canceled_texts: list[str] = []

    async def __call__(self, ctx: TaskContext) -> None:
        """Block for ever."""
        await ctx.status("at it")
        self.started_texts.append(ctx.text)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.canceled_texts.append(ctx.text)
            raise


async def echo(ctx: TaskContext) -> str:
    """Say the same."""
    return ctx.text


async def count(ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Count as far as one says."""
    for number in range(int(ctx.text)):
        yield str(number)


async def ask(ctx: TaskContext) -> str:
    """Ask once, and say what was said."""
    return f"You said {(await ctx.ask('What?')).text}"


async def tick(ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Say something now and then."""
    for number in range(int(ctx.text)):
        yield str(number)
        await asyncio.sleep(0.05)


async def greet(ctx: Context) -> str:
    """Greet without a task."""
    return f"Hello, {ctx.text}!"


async def broken(_ctx: TaskContext) -> None:
    """Break."""
    raise RuntimeError("password=hunter2")


async def lines(_ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Say what readers take for ends of lines."""
    yield LINE_ENDS


async def picture(_ctx: TaskContext) -> bytes:
    """Paint."""
    return b"png"


def build_test_agent(
    blocking_handler: BlockingHandler | None = None, capabilities: Capabilities = ALL_CAPABILITIES
) -> Agent:
    """Build an agent with a skill for every outcome of a task."""
    agent = Agent("busy", description="Does all there is.", capabilities=capabilities)
    for handler in (echo, count, ask, tick, lines):
        agent.add(handler.__name__, handler, default=handler is echo)
    agent.add("wait", blocking_handler or BlockingHandler())
    agent.add("break", broken)
    agent.add("greet", greet, answers="message")
    agent.add("picture", picture, input_modes=("image/*",), output_modes=("image/png",))
    return agent


def build_test_app(*surfaces: Surface, store: Store | str | None = None) -> Litestar:
    """Build an app of surfaces, by default of one at the root."""
    return create_app(
        *(surfaces or (Surface(build_test_agent()),)), store=store, settings=FAST_SETTINGS
    )


class PromptServer(uvicorn.Server):
    """A server that ends at once when it is told to: that of uvicorn looks ten times a second, and
    pauses where no connection is open.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Tell it to end, from another thread."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and remember the loop."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        """Wait for the end."""
        await self.on_tick(0)
        await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End without a pause where nothing is open."""
        for _ in range(3):  # closed connections that the loop has not heard of
            await asyncio.sleep(0)
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
            await server.wait_closed()
        await self.lifespan.shutdown()


@contextmanager
def serve_on_socket(
    app: object,
    grace_seconds: float | None = None,
    listening_socket: socket.socket | None = None,
    protocol: type[asyncio.Protocol] | Literal["auto"] = "auto",
) -> Iterator[httpx.Client]:
    """Serve an app with uvicorn, by default on a new socket, and yield a client of it."""
    options = {"log_level": "critical", "lifespan": "on", "http": protocol}
    config = uvicorn.Config(app, port=0, timeout_graceful_shutdown=grace_seconds, **options)  # type: ignore[arg-type]
    server = PromptServer(config)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening_socket] if listening_socket else None}
    )
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}", timeout=10, trust_env=False, verify=load_ssl_context()
    ) as client:
        try:
            yield client
        finally:
            client.close()
            server.end()
            thread.join(15)
