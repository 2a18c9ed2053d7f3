"""The guide to operations: its commands run as they stand, with our own Postgres in the place of
the machine's.

The new release of its upgrade is this one with one more migration: ``pip`` puts it before the
installed one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import click
import pytest
from peers.environments import interpreter
from style.source_files import ROOT

import a2a_runtime
from a2a_gen.commands.cli import cli
from a2a_runtime.features.postgres import REQUIRED_VERSION
from a2a_runtime.testing.embedded_postgres import PostgresServer
from a2a_runtime.testing.ports import find_free_port

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SCRIPT = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PORTS = ("8000", "8001", "8080", "8090")
PRELUDE = """set -eu
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
systemctl() {{ echo "$1" > {control}; cat {answer} > /dev/null; }}
pip() {{ export PYTHONPATH={release}; }}
"""
RUNTIME = Path(a2a_runtime.__file__).parent
NEXT_VERSION = REQUIRED_VERSION + 1
MIGRATION = "ALTER TABLE a2a_tasks ADD COLUMN next_release integer;\n"


def build_next_release(folder: Path) -> Path:
    """Write this release with one more migration."""
    shutil.copytree(RUNTIME, folder / RUNTIME.name, ignore=shutil.ignore_patterns("__pycache__"))
    (
        folder
        / RUNTIME.name
        / "features"
        / "postgres"
        / "migrations"
        / f"{NEXT_VERSION:04}_next.sql"
    ).write_text(MIGRATION)
    return folder


def replace_ports(script: str, store: str) -> str:
    """Give a script free ports, and the address of a store."""
    ports = {port: str(find_free_port()) for port in PORTS}
    script = re.sub(r"\b(8000|8001|8080|8090)\b", lambda found: ports[found[1]], script)
    return script.replace("postgresql://agent@127.0.0.1/agent", store)


def test_the_commands_of_the_guide_are_commands(tmp_path: Path) -> None:
    """The shell reads all of them, and each of ours has the options that it is given."""
    (tmp_path / "script").write_text(SCRIPT)
    assert subprocess.run(["/bin/sh", "-n", str(tmp_path / "script")], check=False).returncode == 0
    lines = re.findall(r"a2a-gen ([a-z].*?)(?: &&| \|\||;| >| 2>| &|\)|$)", SCRIPT, re.MULTILINE)
    assert len(lines) > 15
    for line in lines:
        words = [word.strip("'\"") for word in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", line)]
        command: click.Command | None = cli
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words.pop(0))
        assert command is not None, line
        command.make_parser(click.Context(command, **cli.context_settings)).parse_args(words)


def build_environment(folder: Path) -> dict[str, str]:
    """Build the environment of the guide: our commands, Caddy, and no settings of this machine."""
    caddy = interpreter("deployment-tools").with_name("caddy")
    (folder / "bin").mkdir()
    shutil.copy(caddy, folder / "bin" / "caddy")
    commands = (folder / "bin", Path(sys.executable).parent)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("A2A_")}
    return environment | {
        "PATH": os.pathsep.join([*map(str, commands), os.environ["PATH"]]),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "CADDY_ADMIN": "127.0.0.1:0",
    }


@pytest.mark.soak(share="drills")
@pytest.mark.peer
def test_the_guide_runs(tmp_path: Path) -> None:
    """From the first command to the last: deployment, restart under load, outage, upgrade, new
    keys.
    """
    control = tmp_path / "control"
    answer = tmp_path / "answer"
    os.mkfifo(control)
    os.mkfifo(answer)
    with PostgresServer() as postgres:

        def obey() -> None:
            while (order := control.read_text().strip()) != "end":
                postgres.stop() if order == "stop" else postgres.restart()
                answer.write_text("done\n")

        operator = threading.Thread(target=obey, daemon=True)
        operator.start()
        release = build_next_release(tmp_path / "release")
        script = PRELUDE.format(control=control, answer=answer, release=release) + replace_ports(
            SCRIPT, postgres.url
        )
        (tmp_path / "guide").write_text(script)
        log = (tmp_path / "guide.log").open("w+")
        process = subprocess.Popen(
            ["/bin/bash", tmp_path / "guide"],
            cwd=tmp_path,
            env=build_environment(tmp_path),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            process.wait(timeout=600)
        finally:
            with suppress(ProcessLookupError):  # what is left of the commands
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            log.close()
            control.write_text("end\n")
            operator.join(30)
        output = (tmp_path / "guide.log").read_text()
        logs = "\n".join(
            f"--- {path.name}\n{path.read_text()[-3000:]}"
            for path in sorted((tmp_path / "hello").glob("*.log"))
        )
        assert process.returncode == 0, f"{output[-5000:]}\n{logs}"
        assert "outage" in output
        assert f"schema {REQUIRED_VERSION}, this release needs {NEXT_VERSION}" in output
        assert f"would apply {NEXT_VERSION}\n" in output
        assert f"applied {NEXT_VERSION}\n" in output
