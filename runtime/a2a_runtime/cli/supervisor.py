"""Server processes of ``a2a-gen serve``: several on one port, or one that starts again when the
code changes.

    parent   binds the port, starts the processes, replaces one that has ended
    child    the same command; ``INHERITED`` in its environment names the socket,
             and the pipe to which it writes when it has started

A process that ends before it has started ends the parent too, with its exit code: the configuration
is wrong, and the next one would do the same. With ``--reload`` the parent waits for the next change
instead.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

log = logging.getLogger(__name__)

INHERITED = "_A2A_GEN_SERVE"
"""Variable of a child: the numbers of its socket and of its pipe."""

_POLL_SECONDS = 0.1
_RESTART_SECONDS = 1.0
"""Shortest time between two starts of a process that ends again and again."""
_WATCHED = (".py", ".toml", ".json", ".yaml", ".yml", ".env")


class InheritedFiles(NamedTuple):
    """Files that a child has from its parent."""

    listening: socket.socket
    ready: int

    @classmethod
    def from_environment(cls) -> InheritedFiles | None:
        """Take over the socket and the pipe of the parent; ``None`` in a process that has none."""
        numbers = os.environ.pop(INHERITED, None)
        if numbers is None:
            return None
        listening, ready = map(int, numbers.split(","))
        return cls(socket.socket(fileno=listening), ready)

    def report_start(self) -> None:
        """Tell the parent that the server has started."""
        os.write(self.ready, b"1")
        os.close(self.ready)


class _Child:
    """One server process."""

    def __init__(self, command: Sequence[str], listening: socket.socket) -> None:
        self._ready, ready = os.pipe()
        os.set_blocking(self._ready, False)
        environment = {**os.environ, INHERITED: f"{listening.fileno()},{ready}"}
        self.process = subprocess.Popen(  # noqa: S603 - this program again
            command, env=environment, pass_fds=(listening.fileno(), ready)
        )
        os.close(ready)
        self._started_at = time.monotonic()
        self._has_started = False

    @property
    def has_started(self) -> bool:
        """True as soon as the server has started."""
        if not self._has_started:
            with suppress(BlockingIOError):
                self._has_started = os.read(self._ready, 1) == b"1"
        return self._has_started

    @property
    def may_restart(self) -> bool:
        """True if it has run for long enough to be replaced at once."""
        return time.monotonic() - self._started_at >= _RESTART_SECONDS

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._ready)


class Supervisor:
    """Starts and replaces the processes until it is stopped."""

    def __init__(
        self,
        command: Sequence[str],
        listening: socket.socket,
        processes: int,
        *,
        is_reloading: bool = False,
    ) -> None:
        self._command = command
        self._listening = listening
        self._processes = processes
        self._is_reloading = is_reloading
        self._children: list[_Child] = []
        self._stop = threading.Event()
        self._has_changed = threading.Event()

    def run(self) -> int:
        """Supervise; return the exit code."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._on_signal)
        if self._is_reloading:
            watch_files(Path.cwd(), self._has_changed.set, self._stop)
        self._children = [self._start() for _ in range(self._processes)]
        code = 0
        while not self._stop.wait(_POLL_SECONDS):
            if self._has_changed.is_set():
                self._has_changed.clear()
                log.info("files have changed: starting again")
                self._end()
                self._children = [self._start() for _ in range(self._processes)]
            elif (found := self._replace_ended()) is not None:
                code = found
                break
        self._stop.set()
        self._end()
        return code

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop.set()

    def _start(self) -> _Child:
        return _Child(self._command, self._listening)

    def _replace_ended(self) -> int | None:
        """Replace the processes that have ended; return an exit code if that is of no use."""
        for index, child in enumerate(self._children):
            code = child.process.poll()
            if code is None or (self._is_reloading and not child.has_started):
                continue
            if not child.has_started:
                if code > 0:
                    return code
                return 2
            if child.may_restart:
                log.warning(
                    "server process %d has ended (%d): starting another", child.process.pid, code
                )
                child.close()
                self._children[index] = self._start()
        return None

    def _end(self) -> None:
        """Stop all processes, and wait until they have ended by themselves."""
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        for child in self._children:
            child.process.wait()
            child.close()
        self._children = []


def watch_files(folder: Path, on_change: Callable[[], None], stop: threading.Event) -> None:
    """Watch the code and the configuration below a folder, in a thread."""
    # imported only here: it comes with the extra, for development only
    from watchfiles import DefaultFilter, watch  # noqa: PLC0415

    class Watched(DefaultFilter):
        """Files of code and configuration, outside of caches and environments."""

        def __call__(self, change: object, path: str) -> bool:
            if not path.endswith(_WATCHED):
                return False
            # the type of a change is an enum of its own
            return super().__call__(change, path)  # type: ignore[arg-type]

    def run() -> None:
        for _ in watch(folder, watch_filter=Watched(), stop_event=stop, raise_interrupt=False):
            on_change()

    threading.Thread(target=run, name="a2a-reload", daemon=True).start()


def build_command(arguments: Sequence[str]) -> list[str]:
    """Build the command of a child."""
    return [sys.executable, "-m", "a2a_gen", "serve", *arguments]
