"""A card determines no file, no address and no running time of the generator that reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from integration.skills.hostile_cards import CARDS, REFUSED, build_naming_card
from threads import serve_in_thread

from a2a_gen.agent.remote import client as remote_client
from a2a_gen.agent.remote.agent import read_remote_agent
from a2a_gen.entry import main
from a2a_gen.output.staging import is_inside
from a2a_gen.problems import GeneratorError

SCHEMA = b'{"type": "object", "properties": {"topic": {"type": "string"}}}'


class Web(ThreadingHTTPServer):
    """Answers with what was put under a path, or redirects; ``paths`` are the requested ones."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.packing = "identity"
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        """Answer."""
        self.server.paths.append(self.path)
        location = self.server.redirects.get(self.path)
        content = self.server.answers.get(self.path)
        if location:
            self.send_response(302)
        else:
            self.send_response(404 if content is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content or b"")))
        self.send_header("content-encoding", self.server.packing)
        if location:
            self.send_header("location", location)
        self.end_headers()
        self.wfile.write(content or b"")

    # The base class names the parameter.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def agent() -> Iterator[Web]:
    """The server of the agent."""
    with serve_in_thread(Web()) as server:
        yield server


@pytest.fixture
def internal() -> Iterator[Web]:
    """A server that only we can reach, and that the agent would like to read."""
    with serve_in_thread(Web()) as server:
        server.answers["/secret"] = SCHEMA
        yield server


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shows(agent: Web, url: str) -> None:
    """Let an agent show a card that names the address of a schema."""
    agent.answers["/.well-known/agent-card.json"] = json.dumps(
        build_naming_card({"url": url})
    ).encode()


@pytest.mark.parametrize(("card", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_hostile_cards_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], card: object, said: str
) -> None:
    """A card that nothing can be made of ends in a sentence that says so, and in no file."""
    (folder / "card.json").write_text(card if isinstance(card, str) else json.dumps(card))
    assert main(["client", "card.json", "-o", "made"]) == 2
    output = capsys.readouterr().err
    assert said in output
    assert "fix: " in output
    assert [each.name for each in folder.iterdir()] == ["card.json"]


@given(card=CARDS)
def test_no_card_surprises_us(card: dict[str, object]) -> None:
    """Of any card comes a package with files of its own, or a complaint."""
    with TemporaryDirectory() as place:
        where = Path(place, "card.json")
        where.write_text(json.dumps(card))
        with suppress(GeneratorError):
            assert all(
                map(is_inside, remote_client.emit(read_remote_agent(str(where)), "a2a-gen client"))
            )


def test_skills_of_any_name(folder: Path) -> None:
    """A skill that has no name for files and methods gets a made one; it is called by its own."""
    names = ["日本", "...", "con", "x" * 300, "a\0b", "../../../x", "__init__", "class"]
    skills = [
        {"id": name, "description": "Asks.", "metadata": {"input_schema": json.loads(SCHEMA)}}
        for name in names
    ]
    (folder / "card.json").write_text(json.dumps({"name": "Agent", "skills": skills}))
    assert main(["client", "card.json", "-o", "made"]) == 0
    assert main(["client", "card.json", "-o", "made", "--check"]) == 0
    table = (folder / "made" / "skills.py").read_text()
    assert [name for name in names if repr(name).strip("'") not in table] == []


def test_made_names_differ(folder: Path) -> None:
    """Two skills without a word of ASCII are two methods, with a schema each."""
    both = [
        {"id": skill, "metadata": {"input_schema": {"type": kind}}}
        for skill, kind in (("日", "object"), ("本", "string"))
    ]
    (folder / "card.json").write_text(json.dumps({"name": "Agent", "skills": both}))
    assert main(["client", "card.json", "-o", "made"]) == 0
    assert len(list((folder / "made" / "schemas").iterdir())) == 2


def test_schemas_come_from_the_agent_alone(
    agent: Web, internal: Web, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card with a schema at another address is refused without a request to that address, unless
    the user allows it.
    """
    shows(agent, f"{internal.url}/secret")
    assert main(["client", agent.url, "-o", "made"]) == 2
    assert f"--schemas-from {internal.url}" in capsys.readouterr().err
    assert internal.paths == []
    assert main(["client", agent.url, "-o", "made", "--schemas-from", internal.url]) == 0
    assert (
        f"--schemas-from {internal.url}\n" in Path("made/client.py").read_text().partition('"""')[0]
    )


@pytest.mark.parametrize(
    "path", ["/.well-known/agent-card.json", "/schema"], ids=["card", "schema"]
)
def test_redirects_stay_where_they_are(
    agent: Web, internal: Web, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    """A redirect to another host is not followed; one to another path is."""
    shows(agent, "/schema")
    agent.answers["/schema"] = SCHEMA
    agent.answers["/elsewhere"] = agent.answers[path]
    agent.redirects[path] = f"{internal.url}/secret"
    assert main(["client", agent.url, "-o", "made"]) == 2
    assert internal.paths == []
    assert "is not the agent's origin" in capsys.readouterr().err
    agent.redirects[path] = "/elsewhere"
    assert main(["client", agent.url, "-o", "made"]) == 0


def test_redirects_end(agent: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that leads in a circle is left."""
    agent.redirects["/"] = agent.redirects["/a"] = "/a"
    assert main(["client", agent.url, "-o", "made"]) == 2
    assert "redirects too often" in capsys.readouterr().err


def test_packed_answers_are_not_unpacked(agent: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """A small answer that would be a large one is refused before it is."""
    shows(agent, "/schema")
    agent.packing = "gzip"
    assert main(["client", agent.url, "-o", "made"]) == 2
    assert "content encoding" in capsys.readouterr().err
