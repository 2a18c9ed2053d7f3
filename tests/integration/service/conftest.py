"""Service with a real engine on every store, and a client for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from a2a_contract.service import Event
from a2a_contract.v1_0 import (
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.process import collect_skills
from a2a_runtime.service.context import CallContext, ServiceDependencies
from a2a_runtime.service.service import Service
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

EVERYTHING = Capabilities(streaming=True, push_notifications=True, extended_agent_card=True)


def build_outcome_agent() -> Agent:
    """Make an agent with a skill for every way in which a task can go."""
    agent = Agent("all", description="Does all there is.", capabilities=EVERYTHING)

    @agent.skill("echo", default=True)
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    @agent.skill("count")
    async def count(ctx: TaskContext) -> AsyncGenerator[str, None]:
        for number in range(int(ctx.text)):
            yield str(number)

    @agent.skill("ask")
    async def ask(ctx: TaskContext) -> str:
        first = await ctx.ask("What?")
        second = await ctx.ask("And then?")
        return f"{first.text} and {second.text}"

    @agent.skill("wait")
    async def wait(ctx: TaskContext) -> None:
        await ctx.status("at it")
        await asyncio.Event().wait()

    @agent.skill("greet", answers="message")
    async def greet(ctx: Context) -> str:
        return f"Hello, {ctx.text}!"

    @agent.skill(
        "picture", input_modes=("image/*",), output_modes=("image/png",), only_extended=True
    )
    async def picture(_ctx: TaskContext) -> bytes:
        return b"png"

    return agent


@dataclass(frozen=True)
class Client:
    """Talks to a surface in one dialect."""

    service: Service
    call: CallContext

    def copy_with(self, **changes: object) -> Client:
        """Talk in another way."""
        return Client(self.service, replace(self.call, **changes))

    def request(self, *values: object, skill: str = "echo", **more: object) -> SendMessageRequest:
        """Make a request; members of the configuration and the message go by their names."""
        said = {
            name: more.pop(name)
            for name in tuple(more)
            if name in SendMessageConfiguration.model_fields
        }
        configuration = SendMessageConfiguration.model_validate(said) if said else None
        tenant = more.pop("tenant", None)
        return SendMessageRequest.model_validate(
            {
                "tenant": tenant,
                "message": build_user_message(*values, **more),
                "configuration": configuration,
                "metadata": {"skillId": skill},
            }
        )

    async def answer(self, *values: object, **more: object) -> SendMessageResponse:
        """Send a message."""
        return (await self.service.send_message(self.request(*values, **more), self.call)).model

    async def send(self, *values: object, **more: object) -> Task:
        """Send a message and get its task."""
        task = (await self.answer(*values, **more)).task
        assert task is not None
        return task

    async def ask_for_message(self, *values: object, **more: object) -> Message:
        """Send a message and get one back."""
        message = (await self.answer(*values, **more)).message
        assert message is not None
        return message

    async def stream(self, *values: object, **more: object) -> list[Event[StreamResponse]]:
        """Send a message and collect everything that comes of it."""
        async with aclosing(
            self.service.send_streaming_message(self.request(*values, **more), self.call)
        ) as events:
            return [event async for event in events]

    async def subscribe(self, task_id: str) -> list[Event[StreamResponse]]:
        """Follow a task to the end of the stream."""
        return await (await self.start_subscription(task_id))

    async def start_subscription(self, task_id: str) -> asyncio.Task[list[Event[StreamResponse]]]:
        """Follow a task in the background; return once its first event has arrived, or the stream
        has ended.
        """
        has_begun = asyncio.Event()

        async def collect() -> list[Event[StreamResponse]]:
            collected = []
            try:
                async with aclosing(
                    self.service.subscribe_to_task(SubscribeToTaskRequest(id=task_id), self.call)
                ) as events:
                    async for event in events:
                        collected.append(event)
                        has_begun.set()
            finally:
                has_begun.set()
            return collected

        subscription = asyncio.create_task(collect())
        await has_begun.wait()
        return subscription


Serve = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def serve(store: Store) -> Serve:
    """Build a surface of an agent, and return a client for it."""

    @asynccontextmanager
    async def serve_agent(
        agent: Agent | None = None, **surface: object
    ) -> AsyncGenerator[Client, None]:
        mounted = Surface(agent or build_outcome_agent(), "/all", **surface)  # type: ignore[arg-type]  # whatever a test says
        async with Engine(
            store,
            collect_skills([mounted], {mounted.agent: mounted.agent.build_dependencies()}),
            EngineOptions(settings=FAST_SETTINGS),
        ) as engine:
            yield Client(
                Service(ServiceDependencies(engine, store)),
                CallContext(mounted, Caller("ada"), base_url="http://test/all"),
            )

    return serve_agent


@pytest.fixture
async def client(serve: Serve) -> AsyncGenerator[Client, None]:
    """Client for an agent with all kinds of skills."""
    async with serve() as client:
        yield client
