"""A heart through the life of its registry: restarts, lapses, refusals, outages and goodbyes."""

from __future__ import annotations

import logging

import pytest
from unit.heartbeat.conftest import PREFIX, MeshSetup, StartHeartbeat, surface

from a2a_runtime.heartbeat.loop import run_heartbeat
from a2a_runtime.heartbeat.registration import MeshConfig, MeshSurfaces

pytestmark = pytest.mark.anyio


async def test_a_heart_registers_and_then_asks(start_heartbeat: StartHeartbeat) -> None:
    """The first beat announces, the others only ask whether the agent is known; the last one says goodbye."""
    async with start_heartbeat() as mesh:
        assert mesh.take_requests() == ["POST"]
        assert mesh.heartbeat.is_registered
        await mesh.advance(10)
        assert mesh.take_requests() == ["HEAD", "HEAD"]
    assert mesh.take_requests() == ["DELETE"]
    assert not mesh.registry.agents[mesh.agent_id].is_healthy


async def test_addresses_come_from_the_registry(start_heartbeat: StartHeartbeat) -> None:
    """What the registry stamps is known by path and skill, without what stands before the app."""
    async with start_heartbeat() as mesh:
        assert mesh.mesh_surfaces.public_urls.get(mesh.surfaces[0]) == f"{PREFIX}/app/agents/one"
        assert mesh.mesh_surfaces.public_urls.get(surface("/agents/other")) is None
        mesh.registry.prefix = ""
        mesh.registry.change_topology()
        await mesh.advance(5)
        assert mesh.mesh_surfaces.public_urls.get(mesh.surfaces[0]) is None


async def test_news_are_fetched_at_once(start_heartbeat: StartHeartbeat) -> None:
    """A registry that has changed gets a new announcement without a pause."""
    async with start_heartbeat() as mesh:
        mesh.registry.change_topology()
        mesh.take_requests()
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD", "POST"]
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD"]


async def test_a_registry_that_forgot_is_told_again(start_heartbeat: StartHeartbeat) -> None:
    """After a restart of the registry the agent is listed with the next beat, under the same id."""
    async with start_heartbeat() as mesh:
        before = mesh.agent_id
        mesh.registry.restart()
        mesh.take_requests()
        await mesh.advance(5)
        assert mesh.take_requests() == ["HEAD", "POST"]
        assert mesh.agent_id == before


async def test_a_lapse_is_made_good(start_heartbeat: StartHeartbeat) -> None:
    """An agent that was taken for dead registers when it hears of that."""
    async with start_heartbeat() as mesh:
        mesh.registry.agents[mesh.agent_id].is_healthy = False
        await mesh.advance(5)
        assert mesh.registry.agents[mesh.agent_id].is_healthy


async def test_a_registry_that_is_away_is_tried_for_ever(start_heartbeat: StartHeartbeat, caplog: pytest.LogCaptureFixture) -> None:
    """Pauses grow to half a minute and no further; the log says once that it is away and once that it is back."""
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
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("a2a_runtime.heartbeat")]
    assert len(messages) == 2
    assert "unavailable" in messages[0]
    assert "registered as" in messages[1]


async def test_an_outage_in_between_loses_nothing(start_heartbeat: StartHeartbeat) -> None:
    """After some failures a heart announces itself again, and asks no more until it was heard."""
    async with start_heartbeat() as mesh:
        mesh.take_requests()
        mesh.registry.is_unreachable = True
        await mesh.advance(60)
        mesh.registry.restart()
        mesh.registry.is_unreachable = False
        await mesh.advance(35)
        assert mesh.take_requests()[0] == "POST"
        assert mesh.heartbeat.is_registered


async def test_trouble_is_no_reason_to_register(start_heartbeat: StartHeartbeat) -> None:
    """A registry with troubles of its own is left alone for longer and longer."""
    async with start_heartbeat() as mesh:
        mesh.registry.is_failing = True
        mesh.take_requests()
        await mesh.advance(60)
        heard = mesh.take_requests()
        assert heard[:4] == ["HEAD"] * 4
        assert set(heard[4:]) == {"POST"}
        assert len(heard) < 14


async def test_a_refusal_is_tried_again(start_heartbeat: StartHeartbeat, caplog: pytest.LogCaptureFixture) -> None:
    """A refusal that comes with HTTP status 200 is one: it is logged once with its reason, and tried again after a pause."""
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


async def test_a_slow_registry_is_waited_for(start_heartbeat: StartHeartbeat) -> None:
    """As long as an answer has not come there is no second question."""
    async with start_heartbeat() as mesh:
        mesh.take_requests()
        mesh.registry.delay_seconds = 12
        await mesh.advance(16.5)
        assert mesh.take_requests() == []
        mesh.registry.delay_seconds = 0
        await mesh.advance(1)
        assert mesh.take_requests() == ["HEAD"]
        assert mesh.heartbeat.is_registered


async def test_surfaces_that_come_and_go_are_told(start_heartbeat: StartHeartbeat) -> None:
    """What is announced is looked at before every beat; the last surface that goes is withdrawn."""
    async with start_heartbeat() as mesh:
        mesh.surfaces.append(surface("/agents/two", "two"))
        await mesh.advance(5)
        assert [each["path"] for each in mesh.registry.list_surfaces()["surfaces"]] == ["/app/agents/one", "/app/agents/two"]
        mesh.surfaces.clear()
        await mesh.advance(5)
        assert mesh.registry.list_surfaces()["surfaces"] == []
        assert mesh.registry.registrations[-1]["surfaces"] == []


async def test_an_agent_that_is_not_well_keeps_silent(start_heartbeat: StartHeartbeat) -> None:
    """A failing check, of whatever kind, pauses the heart; it beats again when the agent is well."""
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


async def test_a_heart_that_was_never_heard_says_no_goodbye(start_heartbeat: StartHeartbeat) -> None:
    """There is nobody to say it to."""
    mesh = MeshSetup()
    mesh.registry.is_unreachable = True
    async with start_heartbeat(mesh):
        pass
    mesh.registry.is_unreachable = False
    assert mesh.take_requests() == []


async def test_a_goodbye_that_fails_is_no_failure(start_heartbeat: StartHeartbeat) -> None:
    """The app ends all the same."""
    async with start_heartbeat() as mesh:
        mesh.registry.is_unreachable = True
    assert mesh.take_requests() == ["POST"]


async def test_whoever_names_no_registry_hears_it_once(caplog: pytest.LogCaptureFixture) -> None:
    """The app serves without one, and the log says what to do."""
    caplog.set_level(logging.INFO)
    for membership in (MeshConfig(), MeshConfig("http://registry", standalone=True)):
        async with run_heartbeat(membership, MeshSurfaces(lambda: [surface()])) as heart:
            assert heart is None
    async with run_heartbeat(MeshConfig("http://registry"), MeshSurfaces(list)) as heart:
        assert heart is None
    assert [record.getMessage() for record in caplog.records] == [
        "registry: none is configured, so the agent is not registered; set A2A_REGISTRY_URL"
    ] * 2
