"""From a card to a client and back: what is made from a running agent is what the agent was made
from.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from imported_modules import forget_packages
from integration.outcome_agent import serve_on_socket
from report_agent import contract
from report_agent.contract import make_surfaces
from report_agent.handlers import ReportAgent

from a2a_contract.v1_0 import Artifact, Part
from a2a_gen.entry import main
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.client import SendOptions
from a2a_runtime.client.typed.results import parse_output
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.remote_tools import RemoteTools
from a2a_runtime.skills.schema import TEXT
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

MESH: dict[str, Any] = {
    "name": "Report Generator",
    "description": "Writes.",
    "skills": [
        {
            "id": "generate-report",
            "description": "Writes.",
            "metadata": {
                "input_schema": {
                    "type": "object",
                    "required": ["topic"],
                    "properties": {"topic": {"type": "string"}},
                }
            },
        }
    ],
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The example, running."""
    with serve_on_socket(create_app(*make_surfaces(ReportAgent()), settings=FAST_SETTINGS)) as http:
        yield str(http.base_url)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to write clients to, from which they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    forget_packages("remote", "mesh")


def card(folder: Path, properties: dict[str, object], *skills: str) -> str:
    """Write the card of an agent with a skill that takes some members."""
    schema = {"type": "object", "required": ["topic"], "properties": properties}
    skill_objects = [
        {**MESH["skills"][0], "metadata": {"input_schema": schema}},
        *({"id": skill, "description": "Is new."} for skill in skills),
    ]
    (folder / "card.json").write_text(json.dumps({**MESH, "skills": skill_objects}))
    return "card.json"


def test_models_equal_those_of_the_server(url: str, folder: Path) -> None:
    """Every type of the server that goes over the wire is there under its name, with the same
    members, and the client calls the agent.
    """
    assert main(["client", url, "-o", "remote"]) == 0
    remote = importlib.import_module("remote")
    for name in ("Chapter", "Publication", "Report", "ReportRequest", "Summary", "SummaryRequest"):
        assert (
            getattr(remote, name).model_json_schema() == getattr(contract, name).model_json_schema()
        )

    async def call() -> str:
        async with remote.ReportAgentClient(url) as client:
            return str(
                (await client.summarize(remote.SummaryRequest(text="One. Two.", sentences=1))).text
            )

    assert asyncio.run(call()) == "One."
    assert sorted(each.name for each in folder.iterdir()) == ["remote"]


@pytest.mark.usefixtures("folder")
def test_a_streamed_text_arrives_as_it_was_written() -> None:
    """A handler without a schema that yields is a stream in the client; its chunks are one text,
    for every kind of client.
    """
    agent = Agent("words")

    @agent.skill
    async def spell(ctx: TaskContext) -> AsyncIterator[object]:
        """Say the words one by one."""
        for word in ctx.text.split():
            yield f"{word} "
        yield Part(raw=b"x", filename="x.bin")

    @agent.skill
    async def draw(_: TaskContext) -> AsyncIterator[Artifact]:
        """Give an artifact of another name."""
        yield Artifact(artifact_id="picture", parts=[Part(text="a "), Part(text="b")])

    with serve_on_socket(
        create_app(Surface(agent, gate=OpenGate()), store="memory", settings=FAST_SETTINGS)
    ) as http:
        url = str(http.base_url)
        assert main(["client", url, "-o", "remote"]) == 0
        remote = importlib.import_module("remote")

        async def call() -> list[object]:
            async with remote.WordsClient(url) as client, RemoteTools(url) as tools:
                streamed = [chunk async for chunk in client.spell("a b c")]
                drawn = [chunk async for chunk in client.draw("")]
                whole = parse_output(
                    TEXT, await client.untyped.send("a b c", options=SendOptions(skill="spell"))
                )
                return [
                    streamed,
                    drawn,
                    whole,
                    (await tools.call("spell", {"message": "a b c"})).value,
                ]

        assert asyncio.run(call()) == [["a ", "b ", "c "], ["a b"], "a b c ", "a b c "]


def test_drift_is_reported(url: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check is silent while the agent is unchanged, and lists the changes otherwise; it writes
    nothing.
    """
    assert main(["client", url, "-o", "remote"]) == 0
    assert main(["client", url, "-o", "remote", "--check"]) == 0
    assert "no changes" in capsys.readouterr().out
    assert main(["client", card(folder, {"topic": {"type": "string"}}), "-o", "mesh"]) == 0
    written = {file: file.read_bytes() for file in (folder / "mesh").rglob("*.*")}
    skill_objects = card(folder, {"topic": {"type": "integer"}}, "another")
    capsys.readouterr()
    assert main(["client", skill_objects, "-o", "mesh", "--check", "--format", "singleline"]) == 1
    said = capsys.readouterr()
    assert [line.partition("] ")[0] for line in said.out.splitlines()] == [
        (
            "schemas/generate-report.input.json:7: error: the type changed from string to "
            "integer [A2A042 type-changed"
        ),
        "card.json:22: info: skill another was added [A2A125 skill-added",
    ]
    assert "fix: run a2a-gen client card.json -o mesh" in said.err
    assert {file: file.read_bytes() for file in (folder / "mesh").rglob("*.*")} == written


def test_compatible_drift_is_no_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compatible changes are listed and end with 0, unless an option asks for a failure."""
    assert main(["client", card(folder, {"topic": {"type": "string"}}), "-o", "mesh"]) == 0
    skill_objects = card(
        folder, {"topic": {"type": "string"}, "tone": {"type": "string"}}, "another"
    )
    assert main(["client", skill_objects, "-o", "mesh", "--check"]) == 0
    assert "skill another was added" in capsys.readouterr().out
    assert main(["client", skill_objects, "-o", "mesh", "--check", "--fail-on", "info"]) == 1


def test_text_that_becomes_a_schema_breaks_callers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A skill without a schema takes text; with a schema it refuses text."""
    without = {**MESH, "skills": [{"id": "generate-report", "description": "Writes."}]}
    (folder / "card.json").write_text(json.dumps(without))
    assert main(["client", "card.json", "-o", "mesh"]) == 0
    assert (
        main(["client", card(folder, {"topic": {"type": "string"}}), "-o", "mesh", "--check"]) == 1
    )
    assert "type-changed" in capsys.readouterr().out


def test_edits_of_a_client_are_reported_and_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check lists edited and deleted files; generating again keeps edits and other files, unless
    it is forced.
    """
    where = card(folder, {"topic": {"type": "string"}})
    assert main(["client", where, "-o", "mesh"]) == 0
    made = (folder / "mesh" / "client.py").read_bytes()
    (folder / "mesh" / "client.py").write_bytes(made + b"# mine\n")
    (folder / "mesh" / "skills.py").unlink()
    (folder / "mesh" / "own.py").write_text("# mine too\n")
    assert main(["client", where, "-o", "mesh", "--check"]) == 1
    said = capsys.readouterr().err
    assert "mesh/client.py: edited by hand\nmesh/skills.py: missing\n" in said
    assert "fix: run a2a-gen client card.json -o mesh --force" in said
    assert main(["client", where, "-o", "mesh"]) == 2
    assert "    client.py\n    fix: edit a subclass" in capsys.readouterr().err
    assert (folder / "mesh" / "client.py").read_bytes() != made
    assert main(["client", where, "-o", "mesh", "--force"]) == 0
    assert (folder / "mesh" / "client.py").read_bytes() == made
    assert main(["client", where, "-o", "mesh", "--check"]) == 0
    assert (folder / "mesh" / "own.py").exists()


def test_stale_files_are_deleted(folder: Path) -> None:
    """The files of a skill that the agent no longer has are deleted."""
    assert main(["client", card(folder, {"topic": {"type": "string"}}), "-o", "mesh"]) == 0
    (folder / "card.json").write_text(json.dumps({**MESH, "skills": [{"id": "other"}]}))
    assert main(["client", "card.json", "-o", "mesh"]) == 0
    assert not (folder / "mesh" / "schemas").exists()
    assert main(["client", "card.json", "-o", "mesh", "--check"]) == 0


def test_an_edited_record_of_the_agent_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comparison needs the record of the agent as it was generated; without a client there is no
    comparison.
    """
    where = card(folder, {"topic": {"type": "string"}})
    assert main(["client", where, "-o", "mesh", "--check"]) == 3
    assert main(["client", where, "-o", "mesh"]) == 0
    schema = folder / "mesh" / "schemas" / "generate-report.input.json"
    schema.write_text(schema.read_text().replace("string", "integer"))
    assert main(["client", where, "-o", "mesh", "--check"]) == 2
    assert "does not match its hash" in capsys.readouterr().err


def test_files_say_how_they_are_made_again(url: str, folder: Path) -> None:
    """The head of a file, and the lock, name the command without the password in it."""
    assert main(["client", url.replace("//", "//me:secret@"), "-o", "remote"]) == 0
    for file in (folder / "remote").rglob("*.py"):
        assert file.read_text().startswith(
            "# @generated by a2a-gen from the card of the agent; DO NOT EDIT. Regenerate "
            f"with: a2a-gen client {url} -o remote\n"
        )
    assert json.loads((folder / "remote" / "client.lock.json").read_text())["source"] == url


@pytest.mark.parametrize(
    "name",
    ["../../../escaped", "/escaped", "a\\b", "x\ny"],
    ids=["up", "from the root", "of Windows", "two lines"],
)
def test_names_of_others_are_no_paths(folder: Path, name: str) -> None:
    """Whatever a card calls a skill, its files stay in the package."""
    (folder / "deep").mkdir()
    (folder / "card.json").write_text(
        json.dumps(MESH).replace('"generate-report"', json.dumps(name))
    )
    assert main(["client", "card.json", "-o", "deep/remote"]) == 0
    assert sorted(each.name for each in folder.iterdir()) == ["card.json", "deep"]
    assert main(["client", "card.json", "-o", "deep/remote", "--check"]) == 0


def test_cards_of_mesh_agents_hold_their_schemas(folder: Path) -> None:
    """A card in a file is enough where it holds the schema itself."""
    (folder / "card.json").write_text(json.dumps(MESH))
    assert main(["client", "card.json", "-o", "remote"]) == 0
    assert set(importlib.import_module("remote.types").GenerateReportInput.model_fields) == {
        "topic"
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("client", "nowhere.json", "-o", "remote"), 2),
        (("client", "http://127.0.0.1:1", "-o", "remote"), 2),
        (("client", "card.json", "-o", "not-a-name"), 2),
    ],
    ids=["no file", "no agent", "no package"],
)
def test_a_failure_has_its_reason(folder: Path, words: tuple[str, ...], code: int) -> None:
    """A command that generates no client prints the reason and writes nothing."""
    (folder / "card.json").write_text(json.dumps(MESH))
    assert main(words) == code
    assert sorted(each.name for each in folder.iterdir()) == ["card.json"]
