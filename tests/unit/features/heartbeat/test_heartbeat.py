"""A heartbeat through restarts, lapses, rejections and outages of its registry."""

from __future__ import annotations

import asyncio
import logging

import pytest
from integration.outcome_agent import serve_on_socket
from unit.features.heartbeat.conftest import PREFIX, MeshSetup, StartHeartbeat, surface

from a2a_contract.mesh import Tool
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.features.heartbeat.loop import run_heartbeat
from a2a_runtime.features.heartbeat.registration import MeshConfig, MeshSurfaces
from a2a_runtime.surface import Surface
from a2a_runtime.testing.registry import FakeRegistry

pytestmark = pytest.mark.anyio


async def test_a_heartbeat_registers_then_renews_then_deregisters(
    start_heartbeat: StartHeartbeat,
) -> None:
    """The first request registers, the following ones renew, the last one deregisters."""
    async with start_heartbeat() as mesh:
        assert mesh.take_requests() == ["POST"]
        assert mesh.heartbeat.is_registered
        await mesh.advance(10)
        assert mesh.take_requests() == ["HEAD", "HEAD"]
    assert mesh.take_requests() == ["DELETE"]
    assert not mesh.registry.agents[mesh.agent_id].is_healthy


@pytest.mark.requirement("mesh", "H6", "D1", "D2")
async def test_public_urls_come_from_the_registry(start_heartbeat: StartHeartbeat) -> None:
    """The registry gives a public URL for each path and skill, without the app's prefix."""
    async with start_heartbeat() as mesh:
        assert mesh.mesh_surfaces.public_urls.get(mesh.surfaces[0]) == f"{PREFIX}/app/agents/one"
        assert mesh.mesh_surfaces.public_urls.get(surface("/agents/other")) is None
        mesh.registry.prefix = ""
        mesh.registry.change_topology()
        await mesh.advance(5)
        assert mesh.mesh_surfaces.public_urls.get(mesh.surfaces[0]) is None


async def test_a_changed_topology_is_fetched_at_once(start_heartbeat: StartHeartbeat) -> None:
    """A new registration follows without a delay."""
    async with start_heartbeat() as mesh:
        mesh.registry.change_topology()
        mesh.take_requests()
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD", "POST"]
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD"]


async def test_a_restarted_registry_gets_a_new_registration(
    start_heartbeat: StartHeartbeat,
) -> None:
    """The next heartbeat registers the agent again under the same id."""
    async with start_heartbeat() as mesh:
        before = mesh.agent_id
        mesh.registry.restart()
        mesh.take_requests()
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD", "POST"]
        assert mesh.agent_id == before


async def test_an_expired_agent_registers_again(start_heartbeat: StartHeartbeat) -> None:
    """An agent registers again as soon as a renewal reports it as unknown."""
    async with start_heartbeat() as mesh:
        mesh.registry.agents[mesh.agent_id].is_healthy = False
        await mesh.advance(5)
        assert mesh.registry.agents[mesh.agent_id].is_healthy


async def test_an_unreachable_registry_is_retried_without_end(
    start_heartbeat: StartHeartbeat, caplog: pytest.LogCaptureFixture
) -> None:
    """Delays grow to 30 s; the log has one record for the outage and one for its end."""
    caplog.set_level(logging.INFO)
    mesh = MeshSetup()
    mesh.registry.is_unreachable = True
    async with start_heartbeat(mesh):
        await mesh.advance(3600, 5)
        assert not mesh.heartbeat.is_registered
        mesh.registry.is_unreachable = False
        await mesh.advance(35)
        assert mesh.heartbeat.is_registered
        assert mesh.agent_id
    messages = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("a2a_runtime.features.heartbeat")
    ]
    assert len(messages) == 2
    assert "unavailable" in messages[0]
    assert "registered as" in messages[1]


async def test_an_outage_is_followed_by_a_registration(start_heartbeat: StartHeartbeat) -> None:
    """After some failures the heartbeat registers instead of renewing."""
    async with start_heartbeat() as mesh:
        mesh.take_requests()
        mesh.registry.is_unreachable = True
        await mesh.advance(60)
        mesh.registry.restart()
        mesh.registry.is_unreachable = False
        await mesh.advance(35)
        assert mesh.take_requests()[0] == "POST"
        assert mesh.heartbeat.is_registered


async def test_a_failing_registry_is_retried_with_growing_delays(
    start_heartbeat: StartHeartbeat,
) -> None:
    """It renews first, and registers only after some failures."""
    async with start_heartbeat() as mesh:
        mesh.registry.is_failing = True
        mesh.take_requests()
        await mesh.advance(60)
        requests = mesh.take_requests()
        assert requests[:4] == ["HEAD"] * 4
        assert set(requests[4:]) == {"POST"}
        assert len(requests) < 14


async def test_a_rejection_is_retried(
    start_heartbeat: StartHeartbeat, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one with HTTP status 200: it is logged once with its reason."""
    mesh = MeshSetup()
    mesh.registry.rejection_reason = "namespace is reserved"
    async with start_heartbeat(mesh):
        await mesh.advance(20)
        assert not mesh.heartbeat.is_registered
        assert 3 < len(mesh.take_requests()) < 8
        mesh.registry.rejection_reason = ""
        await mesh.advance(30)
        assert mesh.heartbeat.is_registered
    assert caplog.text.count("registration rejected: namespace is reserved") == 1


async def test_a_rejection_after_an_outage_is_logged(
    start_heartbeat: StartHeartbeat, caplog: pytest.LogCaptureFixture
) -> None:
    """It is another problem than the one before."""
    mesh = MeshSetup()
    mesh.registry.is_unreachable = True
    async with start_heartbeat(mesh):
        await mesh.advance(20)
        mesh.registry.is_unreachable = False
        mesh.registry.rejection_reason = "namespace is reserved"
        await mesh.advance(60)
    assert [
        caplog.text.count(words)
        for words in ("unavailable", "registration rejected: namespace is reserved")
    ] == [1, 1]


@pytest.mark.requirement("mesh", "H5")
@pytest.mark.parametrize("names", [["add"], []], ids=["tools", "no tools"])
async def test_an_app_without_mesh_surfaces_is_registered_too(names: list[str]) -> None:
    """An app without mesh surfaces is registered as an mcp_agent with its tools."""
    registry = FakeRegistry()
    plain = Surface(surface().agent, "/plain", gate=OpenGate())
    tools = tuple(Tool(function_name=each, capability="math") for each in names)
    with serve_on_socket(registry) as client:
        config = MeshConfig(str(client.base_url), http_host="10.0.0.42", tools=tools)
        async with create_app(plain, mesh=config).lifespan(), asyncio.timeout(10):
            while not registry.agents:  # noqa: ASYNC110 - the registry runs in another thread
                await asyncio.sleep(0.01)
            (row,) = registry.agents.values()
    assert (row.facts["agent_type"], "surfaces" in row.facts) == ("mcp_agent", False)
    assert [each["function_name"] for each in row.facts["tools"]] == names


async def test_a_slow_registry_gets_no_second_request(start_heartbeat: StartHeartbeat) -> None:
    """The heartbeat waits for a slow answer before its next request."""
    async with start_heartbeat() as mesh:
        mesh.take_requests()
        mesh.registry.delay_seconds = 12
        await mesh.advance(16.5)
        assert mesh.take_requests() == []
        mesh.registry.delay_seconds = 0
        await mesh.advance(1)
        assert mesh.take_requests() == ["HEAD"]
        assert mesh.heartbeat.is_registered


@pytest.mark.requirement("mesh", "D5")
async def test_changed_surfaces_are_registered(start_heartbeat: StartHeartbeat) -> None:
    """Surfaces are compared before each heartbeat; an empty list withdraws the last one."""
    async with start_heartbeat() as mesh:
        mesh.surfaces.append(surface("/agents/two", "two"))
        await mesh.advance(5)
        assert [each["path"] for each in mesh.registry.list_surfaces()["surfaces"]] == [
            "/app/agents/one",
            "/app/agents/two",
        ]
        mesh.surfaces.clear()
        await mesh.advance(5)
        assert mesh.registry.list_surfaces()["surfaces"] == []
        assert mesh.registry.registrations[-1]["surfaces"] == []


@pytest.mark.requirement("mesh", "D8")
async def test_an_unhealthy_agent_sends_no_heartbeat(start_heartbeat: StartHeartbeat) -> None:
    """Whatever way the health check fails; heartbeats continue when it succeeds."""
    verdicts: list[object] = [True]

    async def health() -> bool:
        verdict = verdicts[0]
        if isinstance(verdict, Exception):
            raise verdict
        return bool(verdict)

    async with start_heartbeat(health_check=health) as mesh:
        for verdict in (False, RuntimeError("no disk")):
            verdicts[0] = verdict
            await mesh.advance(5)
            mesh.take_requests()
            await mesh.advance(30)
            assert mesh.take_requests() == []
        verdicts[0] = True
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD", "POST"]  # it was taken for dead meanwhile


async def test_an_unregistered_agent_does_not_deregister(start_heartbeat: StartHeartbeat) -> None:
    """An agent that was never registered sends no request at its end."""
    mesh = MeshSetup()
    mesh.registry.is_unreachable = True
    async with start_heartbeat(mesh):
        pass
    mesh.registry.is_unreachable = False
    assert mesh.take_requests() == []


async def test_a_failed_deregistration_is_ignored(start_heartbeat: StartHeartbeat) -> None:
    """The app stops without an error."""
    async with start_heartbeat() as mesh:
        mesh.registry.is_unreachable = True
    assert mesh.take_requests() == ["POST"]


async def test_a_missing_registry_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The app serves without one, and the log names the setting."""
    caplog.set_level(logging.INFO)
    for membership in (MeshConfig(), MeshConfig("http://registry", standalone=True)):
        async with run_heartbeat(membership, MeshSurfaces(lambda: [surface()])) as heartbeat:
            assert heartbeat is None
    async with run_heartbeat(MeshConfig("http://registry"), MeshSurfaces(list)) as heartbeat:
        assert heartbeat is None
    assert [record.getMessage() for record in caplog.records] == [
        "registry: none is configured, so the agent is not registered; set A2A_REGISTRY_URL"
    ] * 2
