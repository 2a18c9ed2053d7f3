"""Dependencies of an agent in an app of a host: the order of lifespans, functions of both, and
tests of the app.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import pytest
from integration.host_app import MESSAGE, texts
from litestar import Litestar, get
from litestar.config.app import AppConfig
from litestar.di import NamedDependency, Provide
from litestar.plugins import InitPlugin
from litestar.testing import TestClient

from a2a_runtime.agent import Agent
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.testing.agent import FAST_SETTINGS


class Pool:
    """Something of the process."""

    def __init__(self, log: list[str]) -> None:
        self._log = log
        self.name = "pool"

    async def __aenter__(self) -> Self:
        self._log.append("+pool")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._log.append("-pool")


def test_dependencies_are_overridden_for_a_test() -> None:
    """An app that starts inside gets the other functions; afterwards the declared ones are back."""
    agent = Agent("a")
    agent.provide(name=lambda: "real")

    @agent.skill
    async def tell(_ctx: TaskContext, name: str) -> str:
        return name

    app = Litestar(
        plugins=[A2APlugin(agent, path="/a", gate=OpenGate(), settings=FAST_SETTINGS)],
        logging_config=None,
    )
    with agent.override(name=lambda: "fake"), TestClient(app) as client:
        assert texts(client, "/a") == "fake"
    with TestClient(app) as client:
        assert texts(client, "/a") == "real"
    with (
        pytest.raises(ValueError, match="override: no dependency nane; known: name"),
        agent.override(nane=lambda: ""),
    ):
        pass


class DatabasePlugin(InitPlugin):
    """A plugin of the host that opens something."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Open it with the app."""

        @asynccontextmanager
        async def lifespan(_app: Litestar) -> AsyncIterator[None]:
            self._log.append("+host")
            yield
            self._log.append("-host")

        app_config.lifespan.append(lifespan)
        return app_config


def test_a_plugin_of_the_host_closes_after_the_last_run() -> None:
    """Also one that is listed behind the agents; and the app may be started again."""
    log: list[str] = []
    agent = Agent("a")
    agent.provide(pool=lambda: Pool(log))

    @agent.skill
    async def wait(ctx: TaskContext, pool: Pool) -> None:
        await ctx.status(pool.name)
        try:
            await asyncio.sleep(1000)
        finally:
            log.append("run ended")

    app = Litestar(
        plugins=[
            A2APlugin(agent, path="/a", gate=OpenGate(), settings=FAST_SETTINGS),
            DatabasePlugin(log),
        ],
        logging_config=None,
    )
    for _ in range(2):
        log.clear()
        with TestClient(app) as client:
            client.post(
                "/a/message:send", json={**MESSAGE, "configuration": {"returnImmediately": True}}
            )
            assert log == ["+host", "+pool"]
        assert log in (
            ["+host", "+pool", "run ended", "-pool", "-host"],
            ["+host", "+pool", "-pool", "-host"],
        )


def test_a_provider_may_be_a_dependency_of_the_host_s_routes() -> None:
    """One function for Litestar's ``Provide`` and for the agent."""

    async def open_name() -> AsyncGenerator[str, None]:
        yield "Momo"

    @get("/name", dependencies={"name": Provide(open_name)})
    async def name_route(name: NamedDependency[str]) -> str:
        return name

    agent = Agent("a")
    agent.provide_per_run(name=open_name)

    @agent.skill
    async def tell(_ctx: TaskContext, name: str) -> str:
        return name

    app = Litestar(
        [name_route],
        plugins=[A2APlugin(agent, path="/a", gate=OpenGate(), settings=FAST_SETTINGS)],
        logging_config=None,
    )
    with TestClient(app) as client:
        assert client.get("/name").text == texts(client, "/a") == "Momo"
