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
from a2a_gen.source.project import Project

EXAMPLES = """\b
Examples:
  a2a-gen dev                 build and serve; repeat after every change
  a2a-gen dev --port 9000"""

_POLL_SECONDS = 0.2
_DRAIN_SECONDS = "1"
"""Time for open streams; short, since development should not wait for them."""
_EXPLORER_VARIABLE = "A2A_EXPLORER"
_CODE_SUFFIXES = (".py",)
_SCHEMA_SUFFIXES = (".json", ".yaml", ".yml")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


@click.command(epilog=EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on.",
)
def command(host: str, port: int) -> None:
    """Serve this project's agent with auto-reload.

    A change of a2a.toml or of a schema rebuilds the package; a change of any Python file restarts
    the server. On an error the previous server keeps running. Logs every call and the final state
    of its task. The explorer is at /explorer.
    """
    project = pipeline.open_project(Path.cwd())
    if project.kind != "agent":
        raise ProjectError(
            f"{project.config}: a contract cannot be served",
            "change to the folder of an agent, which has an a2a.toml",
        )
    _check_address_free(host, port)
    server = ServerProcess(project, host, port)
    # This signal stops the server too, which must not outlive this process.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _watch(project, server)
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()


def _check_address_free(host: str, port: int) -> None:
    """Raise before the first build if the address is in use: no change of the project would
    help.
    """
    try:
        socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        ).close()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ProjectError(
            f"{host}:{port}: cannot listen: {reason}",
            "stop the process that uses it, or choose another --port",
        ) from error


class ServerProcess:
    """The process that serves the agent."""

    def __init__(self, project: Project, host: str, port: int) -> None:
        self._command = [sys.executable, "-m", "a2a_gen", "serve", "--built-by-dev"]
        self._arguments = [
            "--host",
            host,
            "--port",
            str(port),
            "--drain",
            _DRAIN_SECONDS,
            "--log-calls",
        ]
        self._root = project.root
        self._process: subprocess.Popen[bytes] | None = None

    def restart(self) -> None:
        """Start or restart the server; if the agent cannot be served, the running server stays."""
        check = [*self._command, "--check", *self._arguments[:2]]
        done = subprocess.run(  # noqa: S603 - our own command
            check, cwd=self._root, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            click.echo(
                "agent: cannot be served yet"
                + ("; the previous server keeps running" if self._process else ""),
                err=True,
            )
            return
        self.stop()
        environment = {_EXPLORER_VARIABLE: "on", **os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - as above
            [*self._command, *self._arguments], cwd=self._root, env=environment
        )

    def stop(self) -> None:
        """Stop the server if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process = None

    def report_exit(self) -> None:
        """Report an exit of the server, once."""
        if self._process is not None and self._process.poll() is not None:
            click.echo(
                f"server: exited with {self._process.returncode}; waiting for a change to restart",
                err=True,
            )
            self._process = None


def _watch(project: Project, server: ServerProcess) -> None:
    """Build and serve; poll the inputs of both."""
    inputs: Mapping[Path, int] = {}
    code: Mapping[Path, int] = {}
    is_fine = True
    while True:
        server.report_exit()
        seen = _read_mtimes(_list_inputs(project, is_fine=is_fine))
        has_changed = seen != inputs
        if has_changed:
            is_fine = _build(project)
            read = _read_mtimes(_list_inputs(project, is_fine=is_fine))
            # These are the times from before the build read the files: a change during the build
            # counts.
            inputs = {file: seen.get(file, stamp) for file, stamp in read.items()}
        is_built = has_changed and is_fine
        code_now = _read_mtimes(_walk_files(project.root, _CODE_SUFFIXES))
        if is_built or code_now != code:
            if code and not is_built:
                click.echo("code changed; restarting the server", err=True)
            code = code_now
            server.restart()
        time.sleep(_POLL_SECONDS)


def _build(project: Project) -> bool:
    start = time.perf_counter()
    try:
        result = pipeline.build(pipeline.open_project(project.root))
    except GeneratorError as error:
        console.show_error(error)
        return False
    console.show_problems(result.warnings)
    click.echo(
        (
            f"built in {time.perf_counter() - start:.2f} s: {result.written_count} files "
            f"written, {result.unchanged_count} unchanged"
        ),
        err=True,
    )
    return True


def _list_inputs(project: Project, *, is_fine: bool) -> Iterator[Path]:
    """List the inputs of the last build; after a failure also every schema file, since the lock may
    miss new ones.
    """
    yield project.config
    old = lock.read_lock(project.root)
    if old:
        yield from (project.root / path for path in old.inputs)
    if not is_fine:
        yield from _walk_files(project.root, _SCHEMA_SUFFIXES)


def _walk_files(root: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for parent, folders, names in os.walk(root):
        folders[:] = [
            name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith(".")
        ]
        yield from (Path(parent, name) for name in names if name.endswith(suffixes))


def _read_mtimes(files: Iterator[Path]) -> dict[Path, int]:
    found: dict[Path, int] = {}
    for file in files:
        try:
            found[file] = file.stat().st_mtime_ns
        except OSError:
            continue
    return found
