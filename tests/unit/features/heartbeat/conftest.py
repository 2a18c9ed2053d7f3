"""A heartbeat with a fake clock and a fake registry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from a2a_contract.dialects import MESH
from a2a_runtime.agent import Agent
from a2a_runtime.features.heartbeat.loop import RegistryClient, RegistryHeartbeat
from a2a_runtime.features.heartbeat.registration import MeshConfig, MeshSurfaces, build_identity
from a2a_runtime.surface import Surface
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.registry import FakeRegistry

PREFIX = "https://agents.example.test"


def surface(path: str = "/agents/one", skill_id: str = "one", **facts: object) -> Surface:
    """Build a mesh surface."""

    async def handler(_ctx: object) -> str:
        return "done"

    agent = Agent("b producer")
    agent.add(skill_id, handler, **facts)  # type: ignore[arg-type]  # whatever a test says
    return Surface(agent, path, frozenset((MESH.name,)))


@dataclass
class MeshSetup:
    """A registry, an app with its heartbeat, and their clock."""

    clock: FakeClock = field(default_factory=FakeClock)
    surfaces: list[Surface] = field(default_factory=lambda: [surface()])
    registry: FakeRegistry = field(init=False)
    mesh_surfaces: MeshSurfaces = field(init=False)
    heartbeat: RegistryHeartbeat = field(init=False)

    def __post_init__(self) -> None:
        self.registry = FakeRegistry(self.clock, prefix=PREFIX)
        self.mesh_surfaces = MeshSurfaces(lambda: self.surfaces, "/app")

    async def advance(self, seconds: float, step: float = 0.5) -> None:
        """Advance the clock, and run everything that is due."""
        await settle()
        for _ in range(round(seconds / step)):
            self.clock.advance(step)
            await settle()

    def take_requests(self) -> list[str]:
        """Take the methods of the requests since the last call."""
        requests = self.registry.requests
        self.registry.requests = []
        return [each.partition(" ")[0] for each in requests]

    @property
    def agent_id(self) -> str:
        """The only id at the registry."""
        (agent_id,) = self.registry.agents
        return agent_id


async def settle() -> None:
    """Run everything that needs no time."""
    for _ in range(60):
        await asyncio.sleep(0)


StartHeartbeat = Callable[..., AbstractAsyncContextManager[MeshSetup]]


@pytest.fixture
def start_heartbeat() -> StartHeartbeat:
    """Start a heartbeat."""

    @asynccontextmanager
    async def start(
        mesh: MeshSetup | None = None, **options: object
    ) -> AsyncGenerator[MeshSetup, None]:
        mesh = mesh or MeshSetup()
        config = MeshConfig("http://registry", http_host="10.0.0.42", http_port=8080, **options)  # type: ignore[arg-type]
        identity = build_identity(mesh.surfaces[0].agent, config, config.http_host)
        registry = RegistryClient(config.registry_url, mesh.registry.transport())
        async with RegistryHeartbeat(
            registry, identity, config, mesh.mesh_surfaces, mesh.clock
        ) as mesh.heartbeat:
            await settle()
            yield mesh

    return start
