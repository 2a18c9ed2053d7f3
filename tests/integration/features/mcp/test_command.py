"""``a2a-gen serve --mcp``: the tools of servers from the command line."""

from __future__ import annotations

import shlex

import httpx
import pytest
from integration.features.mcp.toolbox import HANDSHAKE_SERVER, URL

from a2a_runtime.cli.serve_sources import build_app, take_extension_options
from a2a_runtime.cli.startup import InvalidConfigurationError
from a2a_runtime.testing.asgi_transport import run_app

NONE = dict.fromkeys(
    (
        "extensions_dir",
        "name",
        "description",
        "version",
        "auth_type",
        "auth_issuer",
        "auth_audience",
        "push_notifications",
        "watch",
    )
)
NONE |= {"mcp": (), "mcp_env": ()}
SERVER = shlex.join(HANDSHAKE_SERVER)


@pytest.mark.anyio
async def test_the_tools_of_a_server_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line; the agent has a name and counts its skills."""
    monkeypatch.setenv("TOKEN", "s-1")
    options = take_extension_options(
        {**NONE, "mcp": (SERVER,), "mcp_env": ("TOKEN",), "name": "words"}
    )
    assert options is not None
    async with (
        run_app(build_app(options)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        card = (await http.get("/.well-known/agent-card.json")).json()
        assert (card["name"], card["description"]) == (
            "words",
            f"Tools of an MCP server: {len(card['skills'])} skills",
        )
        assert (await http.post("/skills/echo", json={"a": 1})).json() == {"a": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mcp": (SERVER,), "extensions_dir": "x"},
            "--mcp: serves the tools of servers instead of --extensions-dir",
        ),
        ({"mcp_env": ("TOKEN",)}, "--mcp-env: is for --mcp; give one, or remove the option"),
        ({"mcp": (SERVER,), "watch": True}, "--watch: is for --extensions-dir; give one"),
        ({"name": "x"}, "--name: is for --extensions-dir or --mcp"),
        ({"mcp": (SERVER,), "mcp_env": ("A2A_NO_SUCH",)}, "--mcp-env: A2A_NO_SUCH is not set"),
        ({"mcp": ("",)}, "--mcp: McpSource: no server; pass a command"),
    ],
    ids=["both", "env", "watch", "name", "unset", "empty"],
)
def test_a_wrong_configuration_ends_with_one(options: dict[str, object], message: str) -> None:
    """The command ends with exit code 1, and names the wrong value."""
    with pytest.raises(InvalidConfigurationError) as found:
        build_app(take_extension_options({**NONE, **options}) or {})
    assert message in found.value.format_message()


def test_nothing_is_taken_without_servers() -> None:
    """The command serves an app then."""
    assert take_extension_options(dict(NONE)) is None
