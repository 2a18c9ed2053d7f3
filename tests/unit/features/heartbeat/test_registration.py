"""The registration of an app, and its identity."""

from __future__ import annotations

import json

import pytest
from unit.features.heartbeat.conftest import surface

from a2a_contract.mesh import Tool
from a2a_runtime.agent import Agent
from a2a_runtime.features.heartbeat.registration import (
    ENVIRONMENT_NAMES,
    LISTENING_PORT,
    MeshConfig,
    MeshSurfaces,
    build_identity,
    build_registration,
    detect_local_host,
    to_slug,
)
from a2a_runtime.surface import Surface

HOST = "10.0.0.42"
IDENTITY = build_identity(Agent("Report Agent"), MeshConfig(), HOST)


def build(*surfaces: Surface, **more: object) -> dict[str, object]:
    """Build a registration of some surfaces."""
    document: dict[str, object] = json.loads(
        build_registration(IDENTITY, MeshSurfaces(lambda: surfaces), **more).to_json()
    )  # type: ignore[arg-type]
    return document


@pytest.mark.requirement("mesh", "H1", "H2", "H3", "D3", "D6")
def test_an_agent_with_surfaces_is_a_producer() -> None:
    """Every member that the registry reads is present, and no other."""
    assert build(surface("/agents/one"), surface("/agents/two-things", "two-things")) == {
        "agent_id": IDENTITY.agent_id,
        "agent_type": "a2a",
        "name": "report-agent",
        "namespace": "default",
        "version": "1.0.0",
        "http_host": HOST,
        "http_port": 8080,
        "runtime": "python",
        "tools": [],
        "surfaces": [
            {"path": "/agents/one", "skill_id": "one"},
            {"path": "/agents/two-things", "skill_id": "two-things"},
        ],
        "a2a_producer": True,
        "a2a_consumer": False,
    }


@pytest.mark.requirement("mesh", "H4", "D7")
def test_a_surface_has_its_declared_members() -> None:
    """A member without a value is left out, never empty."""
    declared = surface(
        name="One",
        description="D",
        input_modes=("text/plain",),
        output_modes=("application/json",),
        tags=("a",),
    )
    assert build(declared)["surfaces"] == [
        {
            "path": "/agents/one",
            "skill_id": "one",
            "name": "One",
            "description": "D",
            "input_modes": ["text/plain"],
            "output_modes": ["application/json"],
            "tags": ["a"],
        }
    ]


@pytest.mark.requirement("mesh", "H5")
def test_an_agent_without_surfaces_is_no_producer() -> None:
    """Without surfaces the member is left out; after the last surface is gone, an empty list
    withdraws it.
    """
    bare = build()
    assert (bare["agent_type"], bare["a2a_producer"]) == ("mcp_agent", False)
    assert "surfaces" not in bare
    assert build(had_surfaces=True)["surfaces"] == []


@pytest.mark.requirement("mesh", "D4")
def test_tools_are_registered_with_surfaces() -> None:
    """An agent may register tools and surfaces together."""
    tool = Tool(function_name="add", capability="adder")
    document = build(surface(), tools=[tool])
    assert (document["agent_type"], document["tools"]) == (
        "a2a",
        [{"function_name": "add", "capability": "adder"}],
    )


@pytest.mark.requirement("mesh", "H3")
def test_paths_include_the_prefix_of_the_app() -> None:
    """Registered paths have the prefix of the app, and no slash at the end."""
    presence = MeshSurfaces(lambda: [surface(""), surface("/x", "x")], "/app")
    assert [each.path for each in build_registration(IDENTITY, presence).surfaces or ()] == [
        "/app",
        "/app/x",
    ]
    assert [
        each.path
        for each in build_registration(IDENTITY, MeshSurfaces(lambda: [surface("")])).surfaces or ()
    ] == ["/"]


SLUGS = {
    "plain": ("report-agent", "report-agent"),
    "spaces and capitals": ("My_Agent 2", "my-agent-2"),
    "accents": ("Über Straße", "uber-strae"),
    "nothing left": ("日本", "agent"),
    "hyphens around": ("--a--", "a"),
    "long": ("a" * 62 + "-b", "a" * 62),
}


@pytest.mark.parametrize(("name", "slugged"), SLUGS.values(), ids=SLUGS.keys())
def test_names_are_labels(name: str, slugged: str) -> None:
    """A registry allows lower-case letters, digits and hyphens."""
    assert to_slug(name, 63) == slugged


def test_an_id_is_the_same_after_a_restart() -> None:
    """It is derived from name, namespace and address; a configured id is kept unless the registry
    rejects it.
    """
    assert build_identity(Agent("a"), MeshConfig(), HOST) == build_identity(
        Agent("a"), MeshConfig(), HOST
    )
    ids = {
        build_identity(Agent(name), MeshConfig(namespace=space, http_port=port), HOST).agent_id
        for name in "ab"
        for space in "cd"
        for port in (1, 2)
    }
    assert len(ids) == 8
    assert IDENTITY.agent_id.startswith("report-agent-a2a-")
    assert build_identity(Agent("a"), MeshConfig(agent_id="pinned-1"), HOST).agent_id == "pinned-1"
    assert build_identity(Agent("a"), MeshConfig(agent_id="My_Agent"), HOST).agent_id == "my-agent"
    assert build_identity(Agent("a"), MeshConfig(name="Other Name"), HOST).name == "other-name"


def test_the_environment_has_two_sets_of_names() -> None:
    """Our own names override those of mcp-mesh; an empty variable counts as unset."""
    theirs = {
        "MCP_MESH_REGISTRY_URL": "http://r:8000",
        "MCP_MESH_HTTP_PORT": "9000",
        "MCP_MESH_AGENT_NAME": "third",
        "MCP_MESH_A2A_NAME": "second",
    }
    membership = MeshConfig.from_environment(theirs)
    assert (
        membership.registry_url,
        membership.http_port,
        membership.name,
        membership.namespace,
    ) == ("http://r:8000", 9000, "second", "default")
    ours = {
        "A2A_REGISTRY_URL": "http://ours",
        "A2A_AGENT_NAME": "first",
        "A2A_HEALTH_INTERVAL": "2.5",
        "A2A_STANDALONE": "true",
        "A2A_HTTP_HOST": "",
    }
    membership = MeshConfig.from_environment({**theirs, **ours})
    assert (
        membership.registry_url,
        membership.name,
        membership.health_interval,
        membership.standalone,
    ) == ("http://ours", "first", 2.5, True)
    assert MeshConfig.from_environment({}) == MeshConfig()
    assert set(ENVIRONMENT_NAMES) <= set(MeshConfig.__slots__)


def test_an_invalid_number_is_rejected() -> None:
    """The error for an invalid number names the variable."""
    with pytest.raises(ValueError, match="MCP_MESH_HTTP_PORT"):
        MeshConfig.from_environment({"MCP_MESH_HTTP_PORT": "many"})


WRONG_NUMBERS = {
    "A2A_HTTP_PORT": ("0", "99999", "-1"),
    "A2A_HEALTH_INTERVAL": ("0", "-5", "nan", "inf", "0.01", "4000"),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG_NUMBERS.items() for value in values]
)
def test_a_number_that_cannot_work_is_rejected(name: str, value: str) -> None:
    """The error names the places where it can be set, and the range."""
    with pytest.raises(
        ValueError, match=rf"{name} or MCP_MESH.* or \[registry\] in a2a.toml: .* give "
    ):
        MeshConfig.from_environment({name: value})


def test_the_port_of_the_server_is_announced_unless_a_setting_names_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the environment, by either name, or in the project file."""
    monkeypatch.delenv(LISTENING_PORT, raising=False)
    assert MeshConfig().announced_port == 8080
    monkeypatch.setenv(LISTENING_PORT, "9000")
    assert MeshConfig().announced_port == 9000
    assert MeshConfig(http_port=9001).announced_port == 9001
    assert MeshConfig.from_environment({"MCP_MESH_HTTP_PORT": "9002"}).announced_port == 9002


@pytest.mark.anyio
async def test_the_local_address_is_detected() -> None:
    """Of a connection to the registry, which need not be reachable."""
    assert await detect_local_host("http://127.0.0.1:1") == "127.0.0.1"
    assert await detect_local_host("http://unknown.invalid") == "127.0.0.1"


def test_the_environment_overrides_the_project_file() -> None:
    """The file counts where a variable is unset."""
    file = MeshConfig("http://file:8000", "pinned", namespace="tests", http_port=9000)
    assert MeshConfig.from_environment({}, file) == file
    membership = MeshConfig.from_environment(
        {"MCP_MESH_REGISTRY_URL": "http://other", "A2A_HTTP_PORT": "9001"}, file
    )
    assert (membership.registry_url, membership.agent_id, membership.http_port) == (
        "http://other",
        "pinned",
        9001,
    )
