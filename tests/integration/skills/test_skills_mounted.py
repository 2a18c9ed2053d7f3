"""Typed skills where they are mounted: on mesh surfaces, from an a2a.toml, and beside skills that are plain functions."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from integration.skills.conftest import URL
from report_agent.contract import make_agent, skills
from report_agent.handlers import ReportAgent
from style.source_files import ROOT

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.mounting import dialects_of, function_of
from a2a_runtime.project import ProjectError, load_project
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import QUICK
from a2a_runtime.testing.serving import served

pytestmark = pytest.mark.anyio


async def test_a_mesh_surface_has_the_schema_and_keeps_to_it() -> None:
    """The card holds the schema of the input; what does not fit is refused, and the plain call is there too."""
    surface = Surface(make_agent(ReportAgent()), "/mesh", dialects=frozenset((MESH.name,)), only=frozenset(("summarize",)))
    async with served(create_app(surface, settings=QUICK)) as transport, httpx.AsyncClient(base_url=URL, transport=transport) as http:
        card = (await http.get("/mesh/.well-known/agent.json")).json()
        assert card["skills"][0]["metadata"]["input_schema"] == skills.SUMMARIZE.input.schema
        for data, key in (({"text": "One. Two."}, "result"), ({"text": ""}, "error")):
            message = {"role": "user", "parts": [{"type": "data", "data": data}]}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": {"id": key, "message": message}}
            assert key in (await http.post("/mesh", json=call)).json()
        plain = await http.post("/mesh/skills/summarize", json={"text": "One. Two."})
        assert plain.json() == {"text": "One. Two.", "sentences": 2}


def test_a_project_names_its_service() -> None:
    """The agent of an a2a.toml with a service class is the generated one."""
    (surface,) = load_project(ROOT / "examples" / "report", {}).surfaces
    assert {name: skill.contract is not None for name, skill in surface.skills.items()} == {"summarize": True, "write-report": True, "publish": True}
    assert surface.skills["publish"].asks is True


def test_a_service_that_is_not_there_is_told(tmp_path: Path) -> None:
    """What cannot be imported is named, with what to do."""
    text = (ROOT / "examples" / "report" / "a2a.toml").read_text()
    (tmp_path / "a2a.toml").write_text(text.replace("report_agent", "no_such_package"))
    with pytest.raises(ProjectError, match="run a2a-gen build"):
        load_project(tmp_path, {})


async def test_a_plain_function_may_have_a_contract() -> None:
    """A function that knows nothing of types is called only with input that fits."""

    async def plain(ctx: TaskContext) -> object:
        return ctx.data

    agent = Agent("plain", description="Says the same.")
    agent.add("plain", plain, contract=skills.SUMMARIZE)
    async with served(create_app(agent, settings=QUICK)) as transport, httpx.AsyncClient(base_url=URL, transport=transport) as http:
        assert (await http.post("/skills/plain", json={"text": "a"})).json() == {"text": "a"}
        assert (await http.post("/skills/plain", json={"text": ""})).status_code == 400


def test_words_of_a_project_are_understood() -> None:
    """Dialects by version or name, and functions by module and name; what is not there is told."""
    assert dialects_of("1.0", "0.3", "mesh") == {V1_0.name, V0_3.name, MESH.name}
    with pytest.raises(ValueError, match=r"there are 1\.0, 0\.3, mesh"):
        dialects_of("2.0")
    assert function_of("report_agent.handlers:ReportAgent.summarize") is ReportAgent.summarize
    with pytest.raises(TypeError, match="neither a function nor a class"):
        function_of("report_agent.handlers:__doc__")
