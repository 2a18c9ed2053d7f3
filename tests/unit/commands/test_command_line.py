"""The command line: help, versions, exit codes, commands of other distributions, terminals and
pipes.
"""

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


def run_on_a_terminal(project: Path, *words: str, **environment: str) -> str:
    """Run a command with a terminal as stderr, and return the terminal output."""
    reader, writer = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run(
        [*RUN, *words],
        cwd=project,
        stderr=writer,
        stdout=subprocess.DEVNULL,
        env={**clean, **environment},
        check=False,
    )
    os.close(writer)
    output = os.read(reader, 65536).decode()
    os.close(reader)
    return output


@pytest.fixture
def broken_project(tmp_path: Path) -> Path:
    """A project without its contract."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.a2a-gen]\nschema = "schema"\npackage = "made"\nout = "made"\n'
    )
    return tmp_path


@pytest.mark.parametrize("words", [["version"], ["--version"]], ids=["command", "option"])
def test_the_version(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """The command and the option print the same line."""
    assert main(words) == 0
    assert capsys.readouterr().out == f"a2a-gen {__version__}\n"


def test_the_version_of_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The version command has help."""
    assert main(["version", "--help"]) == 0
    assert "Print the version." in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["-h"], []], ids=["long", "short", "nothing"])
def test_help_lists_every_command_and_shows_examples(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Help has every command, examples and the exit codes."""
    main(words)
    output = "".join(capsys.readouterr())
    assert [name for name in OWN_COMMANDS if f"\n  {name} " not in output] == []
    assert "Examples:" in output
    assert "Exit codes: 0 success" in output


@pytest.mark.parametrize("name", sorted(OWN_COMMANDS))
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The first help line of a command is its line in the list, and -h works."""
    assert main([name, "-h"]) == 0
    output = capsys.readouterr().out
    assert OWN_COMMANDS[name].removesuffix(".") in " ".join(output.split())
    assert "Examples:" in output


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_completion(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    """Each shell gets a script that calls the command for completions."""
    assert main(["completion", shell]) == 0
    assert f"_A2A_GEN_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["bild"], ["build", "--fast"], ["completion", "cmd"], ["ir", "--family"]],
    ids=" ".join,
)
def test_wrong_use_exits_with_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """An unknown command, option or value is a usage error on stderr."""
    assert main(words) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (["serve", "--check"], 1, "error: a2a.toml: not found in "),
        (
            ["db", "tasks", "list", "--store", "mysql://x"],
            2,
            "error: store: 'mysql://x' is not a store URL",
        ),
        (["db", "tasks", "show", "x", "--store", "memory"], 1, "error: store: nothing found"),
        (["schema", "json"], 2, "error: json: 'json' names no attribute; write module:attribute"),
        (["card", "sign", "nowhere.json"], 2, "error: Invalid value for 'CARD'"),
        (["init", "no/class"], 2, "error: Invalid value for NAME"),
        (
            ["init", "/proc/nowhere"],
            2,
            "error: /proc/nowhere: cannot be read or written: no such file or directory",
        ),
        (
            ["card", "keygen", "/proc/nowhere.pem"],
            2,
            "error: /proc/nowhere.pem: cannot be read or written: no such file or directory",
        ),
        (["build"], 2, "no project in this folder or above it"),
    ],
    ids=["serve", "db", "nothing", "schema", "card", "init", "place", "key", "build"],
)
def test_every_command_reports_errors_in_one_way(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    last: str,
) -> None:
    """Commands of all distributions print `error:`, end with 2 for invalid input (`serve`: 1) and 1
    for no result, without a traceback.
    """
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    output = capsys.readouterr().err
    assert last in [line for line in output.splitlines() if line.startswith("error: ")][-1], output
    assert "Traceback" not in output


JWT = 'kind = "jwt"\nissuer = "https://a.example"\naudience = "b"\n'


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            'kind = "jwtt"',
            "toml:6.*unknown kind 'jwtt'(.|\n)*use one of jwt, api-keys, basic, mutual-tls",
        ),
        (
            f'{JWT}discover = true\nisuer = "c"',
            r"toml:10.*unknown setting(.|\n)*did you mean issuer\?",
        ),
        (JWT, "toml:5.*the source of keys is not clear(.|\n)*set one of discover, keys, "),
    ],
    ids=["unknown kind", "misspelt key", "no source of keys"],
)
def test_an_invalid_project_file_is_refused_by_each_of_its_readers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    entry: str,
    problem: str,
) -> None:
    """The sentence is the same; operators get 1 for a configuration, pipelines get 2 for unusable
    input, as docs/exit-codes.md says.
    """
    settings = (
        '[agent]\nname = "a"\ndescription = "b"\nversion = '
        f'"1"\n[auth.staff]\n{entry}\n[outputs]\npackage = "a.contract"\n'
    )
    (tmp_path / "a2a.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    for words, code in (("build", 2), ("check", 2), ("lint", 1), ("serve --check", 1)):
        assert main(words.split()) == code, words
        output = capsys.readouterr().err
        assert re.search(problem, output), (words, output)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("bild", "'build'"),
        ("build --chekc", "'--check'"),
        ("serve --log-levle debug", "'--log-level'"),
    ],
    ids=["command", "option", "option of a setting"],
)
def test_a_misspelt_word_is_corrected(
    capsys: pytest.CaptureFixture[str], words: str, meant: str
) -> None:
    """Commands and options that do not exist name those that were meant."""
    assert main(words.split()) in {1, 2}
    assert re.search(f"Did you mean.*{meant}", capsys.readouterr().err)


def test_a_lock_that_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error for a folder in place of the lock file has its path."""
    shutil.copytree(ROOT / "tests" / "cases" / "smallest" / "input", tmp_path / "here")
    (tmp_path / "here" / "a2a-gen.lock").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["build"]) == 2
    assert "a2a-gen.lock: cannot be read or written: is a directory" in capsys.readouterr().err


def test_commands_of_other_distributions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command with an entry point is listed without being loaded, and runs by name."""
    metadata = tmp_path / "greeter-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[a2a_gen.commands]\ngreet = greeter:greet\nbroken = greeter:WORD\nbuild = greeter:greet\n"
    )
    (tmp_path / "greeter.py").write_text(
        'import click\n\nWORD = \'hello\'\n\n@click.command()\ndef greet():\n    """Say '
        'hello.\n\n    More."""\n    click.echo(WORD)\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"\n  greet +Say hello\.\n", output)
    assert re.search(r"\n  broken +From greeter\.\n", output)
    assert re.search(r"\n  serve +Serve an agent over HTTP", output)
    assert "greeter" not in sys.modules
    assert main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert main(["broken"]) == 1
    assert "is not a click command" in capsys.readouterr().err


def test_problems_are_colored_on_a_terminal_only(broken_project: Path) -> None:
    """A terminal gets colors unless NO_COLOR is set; a pipe never does."""
    assert "\x1b[31merror:\x1b[0m" in run_on_a_terminal(broken_project, "build")
    assert "\x1b" not in run_on_a_terminal(broken_project, "build", NO_COLOR="1")
    done = subprocess.run(
        [*RUN, "build"], cwd=broken_project, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "\x1b" not in done.stderr


def test_a_folder_without_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that needs a project reports how to configure one."""
    monkeypatch.chdir(tmp_path)
    for name in ("build", "check", "ir", "lint"):
        assert main([name]) == 2
        assert "[tool.a2a-gen]" in capsys.readouterr().err


def test_the_intermediate_representation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole contract, or one file of it; an unknown file is a usage error that lists the known
    ones.
    """
    monkeypatch.chdir(Path(__file__).parents[2] / "cases" / "smallest" / "input")
    assert main(["ir"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["ir", "--family", "v1_0/request"]) == 0
    assert json.loads(capsys.readouterr().out) in whole["families"]
    assert main(["ir", "--family", "v9/task"]) == 2
    assert "choose one of v1_0/request, v1_0/task" in capsys.readouterr().err


def test_an_agent_has_no_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--family is refused for an agent."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "hello"]) == 0
    monkeypatch.chdir(tmp_path / "hello")
    assert main(["ir", "--family", "v1_0/task"]) == 2
    assert "an agent has no schema families" in capsys.readouterr().err


def test_lint_checks_translations_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A translation that would lose data is reported by lint, with its file and line."""
    shutil.copytree(ROOT / "schema", tmp_path / "schema")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.a2a-gen]\nschema = "schema"\npackage = "made"\nout = "made"\n'
    )
    tables = tmp_path / "schema" / "dialects.json"
    lines = tables.read_text(encoding="utf-8").splitlines(keepends=True)
    tables.write_text(
        "".join(line for line in lines if "a data part has no file name in 0.3" not in line),
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert main(["lint"]) == 1
    output = capsys.readouterr().err
    assert "filename" in output
    assert "schema/dialects.json:" in output


def test_nothing_to_do_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An idle build and a fresh check say so, on a terminal and in the log of a pipeline, and write
    nothing to stdout.
    """
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.json").write_text(
        '{"type": "object", "properties": {"a": {"type": "integer"}}}'
    )
    (tmp_path / "a2a-gen.toml").write_text('schema = "schemas"\npackage = "shop"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["build"]) == 0
    assert re.fullmatch(
        r"shop: \d+ files written, 0 removed, 0 unchanged\n", capsys.readouterr().err
    )
    for command in ("build", "check"):
        assert (main([command]), *capsys.readouterr()) == (0, "", "shop: up to date\n")
