"""``a2a-gen dev``."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console
from a2a_gen.output import lock
from a2a_gen.problems import GeneratorError, ProjectError
from a2a_gen.source.project import Project, find_project

EXAMPLES = """\b
Examples:
  a2a-gen dev                 build, serve, and do both again after every change
  a2a-gen dev --port 9000"""

_POLL_SECONDS = 0.2
_DRAIN_SECONDS = "1"
"""Seconds for open streams: whoever works on an agent does not wait for them."""
_CODE_SUFFIXES, _SCHEMA_SUFFIXES = (".py",), (".json", ".yaml", ".yml")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


@click.command(epilog=EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="The port to listen on.")
def command(host: str, port: int) -> None:
    """Serve the agent of this project while you work on it.

    A change of a2a.toml or of a schema builds the package anew; a change of any Python file starts the server again. While something is wrong, it
    says what, and what ran before goes on. Every call is logged, and how its task ends.
    """
    project = find_project(Path.cwd())
    if project.kind != "agent":
        raise ProjectError(f"{project.config} is a contract, and nothing to serve", "go to the folder of an agent, which has an a2a.toml")
    _check_address_free(host, port)
    server = ServerProcess(project, host, port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever stops this means the server: it must not outlive us
    try:
        _watch(project, server)
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()


def _check_address_free(host: str, port: int) -> None:
    """End before anything is built when nothing could be served: no change of the project would help."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ProjectError(f"nothing can be served at {host}:{port}: {reason}", "end what listens there, or choose another with --port") from error


class ServerProcess:
    """The process that serves."""

    def __init__(self, project: Project, host: str, port: int) -> None:
        self._command = [sys.executable, "-m", "a2a_gen", "serve"]
        self._arguments = ["--host", host, "--port", str(port), "--drain", _DRAIN_SECONDS, "--log-calls"]
        self._root = project.root
        self._process: subprocess.Popen[bytes] | None = None

    def restart(self) -> None:
        """Start it, or start it again; what cannot be served is told, and what runs goes on."""
        if subprocess.run([*self._command, "--check"], cwd=self._root, check=False).returncode:  # noqa: S603 - our own command
            click.echo("this cannot be served yet" + ("; what ran before goes on" if self._process else ""), err=True)
            return
        self.stop()
        self._process = subprocess.Popen([*self._command, *self._arguments], cwd=self._root)  # noqa: S603 - as above

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process = None

    def look(self) -> None:
        """Say so, once, when it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            click.echo(f"the server has ended with {self._process.returncode}; it is started again after a change", err=True)
            self._process = None


def _watch(project: Project, server: ServerProcess) -> None:
    """Build and serve, and look again and again at what both are made of."""
    inputs: Mapping[Path, int] = {}
    code: Mapping[Path, int] = {}
    is_fine = True
    while True:
        server.look()
        seen = _read_mtimes(_list_inputs(project, is_fine=is_fine))
        has_changed = seen != inputs
        if has_changed:
            is_fine = _build(project)
            read = _read_mtimes(_list_inputs(project, is_fine=is_fine))
            inputs = {file: seen.get(file, stamp) for file, stamp in read.items()}  # as they were before the build read them
        is_built = has_changed and is_fine
        code_now = _read_mtimes(_walk_files(project.root, _CODE_SUFFIXES))
        if is_built or code_now != code:
            if code and not is_built:
                click.echo("code has changed: serving it anew", err=True)
            code = code_now
            server.restart()
        time.sleep(_POLL_SECONDS)


def _build(project: Project) -> bool:
    start = time.perf_counter()
    try:
        result = pipeline.build(find_project(project.root))
    except GeneratorError as error:
        console.show_error(error)
        return False
    console.show_problems(result.warnings)
    click.echo(f"built in {time.perf_counter() - start:.2f} s: {result.written_count} files written, {result.unchanged_count} unchanged", err=True)
    return True


def _list_inputs(project: Project, *, is_fine: bool) -> Iterator[Path]:
    """List what a build reads, as far as the last one knows: its own file leads to the rest. One that failed may lack what is not there yet."""
    yield project.config
    old = lock.read_lock(project.root)
    yield from (project.root / path for path in (old.inputs if old else ()))
    if not is_fine:
        yield from _walk_files(project.root, _SCHEMA_SUFFIXES)


def _walk_files(root: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for parent, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith(".")]
        yield from (Path(parent, name) for name in names if name.endswith(suffixes))


def _read_mtimes(files: Iterator[Path]) -> dict[Path, int]:
    found: dict[Path, int] = {}
    for file in files:
        try:
            found[file] = file.stat().st_mtime_ns
        except OSError:
            continue
    return found
