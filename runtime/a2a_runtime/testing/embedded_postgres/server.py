"""A PostgreSQL server in a folder of its own, which tests start, stop, kill and freeze.

The server never outlives the test run: on Linux the kernel kills it together with the thread that
started it (start it from the main thread); elsewhere the context manager stops it. Its folder
contains the data, the socket and the log, and is deleted with it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from a2a_runtime.testing.embedded_postgres.binaries import (
    PostgresMissingError,
    find_programs,
    find_unprivileged_user,
)
from a2a_runtime.testing.ports import find_free_port

_START_TIMEOUT_SECONDS = 120.0
_STOP_TIMEOUT_SECONDS = 15.0
_PR_SET_PDEATHSIG = 1
_PREFIX = "a2a-pg-"
_STALE_SECONDS = 3600.0
_MEMORY = Path("/dev/shm")  # noqa: S108  # only as home of mkdtemp
_MEMORY_BYTES = 2 * 1024**3
_SETTINGS = {"max_connections": "200", "shared_buffers": "64MB", "log_min_messages": "warning"}


class PostgresServer:
    """A server on a free port of 127.0.0.1 and on a socket in its folder; ``with`` starts and
    removes it.

    With ``in_memory`` its data are in shared memory, if that has room: creating a database there
    takes a third of the time.
    """

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, in_memory: bool = False
    ) -> None:
        self._settings = _SETTINGS | dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._user = find_unprivileged_user()
        self.is_in_memory = in_memory and _has_room_in_memory(self._user)
        self.folder = _make_folder(_find_temporary_folder(self._user), self._user)
        # not in memory, where programs may be forbidden
        self._programs = find_programs(self.folder, self._user)
        self._data = self.folder / "data"
        if self.is_in_memory:
            data = _make_folder(_MEMORY, self._user) / "data"
            self._data.symlink_to(data)
            self._data = data
        self.port = find_free_port()

    @property
    def url(self) -> str:
        """URL for the superuser, over TCP, of the default database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return self._require_process().pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def start(self) -> None:
        """Start the server and wait until it is ready; data of an earlier start are kept."""
        if not self._data.exists():
            self._run(
                "initdb",
                "--no-sync",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--locale=C",
                "-D",
                str(self._data),
            )
        deadline = time.monotonic() + _START_TIMEOUT_SECONDS
        while True:
            self._process = self._spawn()
            if self._wait_ready(deadline):
                return
            # After a kill -9 the orphaned backends hold the shared memory for a moment; a port can
            # be taken between choosing and binding it.
            if time.monotonic() > deadline:
                raise PostgresMissingError(
                    f"PostgresServer: did not start: {self.read_log()[-2000:]}"
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """Shut the server down and close its sessions."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the postmaster with SIGKILL, as in a crash."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Start it again after ``stop`` or ``kill``, on the same port and data."""
        self.start()

    def freeze(self) -> None:
        """Stop all processes of the server with SIGSTOP: connections stay open without a
        response.
        """
        for pid in self._pids():
            _signal(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue a frozen server."""
        for pid in self._pids():
            _signal(pid, signal.SIGCONT)

    def remove(self) -> None:
        """Stop the server at once and delete its folder: nothing that a checkpoint would write is
        read again.
        """
        if self._process is not None:
            self.thaw()
            self._end(signal.SIGQUIT)
        for folder in {self._data.parent, self.folder}:
            shutil.rmtree(folder, ignore_errors=True)

    def read_log(self) -> str:
        """Return the log of the server."""
        path = self.folder / "log"
        if path.exists():
            return path.read_text(errors="replace")
        return ""

    def _require_process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise PostgresMissingError("PostgresServer: not running; call start() first")
        return self._process

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs.folder / program), *arguments]
        done = subprocess.run(  # noqa: S603  # a program of the installed package
            command,
            user=self._user,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise PostgresMissingError(
                f"{program} failed: {done.stderr.strip() or done.stdout.strip()}"
            )

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = self._settings | {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
        }
        command = [
            str(self._programs.folder / "postgres"),
            "-D",
            str(self._data),
            *(f"--{name}={value}" for name, value in settings.items()),
        ]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603  # a program of the installed package
                command,
                user=self._user,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # one system call, no lock taken, no Python state touched
                preexec_fn=_kill_with_parent(os.getpid()),  # noqa: PLW1509
            )

    def _wait_ready(self, deadline: float) -> bool:
        """Wait until the server accepts sessions; return false at the deadline.

        The pid file contains its status.
        """
        status = self._data / "postmaster.pid"
        process = self._require_process()
        while process.poll() is None and time.monotonic() < deadline:
            lines = _read_lines(status)
            if lines and lines[0].strip() == str(process.pid) and lines[-1].strip() == "ready":
                return True
            time.sleep(0.01)
        return False

    def _end(self, how: signal.Signals) -> None:
        process = self._require_process()
        process.send_signal(how)
        try:
            process.wait(_STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_STOP_TIMEOUT_SECONDS)
        self._process = None

    def _pids(self) -> Iterator[int]:
        """Yield the postmaster first, so that it starts no process while the others are stopped."""
        pid = self.pid
        yield pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        yield from map(int, children.read_text().split())


def _read_lines(path: Path) -> list[str]:
    """Read a file that the server writes, and removes when it ends."""
    try:
        return path.read_text().splitlines()
    except FileNotFoundError:
        return []


def _signal(pid: int, how: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, how)


def _kill_with_parent(parent: int) -> Callable[[], None] | None:
    """Build the function that the child runs first: it asks the kernel for a SIGKILL when the
    parent dies.
    """
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)

    def set_death_signal() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # the parent died before
        if os.getppid() != parent:
            os._exit(1)

    return set_death_signal


def _make_folder(parent: Path, user: str | None) -> Path:
    """Make a folder for a user, and remove stale ones beside it."""
    remove_stale_folders(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    if user is not None:
        shutil.chown(folder, user)
    return folder


def remove_stale_folders(parent: Path) -> None:
    """Remove the folders of servers whose test run was killed: the server ended with it, but its
    folder stayed.
    """
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.geteuid() or os.geteuid() == 0:
                last_used = max(
                    path.stat().st_mtime
                    for path in (
                        folder,
                        *folder.glob("data/pg_wal"),
                        *folder.glob("data/postmaster.pid"),
                    )
                )
                if time.time() - last_used > _STALE_SECONDS and not _is_alive(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_alive(folder: Path) -> bool:
    """Check whether the postmaster of a folder still runs."""
    status = folder / "data" / "postmaster.pid"
    if not status.exists():
        return False
    try:
        os.kill(int(status.read_text().split()[0]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # it runs as another user
        return True
    return True


def _has_room_in_memory(user: str | None) -> bool:
    return (
        _MEMORY.is_dir()
        and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES
        and os.access(_MEMORY, os.W_OK)
        and _can_enter(user, _MEMORY)
    )


def _find_temporary_folder(user: str | None) -> Path:
    """Find a folder for temporary files that ``user`` can enter."""
    # these folders are only homes of mkdtemp
    names = (tempfile.gettempdir(), "/tmp", "/var/tmp")  # noqa: S108
    for folder in map(Path, dict.fromkeys(names)):
        if _can_enter(user, folder):
            return folder
    raise PostgresMissingError(
        f"PostgresServer: user {user!r} can enter no folder for temporary files; set TMPDIR"
    )


def _can_enter(user: str | None, folder: Path) -> bool:
    command = ["/bin/ls", str(folder)]
    return (
        user is None
        or not subprocess.run(  # noqa: S603  # fixed
            command, user=user, capture_output=True, cwd="/", check=False
        ).returncode
    )
