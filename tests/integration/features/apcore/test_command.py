"""``a2a-gen serve --extensions-dir``: a folder of modules from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from integration.features.apcore.world import apcore

from a2a_runtime.cli.serve_sources import build_extensions_app, take_extension_options
from a2a_runtime.cli.startup import InvalidConfigurationError
from a2a_runtime.testing.ports import find_free_port

NONE = dict.fromkeys(
    (
        "extensions_dir",
        "mcp",
        "mcp_env",
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
SERVE = "from a2a_runtime.cli.serve import command; command()"
MODULE = """
from pydantic import BaseModel

class Name(BaseModel):
    name: str

class Text(BaseModel):
    text: str

class Greet:
    description = "Greets."
    input_schema, output_schema = Name, Text

    def execute(self, inputs, context):
        return {"text": "hello " + inputs["name"]}
"""


@pytest.fixture
def extensions(tmp_path: Path) -> Path:
    """A folder with one module."""
    folder = tmp_path / "extensions"
    (folder / "demo").mkdir(parents=True)
    (folder / "demo" / "greet.py").write_text(MODULE, encoding="utf-8")
    return folder


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Run the command."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each),
    }
    return subprocess.Popen(
        [sys.executable, "-c", SERVE, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.requirement("apcore", "FR-CMD-001", "FR-CMD-002")
def test_a_folder_is_served(extensions: Path, tmp_path: Path) -> None:
    """Under a name, to callers with tokens; it stops with 0."""
    port = find_free_port()
    words = (
        "--extensions-dir",
        str(extensions),
        "--port",
        str(port),
        "--name",
        "tools",
        "--version",
        "1.2.3",
        "--push-notifications",
    )
    server = start(
        tmp_path,
        *words,
        "--auth-type",
        "bearer",
        "--auth-issuer",
        "https://id.example.com",
        "--log-level",
        "warning",
    )
    try:
        url = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 60
        while True:
            assert server.poll() is None, server.communicate()[0]
            try:
                card = httpx.get(f"{url}/.well-known/agent.json", trust_env=False).json()
                break
            except httpx.TransportError:
                assert time.monotonic() < end
                time.sleep(0.05)
        assert (card["name"], card["version"], [each["id"] for each in card["skills"]]) == (
            "tools",
            "1.2.3",
            ["demo.greet"],
        )
        assert (
            card["capabilities"]["pushNotifications"],
            card["securitySchemes"]["bearerAuth"]["scheme"],
        ) == (True, "bearer")
        refused = httpx.post(
            url, json={"jsonrpc": "2.0", "id": 1, "method": "tasks/list"}, trust_env=False
        )
        assert refused.status_code == 401
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=60)
    assert server.returncode == 0, output


@pytest.mark.requirement("apcore", "FR-CMD-002")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extensions_dir": "nowhere"}, "Extensions directory not found: nowhere"),
        ({"extensions_dir": "{empty}"}, "the registry has no modules"),
        ({"name": "tools"}, "--name: is for --extensions-dir"),
        (
            {"extensions_dir": "{extensions}", "auth_type": "bearer"},
            "--auth-type: needs the issuer",
        ),
        ({"extensions_dir": "{broken}"}, "{broken}: cannot be loaded"),
    ],
    ids=["folder", "empty", "name", "issuer", "registry"],
)
def test_a_wrong_configuration_ends_with_one(
    extensions: Path,
    tmp_path: Path,
    options: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command ends with exit code 1, and names the wrong value."""
    (tmp_path / "empty").mkdir()
    folders = {"empty": tmp_path / "empty", "extensions": extensions, "broken": extensions}
    if "{broken}" in message:
        monkeypatch.setattr(apcore.Registry, "discover", lambda _: 1 / 0)
    given = {name: each.format(**folders) for name, each in options.items()}
    with pytest.raises(InvalidConfigurationError) as found:
        build_extensions_app(take_extension_options({**NONE, **given}) or {})
    assert found.value.exit_code == 1
    assert message.format(**folders) in found.value.format_message()
