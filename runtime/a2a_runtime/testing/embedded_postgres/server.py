"""One PostgreSQL server in a folder of its own: started, stopped, killed, frozen and started again as tests need it.

The server never outlives the test run: on Linux the kernel kills it together with the thread that started it (start it from the
main thread), elsewhere the context manager stops it. Its folder holds the data, the socket and the log, and goes with it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from a2a_runtime.testing.embedded_postgres.binaries import PostgresMissingError, find_programs, find_unprivileged_user

_START_TIMEOUT_SECONDS = 30.0
_STOP_TIMEOUT_SECONDS = 15.0
_PR_SET_PDEATHSIG = 1
_PREFIX = "a2a-pg-"
_STALE_SECONDS = 3600.0
_SETTINGS = {"max_connections": "200", "shared_buffers": "64MB", "log_min_messages": "warning"}


class PostgresServer:
    """A server on a free port of 127.0.0.1 and on a socket in its folder; ``with`` starts and removes it."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = _SETTINGS | dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._user = find_unprivileged_user()
        room = _find_temporary_folder(self._user)
        remove_stale_folders(Path(room))
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=room))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._programs = find_programs(self.folder, self._user)
        self._data = self.folder / "data"
        self.port = _find_free_port()

    @property
    def url(self) -> str:
        """Where to connect over TCP, as superuser, to the database that every server has."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return self._require_process().pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()

    def start(self) -> None:
        """Start it and wait until it answers; the data of an earlier start are still there."""
        if not self._data.exists():
            self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D", str(self._data))
        deadline = time.monotonic() + _START_TIMEOUT_SECONDS
        while True:
            self._process = self._spawn()
            if self._wait_ready(deadline):
                return
            # After a kill -9 the orphaned backends hold the shared memory for a moment; a port can be taken between choosing and binding it.
            if time.monotonic() > deadline:
                raise PostgresMissingError(f"PostgreSQL did not start: {self.read_log()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Shut it down in order, with its sessions cut off."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """``kill -9`` of the postmaster, as a crash would have it."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Start it again after ``stop`` or ``kill``, on the same port and data."""
        self.start()

    def freeze(self) -> None:
        """Stop every process of the server in its tracks: connections stay open and nothing answers."""
        for pid in self._pids():
            _signal(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server go on."""
        for pid in self._pids():
            _signal(pid, signal.SIGCONT)

    def remove(self) -> None:
        """Stop it, if it runs, and delete its folder."""
        if self._process is not None:
            self.thaw()
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read_log(self) -> str:
        """Return what the server wrote to its log."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _require_process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise PostgresMissingError("the server is not running: call start() first")
        return self._process

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs.folder / program), *arguments]
        done = subprocess.run(  # noqa: S603  # a program of the installed package
            command, user=self._user, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            raise PostgresMissingError(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = self._settings | {"port": str(self.port), "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)}
        command = [str(self._programs.folder / "postgres"), "-D", str(self._data), *(f"--{name}={value}" for name, value in settings.items())]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603  # a program of the installed package
                command,
                user=self._user,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_kill_with_parent(os.getpid()),  # noqa: PLW1509  # one system call, no lock taken, no Python state touched
            )

    def _wait_ready(self, deadline: float) -> bool:
        """Whether it accepts sessions before the deadline; a frozen or starting one says so in its pid file."""
        status = self._data / "postmaster.pid"
        process = self._require_process()
        while process.poll() is None and time.monotonic() < deadline:
            lines = status.read_text().splitlines() if status.exists() else []
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
        """Name the postmaster first, so that it starts nobody new while the others are stopped."""
        pid = self.pid
        yield pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        yield from map(int, children.read_text().split())


def _signal(pid: int, how: signal.Signals) -> None:
    """Signal a process that may have ended by itself in the meantime."""
    with suppress(ProcessLookupError):
        os.kill(pid, how)


def _kill_with_parent(parent: int) -> Callable[[], None] | None:
    """Make what the child does before it becomes the server: ask the kernel to be killed when its parent dies, however that happens."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return ask


def remove_stale_folders(parent: Path) -> None:
    """Remove the folders of servers whose test run was killed; they ended with it, but nobody was left to remove what they had."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.geteuid() or os.geteuid() == 0:
                last_used = max(path.stat().st_mtime for path in (folder, *folder.glob("data/pg_wal"), *folder.glob("data/postmaster.pid")))
                if time.time() - last_used > _STALE_SECONDS and not _is_alive(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_alive(folder: Path) -> bool:
    """Tell whether the postmaster of a folder still runs."""
    status = folder / "data" / "postmaster.pid"
    if not status.exists():
        return False
    try:
        os.kill(int(status.read_text().split()[0]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it runs as somebody else
    return True


def _find_temporary_folder(user: str | None) -> str:
    """Find a folder for temporary files that ``user`` can get into."""
    for folder in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")):  # noqa: S108  # only as homes of mkdtemp
        command = ["/bin/ls", folder]
        if user is None or not subprocess.run(command, user=user, capture_output=True, cwd="/", check=False).returncode:  # noqa: S603  # fixed
            return folder
    raise PostgresMissingError(f"user {user!r} can enter no folder for temporary files: set TMPDIR to one that it can")


def _find_free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
