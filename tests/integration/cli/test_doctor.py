"""`a2a-gen doctor`: each fault of a deployment is a finding with its cure, and a sound one has
none.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from integration.outcome_agent import serve_on_socket

from a2a_runtime import app
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.cli.doctor import command
from a2a_runtime.features.keys.secret_box import SecretBox
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.surface import Surface

HANDLER = "async def greet(ctx):\n    return 'hi'\n"
PROJECT = """
store = "sqlite:///tasks.db"

[agent]
name = "hello"
description = "Greets."
version = "1.0.0"
url = "{url}"

[capabilities]
push_notifications = true

[skills.greet]
name = "Greet"
description = "Greets."
tags = []
handler = "greeting_of_doctor:greet"
"""


class Deployment:
    """A folder with a project, and the environment of its service."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self.url = url
        (folder / "greeting_of_doctor.py").write_text(HANDLER)
        self.write(PROJECT.format(url=url))
        key = folder / "key.pem"
        key.write_text(SigningKey.generate().to_pem())
        key.chmod(0o600)
        monkeypatch.chdir(folder)
        self.set(A2A_SIGNING_KEYS="key.pem", A2A_ENCRYPTION_KEYS=SecretBox.generate_key())

    def write(self, text: str) -> None:
        """Write the project file."""
        (self.folder / "a2a.toml").write_text(text)

    def set(self, **environment: str) -> None:
        """Set variables of the environment."""
        for name, value in environment.items():
            self._monkeypatch.setenv(name, value)

    def run(self, *words: str) -> Result:
        """Run the command, as in a new process."""
        app._load_app.cache_clear()
        return CliRunner().invoke(command, list(words))

    def find(self, level: str, *words: str) -> dict[str, str]:
        """Return the findings of a level, as texts with their cures by subject."""
        result = self.run("--json", *words)
        listed: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
        assert [each for each in listed if each["level"] != "ok" and not each["fix"]] == []
        return {
            each["subject"]: f"{each['text']}; {each['fix']}"
            for each in listed
            if each["level"] == level
        }


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of the agent as it is deployed."""
    agent = Agent("hello", description="Greets.")

    @agent.skill("greet", name="Greet")
    async def greet(_ctx: object) -> str:
        return "hi"

    with serve_on_socket(create_app(agent, store="memory")) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Deployment:
    """A sound deployment."""
    return Deployment(tmp_path, monkeypatch, url)


def test_a_sound_deployment_has_no_findings(deployment: Deployment) -> None:
    """The command says what it has looked at."""
    result = deployment.run("--strict")
    assert result.exit_code == 0, result.output
    subjects = (
        "settings",
        "app",
        "encryption keys",
        "signing keys",
        "store",
        "disk",
        "address of hello",
        "clock",
    )
    assert [subject for subject in subjects if f"ok       {subject}: " not in result.stdout] == []


def test_generated_code_that_is_out_of_date(deployment: Deployment) -> None:
    """The lock has the digests of the files that it was built from."""
    schema = deployment.folder / "greet.json"
    schema.write_text("{}")
    lock = {"inputs": {schema.name: sha256(b"{}").hexdigest()}}
    (deployment.folder / "a2a-gen.lock").write_text(json.dumps(lock))
    assert "generated code" in deployment.find("ok", "--offline")
    schema.write_text('{"type": "string"}')
    assert "run a2a-gen build" in deployment.find("warning", "--offline")["generated code"]


def test_a_postgres_store(deployment: Deployment, postgres_url: str) -> None:
    """Its schema, its clock, and that notifications arrive."""
    deployment.set(A2A_STORE=postgres_url)
    assert (
        deployment.find("ok", "--offline")["notifier"]
        == "a notification of one connection reaches another; "
    )
    assert deployment.find("outage", "--offline") == {}


def test_a_database_without_schema(
    deployment: Deployment,
    postgres_databases: Any,  # noqa: ANN401 - a fixture
) -> None:
    """The cure is the command that upgrades it."""
    deployment.set(A2A_STORE=asyncio.run(postgres_databases.create_empty()))
    assert "a2a-gen db upgrade" in deployment.find("error", "--offline")["store"]


def test_stores_that_do_not_open(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong URL is a configuration error, a database that is away is none."""
    deployment.set(A2A_STORE="mysql://x")
    assert "use " in deployment.find("error", "--offline")["store"]
    deployment.set(A2A_STORE="a2a_runtime.testing.dict_storage:Missing")
    assert "there is no Missing" in deployment.find("error", "--offline")["store"]
    deployment.set(A2A_STORE="a2a_runtime.testing.dict_storage:DictStorage")
    assert "opened at the start only" in deployment.find("ok", "--offline")["store"]
    deployment.set(A2A_STORE="postgresql://user@127.0.0.1:9/none")
    result = deployment.run("--offline")
    assert (result.exit_code, "outage" in result.stdout) == (2, True)
    monkeypatch.delenv("A2A_STORE")
    deployment.write(PROJECT.format(url=deployment.url).replace("sqlite:///tasks.db", "memory"))
    assert "tasks end with the process" in deployment.find("warning", "--offline")["store"]


def test_wrong_settings_and_projects(deployment: Deployment) -> None:
    """All variables that cannot be read, lines of the project file, and imports that fail."""
    deployment.set(A2A_SHUTDOWN_GRACE="soon", A2A_TUNE_GC="maybe")
    found = deployment.find("error", "--offline")["settings"]
    assert "A2A_SHUTDOWN_GRACE: 'soon'" in found
    assert "A2A_TUNE_GC: 'maybe'" in found
    deployment.set(A2A_SHUTDOWN_GRACE="1", A2A_TUNE_GC="no")
    deployment.write(
        PROJECT.format(url=deployment.url).replace(
            "greeting_of_doctor:greet", "greeting_of_doctor:lost"
        )
    )
    assert "there is no lost" in deployment.find("error", "--offline")["app"]
    deployment.write("agent =")
    assert deployment.run("--offline").exit_code == 1


def test_keys(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that others can read, that are old, and that are not there."""
    key = deployment.folder / "key.pem"
    key.chmod(0o644)
    assert f"chmod 600 {key}" in deployment.find("warning", "--offline")["signing keys"]
    key.chmod(0o600)
    old = time.time() - 400 * 86_400
    os.utime(key, (old, old))
    assert "rotate it" in deployment.find("warning", "--offline")["signing keys"]
    monkeypatch.delenv("A2A_SIGNING_KEYS")
    monkeypatch.delenv("A2A_ENCRYPTION_KEYS")
    found = deployment.find("warning", "--offline")
    assert "a2a-gen card keygen" in found["signing keys"]
    assert "tokens of webhooks are stored as they are" in found["encryption keys"]
    assert deployment.run("--offline").exit_code == 0
    assert deployment.run("--offline", "--strict").exit_code == 1


def test_files_that_others_can_read(deployment: Deployment) -> None:
    """The store has the texts of all callers."""
    assert deployment.run("--offline").exit_code == 0
    (deployment.folder / "tasks.db").chmod(0o644)
    assert "chmod 600" in deployment.find("warning", "--offline")["store"]


def test_an_address_without_an_agent(deployment: Deployment) -> None:
    """Nothing answers there, or another agent."""
    assert (
        "check that the server runs"
        in deployment.find("outage", "--url", "http://127.0.0.1:9")["card at http://127.0.0.1:9"]
    )
    deployment.write(PROJECT.format(url=deployment.url).replace('"hello"', '"other"'))
    assert "not of 'other'" in deployment.find("error")[f"card at {deployment.url}"]
    deployment.write(PROJECT.format(url="http://agent.example"))
    assert "is not https" in deployment.find("warning", "--offline")["address of hello"]


def test_a_card_that_leads_elsewhere(deployment: Deployment) -> None:
    """As behind a proxy whose address the agent does not know."""
    agent = Agent("hello", description="Greets.", url="http://inside:8000")

    @agent.skill("write")
    async def write(_ctx: object) -> str:
        return "hi"

    with serve_on_socket(create_app(Surface(agent), store="memory")) as client:
        address = str(client.base_url).rstrip("/")
        assert (
            "leads clients to http://inside:8000"
            in deployment.find("error", "--url", address)[f"card at {address}"]
        )
        assert (
            "other skills than here: greet, write"
            in deployment.find("warning", "--url", address)[f"card at {address}"]
        )
