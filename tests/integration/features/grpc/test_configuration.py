"""The gRPC port in ``a2a.toml``, in the environment and on the command line, and interfaces on
cards.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from integration.grpc_overlay import call_unary, find_free_address
from integration.outcome_agent import build_test_agent, serve_on_socket
from integration.serve_command import build_command, run_serve, write_project

from a2a_contract.v1_0 import AgentInterface, Task
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.features.project.loader import ProjectConfigError, load_project
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.service.cards.builder import build_card, build_document
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

SURFACES = 'surfaces = [{ path = "/" }, { path = "/other" }]'
SEND = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
METHOD = "/lf.a2a.v1.A2AService/SendMessage"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a project with two surfaces."""
    write_project(tmp_path, SURFACES)
    return tmp_path


def add_grpc(project: Path, lines: str) -> None:
    """Add a table ``[grpc]``."""
    write_project(project, f"{SURFACES}\n[grpc]\n{lines}")


def test_a_project_has_a_port(project: Path) -> None:
    """On the surface that the table names, with files below the folder of the project."""
    add_grpc(
        project,
        (
            'address = "127.0.0.1:50051"\nsurface = "/other"\ncertificate = '
            '"server.pem"\nreflection = true\ngrace = 3'
        ),
    )
    root, other = load_project(project, {}).surfaces
    assert root.grpc is None
    assert other.grpc == GrpcOptions(
        "127.0.0.1:50051", certificate=project / "server.pem", reflection=True, grace=3
    )


ADDRESS = 'address = "127.0.0.1:50051"'
WRONG = {
    ADDRESS: "a port belongs to one surface; name one of /, /other",
    'address = "localhost"\nsurface = "/"': "'localhost' is not an address to listen on",
    f'{ADDRESS}\nsurface = "/"\nprivate_key = "k.pem"': (
        "private_key is for TLS; set certificate too"
    ),
    f'{ADDRESS}\nsurface = "/"\nadress = "x"': "adress",
}


@pytest.mark.parametrize(("lines", "problem"), WRONG.items())
def test_wrong_settings_have_their_line(project: Path, lines: str, problem: str) -> None:
    """Errors of the project file have the line of the setting, and the cure."""
    add_grpc(project, lines)
    with pytest.raises(ProjectConfigError) as caught:
        load_project(project, {})
    assert problem in str(caught.value)
    assert "a2a.toml:" in str(caught.value)


def test_the_environment_overrides_the_address() -> None:
    """Of the surface that has a port, or of the only one; TLS and the rest stay."""
    settings = Settings.from_environment({"A2A_GRPC": "127.0.0.1:50052"})
    with_port = Surface(build_test_agent(), "/b", grpc=GrpcOptions("127.0.0.1:50051", grace=3))
    plugin = A2APlugin(Surface(build_test_agent(), "/a"), with_port, settings=settings)
    assert [each.grpc for each in plugin.surfaces] == [
        None,
        GrpcOptions("127.0.0.1:50052", grace=3),
    ]
    (only,) = A2APlugin(Surface(build_test_agent()), settings=settings).surfaces
    assert only.grpc == GrpcOptions("127.0.0.1:50052")


def test_the_command_opens_the_port(project: Path) -> None:
    """``--grpc``; the agent answers there until the process is stopped, and a used port ends the
    start with its reason.
    """
    write_project(project, "")
    address = find_free_address()
    (port, other) = [find_free_address().partition(":")[2] for _ in range(2)]
    with run_serve(
        project,
        lambda: call_unary(address, METHOD, SEND, {}),
        grpc.RpcError,
        "--port",
        port,
        "--grpc",
        address,
    ) as answer:
        assert answer["task"]["artifacts"][0]["parts"] == [{"text": "HI"}]
        command = build_command("--port", other, "--grpc", address)
        second = subprocess.run(
            command, cwd=project, capture_output=True, text=True, check=False, timeout=60
        )
        assert second.returncode == 2
        assert f"gRPC: {address} cannot be listened on" in second.stderr


MQTT = AgentInterface(
    url="mqtts://broker.example/x",
    protocol_binding="https://example.org/mqtt",
    protocol_version="1.0",
)
OLD = AgentInterface(
    url="https://old.example", protocol_binding="JSONRPC", protocol_version="0.3.0"
)


@pytest.mark.requirement("1.0", "12")
def test_cards_list_the_port_and_other_interfaces() -> None:
    """In the form that each version wants; the host of a server on all hosts is that of the
    agent.
    """
    surface = Surface(
        build_test_agent(),
        public_url="https://agent.example/a",
        grpc=GrpcOptions("0.0.0.0:50051"),
        other_interfaces=(MQTT, OLD),
    )
    new = build_card(surface, "").supported_interfaces
    ports = [(each.url, each.protocol_version) for each in new if each.protocol_binding == "GRPC"]
    assert ports == [("agent.example:50051", "1.0"), ("agent.example:50051", "0.3")]
    assert new[-2:] == [MQTT, OLD]
    old = build_document(surface, "v0_3", "")["additionalInterfaces"]
    assert isinstance(old, list)
    assert {"url": "agent.example:50051", "transport": "GRPC"} in old
    assert {"url": "https://old.example", "transport": "JSONRPC"} in old
    assert "mqtt" not in str(old)


def test_a_port_may_be_left_off_the_card() -> None:
    """For clients that refuse a card with another port; it answers nevertheless."""
    surface = Surface(
        build_test_agent(),
        public_url="https://agent.example",
        grpc=GrpcOptions("127.0.0.1:50051", on_card=False),
    )
    bindings = [each.protocol_binding for each in build_card(surface, "").supported_interfaces]
    assert bindings == ["JSONRPC", "HTTP+JSON"] * 2
    assert "GRPC" not in str(build_document(surface, "v0_3", ""))


@pytest.mark.parametrize(
    ("options", "new", "old"),
    [
        (GrpcOptions("127.0.0.1:1"), "127.0.0.1:1", "http://127.0.0.1:1"),
        (
            GrpcOptions("127.0.0.1:1", certificate=Path("x.pem")),
            "127.0.0.1:1",
            "https://127.0.0.1:1",
        ),
        (
            GrpcOptions("0.0.0.0:1", public_address="https://a.example:443"),
            "a.example:443",
            "https://a.example:443",
        ),
        (GrpcOptions("[::]:1"), "[::1]:1", "http://[::1]:1"),
        (GrpcOptions("unix:/run/a.sock"), "unix:/run/a.sock", "unix:/run/a.sock"),
    ],
)
def test_addresses_on_cards(options: GrpcOptions, new: str, old: str) -> None:
    """Without a scheme, as libraries take them; with the switch for 0.3 as a URL."""
    url = "http://[::1]:8000"
    switched = replace(options, url_on_card=True)
    assert (options.card_address(url), options.card_url(url)) == (new, new)
    assert (switched.card_address(url), switched.card_url(url)) == (new, old)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_goes_on_to_the_port(anyio_backend: str) -> None:
    """If nothing answers at the interfaces before it on the card."""
    assert anyio_backend
    nowhere = f"http://{find_free_address()}"
    app = create_app(
        Surface(build_test_agent(), public_url=nowhere, grpc=GrpcOptions(find_free_address())),
        settings=FAST_SETTINGS,
    )
    with serve_on_socket(app) as served:
        async with A2AClient(f"{served.base_url}/.well-known/agent-card.json") as client:
            assert isinstance(await client.send("x"), Task)
