"""From a card to a client and back: what is made from a running agent is what the agent was made from."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.serving import on_a_socket
from report_agent import contract
from report_agent.contract import make_surfaces
from report_agent.handlers import ReportAgent

from a2a_gen.entry import main
from a2a_runtime.app import create_app
from a2a_runtime.testing.agent import QUICK

MESH = {
    "name": "Report Generator",
    "description": "Writes.",
    "skills": [
        {
            "id": "generate-report",
            "description": "Writes.",
            "metadata": {"input_schema": {"type": "object", "required": ["topic"], "properties": {"topic": {"type": "string"}}}},
        }
    ],
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The example, running."""
    with on_a_socket(create_app(*make_surfaces(ReportAgent()), settings=QUICK)) as http:
        yield str(http.base_url)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to write clients to, from which they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [each for each in sys.modules if each.partition(".")[0] == "remote"]:
        del sys.modules[name]


def test_models_equal_those_of_the_server(url: str, folder: Path) -> None:
    """Every type of the server that goes over the wire is there under its name, with the same members, and the client calls the agent."""
    assert main(["client", url, "-o", "remote"]) == 0
    remote = importlib.import_module("remote")
    for name in ("Chapter", "Publication", "Report", "ReportRequest", "Summary", "SummaryRequest"):
        assert getattr(remote, name).model_json_schema() == getattr(contract, name).model_json_schema()

    async def call() -> str:
        async with remote.ReportAgentClient(url) as client:
            return str((await client.summarize(remote.SummaryRequest(text="One. Two.", sentences=1))).text)

    assert asyncio.run(call()) == "One."
    assert sorted(each.name for each in folder.iterdir()) == ["remote"]


def test_drift_is_told(url: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check says nothing while the agent is as it was seen, and what has changed when it is not; it writes nothing."""
    assert main(["client", url, "-o", "remote"]) == 0
    assert main(["client", url, "-o", "remote", "--check"]) == 0
    lock = folder / "remote" / "client.lock.json"
    seen = json.loads(lock.read_text())
    seen["schemas"]["summarize.input"] = "another"
    seen["skills"].remove("publish")
    lock.write_text(json.dumps(seen))
    capsys.readouterr()
    assert main(["client", url, "-o", "remote", "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == ["skill publish is new", "summarize.input has another schema"]


def test_cards_of_mesh_agents_hold_their_schemas(folder: Path) -> None:
    """A card in a file is enough where it holds the schema itself."""
    (folder / "card.json").write_text(json.dumps(MESH))
    assert main(["client", "card.json", "-o", "remote"]) == 0
    assert set(importlib.import_module("remote.types").GenerateReportInput.model_fields) == {"topic"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("client", "nowhere.json", "-o", "remote"), 2),
        (("client", "http://127.0.0.1:1", "-o", "remote"), 2),
        (("client", "card.json", "-o", "not-a-name"), 2),
    ],
    ids=["no file", "no agent", "no package"],
)
def test_what_cannot_be_done_is_said(folder: Path, words: tuple[str, ...], code: int) -> None:
    """A command that ends without a client says why, and writes nothing."""
    (folder / "card.json").write_text(json.dumps(MESH))
    assert main(words) == code
    assert sorted(each.name for each in folder.iterdir()) == ["card.json"]
