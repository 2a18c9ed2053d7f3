"""How the command line talks: help, versions, exit codes, other people's commands, terminals and pipes."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from style.source_files import ROOT

from a2a_gen import __version__
from a2a_gen.commands.cli import OWN_COMMANDS
from a2a_gen.entry import main

RUN = [sys.executable, "-m", "a2a_gen"]


def on_a_terminal(project: Path, *words: str, **environment: str) -> str:
    """Run a command whose stderr is a terminal, and give what the terminal shows."""
    reader, writer = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run([*RUN, *words], cwd=project, stderr=writer, stdout=subprocess.DEVNULL, env={**clean, **environment}, check=False)
    os.close(writer)
    shown = os.read(reader, 65536).decode()
    os.close(reader)
    return shown


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A project whose contract is not there."""
    (tmp_path / "pyproject.toml").write_text('[tool.a2a-gen]\nschema = "schema"\npackage = "made"\nout = "made"\n')
    return tmp_path


@pytest.mark.parametrize("words", [["version"], ["--version"]], ids=["command", "option"])
def test_the_version(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Both ways to ask for the version give the same line."""
    assert main(words) == 0
    assert capsys.readouterr().out == f"a2a-gen {__version__}\n"


def test_the_version_of_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The command itself, behind the short way, says the same."""
    assert main(["version", "--help"]) == 0
    assert "Show the version." in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["-h"], []], ids=["long", "short", "nothing"])
def test_help_lists_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Help names every command, some examples and the exit codes."""
    main(words)
    said = "".join(capsys.readouterr())
    assert [name for name in OWN_COMMANDS if f"\n  {name} " not in said] == []
    assert "Examples:" in said
    assert "Exit codes: 0 fine" in said


@pytest.mark.parametrize("name", sorted(OWN_COMMANDS))
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The first line of a command's help is what the list says of it, and it takes -h."""
    assert main([name, "-h"]) == 0
    said = capsys.readouterr().out
    assert OWN_COMMANDS[name].removesuffix(".") in " ".join(said.split())
    assert "Examples:" in said or name == "version"


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_completion(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    """Each shell gets a script that asks us for completions."""
    assert main(["completion", shell]) == 0
    assert f"_A2A_GEN_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["bild"], ["build", "--fast"], ["completion", "cmd"], ["ir", "--family"]], ids=" ".join)
def test_wrong_use_exits_with_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """A command, option or value that is not there is wrong use, told on stderr."""
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (["serve", "--check"], 2, "error: there is no a2a.toml in "),
        (["db", "tasks", "list", "--store", "mysql://x"], 2, "error: 'mysql://x' is no address of a store"),
        (["db", "tasks", "show", "x", "--store", "memory"], 1, "error: nothing found"),
        (["card", "sign", "nowhere.json"], 2, "error: Invalid value for 'CARD'"),
        (["init", "no/class"], 2, "error: Invalid value for NAME"),
        (["init", "/proc/nowhere"], 2, "error: /proc/nowhere cannot be read or written: no such file or directory"),
        (["card", "keygen", "/proc/nowhere.pem"], 2, "error: /proc/nowhere.pem cannot be read or written: no such file or directory"),
        (["build"], 2, "error: there is no project"),
    ],
    ids=["serve", "db", "nothing", "card", "init", "place", "key", "build"],
)
def test_every_command_says_in_one_way_that_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], code: int, last: str
) -> None:
    """Ours and those of other distributions: one word before what is wrong, 2 for what cannot be used, 1 for what is not found, no traceback."""
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    said = capsys.readouterr().err
    assert [line for line in said.splitlines() if line.startswith("error: ")][-1].startswith(last), said
    assert "Traceback" not in said


def test_a_lock_that_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in the way is named."""
    shutil.copytree(ROOT / "tests" / "cases" / "smallest" / "input", tmp_path / "here")
    (tmp_path / "here" / "a2a-gen.lock").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["build"]) == 2
    assert "a2a-gen.lock cannot be read or written: is a directory" in capsys.readouterr().err


def test_commands_of_other_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A command found by its entry point is listed without being loaded, and runs when it is named."""
    metadata = tmp_path / "greeter-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[a2a_gen.commands]\ngreet = greeter:greet\nbroken = greeter:WORD\nbuild = greeter:greet\n")
    (tmp_path / "greeter.py").write_text(
        'import click\n\nWORD = \'hello\'\n\n@click.command()\ndef greet():\n    """Say hello.\n\n    More."""\n    click.echo(WORD)\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\n  greet +Say hello\.\n", said)
    assert re.search(r"\n  broken +From greeter\.\n", said)
    assert re.search(r"\n  serve +Serve an agent over HTTP", said)
    assert "greeter" not in sys.modules
    assert main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert main(["broken"]) == 1
    assert "is no click command" in capsys.readouterr().err


def test_problems_are_coloured_on_a_terminal_only(broken: Path) -> None:
    """A terminal shows colours unless NO_COLOR is set; a pipe never gets any."""
    assert "\x1b[31merror:\x1b[0m" in on_a_terminal(broken, "build")
    assert "\x1b" not in on_a_terminal(broken, "build", NO_COLOR="1")
    done = subprocess.run([*RUN, "build"], cwd=broken, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "\x1b" not in done.stderr


def test_a_folder_without_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that needs a project says what makes one."""
    monkeypatch.chdir(tmp_path)
    for name in ("build", "check", "ir", "lint"):
        assert main([name]) == 2
        assert "[tool.a2a-gen]" in capsys.readouterr().err


def test_the_intermediate_form(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole contract, or one file of it; a file that is not there is wrong use, with the names of those that are."""
    monkeypatch.chdir(Path(__file__).parents[2] / "cases" / "smallest" / "input")
    assert main(["ir"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["ir", "--family", "v1_0/request"]) == 0
    assert json.loads(capsys.readouterr().out) in whole["families"]
    assert main(["ir", "--family", "v9/task"]) == 2
    assert "there is v1_0/request, v1_0/task" in capsys.readouterr().err


def test_an_agent_has_no_families(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What a project cannot have is no option for it."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "hello"]) == 0
    monkeypatch.chdir(tmp_path / "hello")
    assert main(["ir", "--family", "v1_0/task"]) == 2
    assert "an agent has no such files" in capsys.readouterr().err


def test_lint_looks_at_translations_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What would end the build because a translation loses something in silence, is told before, with its file and line."""
    shutil.copytree(ROOT / "schema", tmp_path / "schema")
    (tmp_path / "pyproject.toml").write_text('[tool.a2a-gen]\nschema = "schema"\npackage = "made"\nout = "made"\n')
    tables = tmp_path / "schema" / "dialects.json"
    lines = tables.read_text(encoding="utf-8").splitlines(keepends=True)
    tables.write_text("".join(line for line in lines if "a data part has no file name in 0.3" not in line), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["lint"]) == 1
    said = capsys.readouterr().err
    assert "filename" in said
    assert "schema/dialects.json:" in said
