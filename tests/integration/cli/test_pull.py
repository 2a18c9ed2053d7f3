"""``a2a-gen pull``: the contract of a source, from which a typed client is built and compared."""

from __future__ import annotations

import asyncio
import json
import shlex
import tomllib
from pathlib import Path

import pytest
from integration.features.apcore.test_command import MODULE
from integration.features.mcp.toolbox import HANDSHAKE_SERVER

from a2a_gen.entry import main
from a2a_runtime.features.sources import SkillDescriptor, SkillSource
from a2a_runtime.skills.context import SkillContext

NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Stock(SkillSource):
    """A source with one skill."""

    async def describe(self) -> list[SkillDescriptor]:
        """Describe the skill."""
        return [SkillDescriptor("stock", "Counts.", input_schema=NUMBERS, is_read_only=True)]

    async def call(self, _skill: SkillDescriptor, value: object, _context: SkillContext) -> object:
        """Call the skill."""
        return value


source = Stock()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_skills(folder: Path) -> dict[str, dict[str, object]]:
    """Read the skills of the contract that was written."""
    skills: dict[str, dict[str, object]] = tomllib.loads((folder / "a2a.toml").read_text())[
        "skills"
    ]
    return skills


def test_a_folder_of_modules(folder: Path) -> None:
    """Is written with the schemas of each module, and builds a typed client."""
    (folder / "extensions" / "demo").mkdir(parents=True)
    (folder / "extensions" / "demo" / "greet.py").write_text(MODULE, encoding="utf-8")
    assert main(["pull", "extensions"]) == 0
    skills = read_skills(folder / "contract")
    schema = json.loads((folder / "contract" / str(skills["demo.greet"]["input"])).read_text())
    assert schema["required"] == ["name"]
    assert main(["pull", "extensions", "--check"]) == 0


def test_a_server_of_tools(folder: Path) -> None:
    """Is started, asked and stopped; the command may name the agent."""
    assert main(["pull", shlex.join(HANDSHAKE_SERVER), "-o", "tools", "--name", "words"]) == 0
    assert "echo" in read_skills(folder / "tools")
    assert tomllib.loads((folder / "tools" / "a2a.toml").read_text())["agent"]["name"] == "words"


def test_a_source_in_python(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its changes are seen by --check, and by the comparison."""
    assert main(["pull", f"{__name__}:source"]) == 0
    assert json.loads((folder / "contract" / "schema" / "stock.input.json").read_text())[
        "required"
    ] == ["a"]
    monkeypatch.setitem(NUMBERS, "required", ["a", "b"])
    assert main(["pull", f"{__name__}:source", "--check"]) == 1
    assert (
        f"stock.input.json: stale; run a2a-gen pull {__name__}:source -o contract"
        in capsys.readouterr().err
    )
    assert main(["pull", f"{__name__}:source", "-o", "new"]) == 0
    assert main(["diff", "contract", "new"]) == 1


def test_a_source_cannot_choose_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id that would be a path is refused."""
    descriptor = SkillDescriptor("../../stock", "Counts.", input_schema=NUMBERS)
    monkeypatch.setattr(source, "describe", lambda: asyncio.sleep(0, [descriptor]))
    assert main(["pull", f"{__name__}:source"]) == 2
    assert "'../../stock' is not a skill id" in capsys.readouterr().err
    assert not Path("contract").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nowhere:source"], 2, "nowhere:source: "),
        (
            [f"{__name__}:NUMBERS"],
            2,
            "not a source of skills; name a SkillSource, or run a2a-gen schema for an agent",
        ),
        (
            ["a2a-no-such-program"],
            2,
            (
                "a2a-no-such-program: no folder, no URL, no module:attribute, and no program of "
                "this name"
            ),
        ),
        (['python "-m'], 1, 'python "-m: No closing quotation'),
        (["."], 2, ".: no apcore modules in this folder"),
        ([".", "--mcp-env", "HOME"], 2, "--mcp-env: . is no command"),
        (
            ["python", "--mcp-env", "A2A_NO_SUCH"],
            1,
            "--mcp-env: A2A_NO_SUCH is not set in this environment",
        ),
    ],
    ids=[
        "module",
        "object",
        "program",
        "quotation",
        "empty folder",
        "variable of a folder",
        "variable",
    ],
)
def test_what_is_no_source(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    """The error names it, and nothing is written."""
    assert main(["pull", *words]) == code
    assert message in capsys.readouterr().err
    assert not Path("contract").exists()
