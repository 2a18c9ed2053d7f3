"""Mesh surfaces in apps: probes, hosts with routes of their own, projects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conformance.mesh.producer import ONLY_MESH, agent_of, echo
from integration.dialect_client import build_send_request
from litestar import Litestar, get
from litestar.testing import TestClient

from a2a_contract.dialects import MESH
from a2a_runtime.agent import SkillOverride
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.heartbeat.registration import MeshConfig
from a2a_runtime.features.project.loader import load_project
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.process import AgentRuntime
from a2a_runtime.service.context import CallContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

SURFACE = Surface(agent_of("echo", echo), "/agents/echo", ONLY_MESH)
PROJECT = """
[agent]
name = "reports"
description = "Writes."
version = "1.0.0"

[skills.report]
description = "Writes a report."
handler = "handlers:report"

[[surfaces]]
path = "/agents/report-generator"
skill_id = "report"
dialects = ["mesh"]
auth = "bearer"
name = "Report Generator"
tags = ["reports"]
input_modes = ["application/json"]

[registry]
url = "http://registry:8000"
agent_id = "reports-1"
"""


@pytest.fixture
def client() -> Iterator[TestClient[Litestar]]:
    """A client of an app with one mesh surface and no registry."""
    with TestClient(create_app(SURFACE, mesh=MeshConfig())) as client:
        yield client


def test_probes_are_answered(client: TestClient[Litestar]) -> None:
    """The process lives, is ready and is well."""
    assert [client.get(path).status_code for path in ("/livez", "/ready", "/health")] == [
        200,
        200,
        200,
    ]
    found = client.get("/health").json()
    assert (found["status"], found["registry"]) == ("healthy", "none")


def test_a_rejected_registration_does_not_stop_serving() -> None:
    """An agent that is not well says so, and is ready all the same."""
    with TestClient(create_app(SURFACE, mesh=MeshConfig(health_check=lambda: False))) as client:
        assert [client.get(path).status_code for path in ("/livez", "/ready", "/health")] == [
            200,
            200,
            503,
        ]
        assert client.get("/agents/echo/.well-known/agent.json").status_code == 200


def test_a_hosts_own_route_wins() -> None:
    """A path that the app has is not taken from it; an app that starts twice has its probes
    once.
    """

    @get("/health")
    async def health() -> dict[str, str]:
        return {"host": "fine"}

    app = Litestar(
        [health], plugins=[A2APlugin(replace(SURFACE, gate=OpenGate()), mesh=MeshConfig())]
    )
    for _ in range(2):
        with TestClient(app) as client:
            assert client.get("/health").json() == {"host": "fine"}
            assert client.get("/livez").status_code == 200


def test_a_surface_overrides_the_texts_of_its_skill() -> None:
    """An override of a surface with one skill replaces the agent's texts; with more skills it is an
    error.
    """
    surface = Surface(
        agent_of("echo", echo), "/x", ONLY_MESH, override=SkillOverride("Echo", tags=("a",))
    )
    (skill,) = surface.skills.values()
    assert (skill.name, skill.description, skill.tags) == ("Echo", "Say the same.", ("a",))
    agent = agent_of("echo", echo)
    agent.add("other", echo)
    with pytest.raises(ValueError, match=r"override: is for one skill, but the surface has ."):
        Surface(agent, "/x", override=SkillOverride("Echo"))


def test_a_project_has_mesh_surfaces(tmp_path: Path) -> None:
    """Path, skill, words, gate and registry come from the file."""
    (tmp_path / "a2a.toml").write_text(PROJECT)
    (tmp_path / "handlers.py").write_text("async def report(ctx):\n    return ctx.text\n")
    project = load_project(tmp_path, {"MCP_MESH_NAMESPACE": "tests"})
    expected = MeshConfig("http://registry:8000", "reports-1", namespace="tests")
    assert project.mesh == expected
    with TestClient(create_app(*project.surfaces, mesh=MeshConfig())) as client:
        card = client.get("/agents/report-generator/.well-known/agent.json").json()
        assert (
            card["skills"][0]["name"],
            card["skills"][0]["tags"],
            card["defaultInputModes"],
        ) == (
            "Report Generator",
            ["reports"],
            ["application/json"],
        )
        assert card["authentication"] == {"schemes": ["bearer"]}
        assert client.post("/agents/report-generator", json={}).status_code == 401


@pytest.mark.requirement("mesh", "D20")
@pytest.mark.anyio
async def test_a_finished_task_is_returned_at_once() -> None:
    """On the memory store a task that ends at once is returned after some rounds of the loop,
    without a poll.
    """
    async with AgentRuntime([SURFACE], "memory", FAST_SETTINGS) as assembly:
        call = CallContext(SURFACE, Caller("ada"), MESH.name)
        sending = asyncio.ensure_future(
            assembly.build_services(SURFACE)[1][MESH.name].send_message(
                build_send_request("hi", task_id="t-1"), call
            )
        )
        for _ in range(1000):
            await asyncio.sleep(0)
        assert sending.done()
        assert (await sending).model.task
