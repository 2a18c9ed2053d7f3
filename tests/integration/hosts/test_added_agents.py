"""Agents that are added while an app serves have all that agents at its start have: a gRPC port,
webhooks, and a place in a mesh.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from integration.features.grpc.calls import CallClient, CallError, build_send
from integration.grpc_overlay import find_free_address
from integration.host_app import build_saying_agent
from integration.outcome_agent import serve_on_socket
from litestar import Litestar
from litestar.exceptions import ImproperlyConfiguredException

from a2a_contract.dialects import MESH, V1_0
from a2a_contract.v1_0 import Task, TaskPushNotificationConfig
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.auth import OpenGate
from a2a_runtime.base.caller import Caller
from a2a_runtime.client import SendOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import ListenError
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.features.heartbeat.registration import MeshConfig
from a2a_runtime.local import connect
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.registry import FakeRegistry
from a2a_runtime.testing.webhook_receiver import WebhookReceiver

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@asynccontextmanager
async def serve(mesh: MeshConfig | None = None) -> AsyncIterator[tuple[A2APlugin, Litestar]]:
    """Run an app with one agent that has none of these."""
    settings = replace(FAST_SETTINGS, push_poll_interval=1000, outbound_allow_loopback=True)
    plugin = A2APlugin(build_saying_agent("one"), gate=OpenGate(), mesh=mesh, settings=settings)
    app = Litestar(plugins=[plugin], logging_config=None)
    async with app.lifespan():
        yield plugin, app


async def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(30):
        while not is_true():  # noqa: ASYNC110 - of a server in another thread
            await asyncio.sleep(0.01)


async def test_an_added_agent_has_a_port() -> None:
    """It is on its card, and closed when the agent is removed, after the calls that wait there; the
    agent may be added again.
    """
    options = GrpcOptions(find_free_address())
    agent = build_saying_agent("two")

    @agent.skill("wait", default=True)
    async def wait(_ctx: TaskContext) -> None:
        await asyncio.sleep(1000)

    async with serve() as (plugin, app):
        for _ in range(2):
            await plugin.add(Surface(agent, "/two", gate=OpenGate(), grpc=options))
            async with CallClient(options.address) as client:
                assert (await client.send("x", "say"))["artifacts"][0]["parts"] == [{"text": "two"}]
                card = await connect(app, Caller("ada"), "/two").get_card()
                assert options.address in [each.url for each in card.supported_interfaces]
                stream = client.stream("SendStreamingMessage", build_send("x", "wait"))
                await anext(stream)
                call = asyncio.create_task(client.send("x", "wait"))
                while (await client.call("ListTasks", {"status": "TASK_STATE_WORKING"})).get(  # noqa: ASYNC110 - only the server knows
                    "totalSize"
                ) != 2:
                    await asyncio.sleep(0.01)
                async with asyncio.timeout(options.grace / 2):
                    await plugin.remove("/two")
                assert (await call)["status"]["state"] == "TASK_STATE_FAILED"
                with pytest.raises(CallError, match="UNAVAILABLE"):
                    [each async for each in stream]
                assert (await client.fail("ListTasks", {})).code == "UNAVAILABLE"


async def test_a_port_that_cannot_be_opened_leaves_the_app_as_it_was() -> None:
    """One that another agent has is refused, and so is one that another process has; the agent may
    then be added without it.
    """
    options = GrpcOptions(find_free_address())
    other = GrpcOptions(find_free_address())
    async with serve() as (plugin, app), serve() as (elsewhere, _):
        await plugin.add(Surface(build_saying_agent("two"), "/two", gate=OpenGate(), grpc=options))
        await elsewhere.add(Surface(build_saying_agent("x"), "/x", gate=OpenGate(), grpc=other))
        three = Surface(build_saying_agent("three"), "/three", gate=OpenGate(), grpc=options)
        with pytest.raises(ValueError, match="a port belongs to one surface"):
            await plugin.add(three)
        with pytest.raises(ListenError, match="cannot be listened on"):
            await plugin.add(replace(three, grpc=other))
        assert [each.path for each in plugin.surfaces] == ["/agent", "/two"]
        await plugin.add(replace(three, grpc=None))
        assert "three" in str(await connect(app, Caller("ada"), "/three").send("x"))


async def test_an_added_agent_sends_webhooks() -> None:
    """At once, although no agent at the start had any, and with the polls of the sender switched
    off.
    """
    agent = Agent("two", capabilities=Capabilities(push_notifications=True))
    agent.add("say", lambda _ctx: "two")
    async with WebhookReceiver() as receiver, serve() as (plugin, app):
        for _ in range(2):
            await plugin.add(agent, path="/two", gate=OpenGate())
            client = connect(app, Caller("ada"), "/two")
            task = await client.send(
                "x", options=SendOptions(push_config=TaskPushNotificationConfig(url=receiver.url))
            )
            assert isinstance(task, Task)
            ends = [task.id, "TASK_STATE_COMPLETED"]
            await wait_until(
                lambda ends=ends: any(
                    all(each in str(request.json()) for each in ends)
                    for request in receiver.requests
                )
            )
            await plugin.remove("/two")


async def test_an_added_agent_joins_the_mesh() -> None:
    """The first one begins the heartbeat, others are registered by it; one that is removed is
    registered no more.
    """
    registry = FakeRegistry(prefix="https://mesh.example")
    with serve_on_socket(registry) as registry_client:
        mesh = MeshConfig(str(registry_client.base_url), http_host="127.0.0.1", health_interval=0.1)
        async with serve(mesh) as (plugin, _):
            assert registry.requests == []

            def list_paths() -> list[str]:
                return sorted(
                    each["path"] for agent in registry.agents.values() for each in agent.surfaces
                )

            for name in ("two", "three"):
                await plugin.add(
                    Surface(
                        build_saying_agent(name),
                        f"/{name}",
                        frozenset((MESH.name, V1_0.name)),
                        gate=OpenGate(),
                    )
                )
            await wait_until(lambda: list_paths() == ["/three", "/two"])
            assert len(registry.agents) == 1
            await plugin.remove("/two")
            await wait_until(lambda: list_paths() == ["/three"])
        assert registry.requests[-1].startswith("DELETE /agents/")


async def test_wrong_settings_of_a_mesh_leave_the_app_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are read when the first surface of the mesh is added; once they are right, it joins."""
    surface = Surface(build_saying_agent("two"), "/two", frozenset((MESH.name,)), gate=OpenGate())
    registry = FakeRegistry()
    monkeypatch.setenv("A2A_HEALTH_INTERVAL", "often")
    with serve_on_socket(registry) as registry_client:
        monkeypatch.setenv("A2A_REGISTRY_URL", str(registry_client.base_url))
        async with serve() as (plugin, _):
            with pytest.raises(
                ImproperlyConfiguredException, match="A2A_HEALTH_INTERVAL: 'often' is not a number"
            ):
                await plugin.add(surface)
            assert [each.path for each in plugin.surfaces] == ["/agent"]
            monkeypatch.setenv("A2A_HEALTH_INTERVAL", "0.1")
            await plugin.add(surface)
            await wait_until(lambda: len(registry.agents) == 1)
