"""The registry of mcp-mesh itself, a binary that npm has: our producer registers, is listed with
its public URL, renews and deregisters.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import aclosing

import httpx
import pytest
from peers.environments import environment

from a2a_contract.mesh import Tool
from a2a_runtime.agent import Agent
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.features.heartbeat.loop import RegistryClient, RegistryHeartbeat, run_heartbeat
from a2a_runtime.features.heartbeat.registration import MeshConfig, MeshSurfaces, build_identity
from a2a_runtime.features.heartbeat.schedule import HeartbeatResult
from a2a_runtime.surface import Surface
from a2a_runtime.testing.ports import find_free_port

pytestmark = [pytest.mark.anyio, pytest.mark.peer]

PREFIX = "https://agents.example.test"
BINARY = "node_modules/@mcpmesh/cli-linux-x64/bin/mcp-mesh-registry"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A registry with a database of its own."""
    folder = tmp_path_factory.mktemp("registry")
    port = find_free_port()
    settings = {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "DATABASE_URL": str(folder / "registry.db"),
        "MCP_MESH_PUBLIC_URL_PREFIX": PREFIX,
    }
    path = environment("mesh-registry-3.7.1").interpreter.parent / BINARY
    process = subprocess.Popen(
        [str(path)],
        env={**os.environ, **settings},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=10, trust_env=False
        ) as client:
            until = time.monotonic() + 60
            while not is_up(client):
                assert process.poll() is None, "the registry did not start"
                assert time.monotonic() < until, "the registry is not up after a minute"
                time.sleep(0.05)
            yield client
    finally:
        process.terminate()
        process.wait(15)


def is_up(client: httpx.Client) -> bool:
    """Return whether the registry answers."""
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def reports(path: str = "/agents/report", *dialects: str) -> Surface:
    """Build a surface of an agent."""
    agent = Agent("registry-test")
    agent.add("make-report", lambda ctx: ctx.text, tags=("reports",))
    return Surface(agent, path, dialects=frozenset(dialects or ("mesh",)), gate=OpenGate())


async def wait_until_registered(heartbeat: RegistryHeartbeat | None) -> None:
    """Wait until a heartbeat was accepted."""
    assert heartbeat is not None
    async with asyncio.timeout(30):
        while not heartbeat.is_registered:  # noqa: ASYNC110 - the registry is another process
            await asyncio.sleep(0.02)


@pytest.mark.requirement("mesh", "H1", "H2", "H6", "D1")
async def test_a_producer_is_listed_with_its_public_url(registry: httpx.Client) -> None:
    """As a2a, until it deregisters; the URL that the registry assigns is that of the surface."""
    config = MeshConfig(
        str(registry.base_url),
        agent_id="registry-test-1",
        http_host="127.0.0.1",
        http_port=9000,
        health_interval=0.2,
    )
    surface = reports()
    surfaces = MeshSurfaces(lambda: (surface,))
    async with run_heartbeat(config, surfaces) as heartbeat:
        await wait_until_registered(heartbeat)
        assert [(each["path"], each["public_url"]) for each in producers(registry)] == [
            ("/agents/report", f"{PREFIX}/agents/report")
        ]
        assert surfaces.public_urls.get(surface) == f"{PREFIX}/agents/report"
        await asyncio.sleep(0.5)  # renewals keep it
        assert (facts(registry)["agent_type"], facts(registry)["status"]) == ("a2a", "healthy")
    assert facts(registry)["status"] == "unhealthy"


def producers(registry: httpx.Client) -> list[dict[str, str]]:
    """List the surfaces of producers, as clients see them."""
    listed: list[dict[str, str]] = registry.get("/a2a/agents").json()["surfaces"]
    return listed


def facts(registry: httpx.Client, agent_id: str = "registry-test-1") -> dict[str, object]:
    """Read the row of an agent."""
    found: list[dict[str, object]] = [
        each for each in registry.get("/agents").json()["agents"] if each["id"] == agent_id
    ]
    return found[0]


@pytest.mark.requirement("mesh", "H5")
async def test_tools_alone_are_an_mcp_agent(registry: httpx.Client) -> None:
    """An app with tools alone is registered, and is not in the list of producers."""
    tools = (Tool(function_name="add", capability="math"),)
    config = MeshConfig(
        str(registry.base_url),
        agent_id="registry-test-2",
        http_host="127.0.0.1",
        http_port=9001,
        tools=tools,
    )
    surface = reports("/plain", "1.0")
    async with run_heartbeat(config, MeshSurfaces(lambda: (surface,))) as heartbeat:
        await wait_until_registered(heartbeat)
        assert facts(registry, "registry-test-2")["agent_type"] == "mcp_agent"
        assert "/plain" not in [each["path"] for each in producers(registry)]


async def test_a_refusal_names_its_reason(registry: httpx.Client) -> None:
    """It has HTTP status 200 too."""
    identity = build_identity(Agent("n"), MeshConfig(agent_id="registry-test-3"), "127.0.0.1")
    async with aclosing(RegistryClient(str(registry.base_url))) as client:
        refused = await client.register(identity.model_copy(update={"name": "Not A Label"}))
    assert (refused.result, bool(refused.reason)) == (HeartbeatResult.REJECTED, True)
