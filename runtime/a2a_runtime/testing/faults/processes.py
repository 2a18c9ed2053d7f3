"""Processes of an agent, as its operator starts them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

START_SECONDS = 120.0
_END_SECONDS = 60.0
_POLL_SECONDS = 0.02
_LOG_CHARACTERS = 3000
_ENTRY = "from a2a_gen.entry import main; main()"


class AgentProcess:
    """One process of ``a2a-gen``, which is ready as soon as its port accepts connections."""

    def __init__(
        self, words: Sequence[str], port: int, log: Path, environment: Mapping[str, str]
    ) -> None:
        self.port = port
        self._log = log
        paths = os.pathsep.join(each for each in sys.path if each)
        # a file, because a pipe that is full would stop the process
        with log.open("a", encoding="utf-8") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the words of a test
                [
                    sys.executable,
                    "-c",
                    _ENTRY,
                    *words,
                    "--port",
                    str(port),
                    "--log-level",
                    "warning",
                ],
                env={**os.environ, "PYTHONPATH": paths, **environment},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        """Wait for the port."""
        deadline = time.monotonic() + START_SECONDS
        while not _is_listening(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"fault deck: the agent did not start; its log ends with:\n{self.read_log()}"
                )
            time.sleep(_POLL_SECONDS)

    def limit_files(self, max_bytes: int | None) -> None:
        """Let writes beyond a size of any file fail, as on a full disk; ``None`` lifts the limit.

        On Linux only.
        """
        if sys.platform != "linux":
            raise ValueError(
                "fault deck: fill_disk: only Linux can limit the files of a running process; "
                "leave this fault out"
            )
        import resource  # noqa: PLC0415 - not there on every system

        # the soft limit only: after that, root alone may raise the hard one
        _, hard = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(
            self._process.pid,
            resource.RLIMIT_FSIZE,
            (hard if max_bytes is None else max_bytes, hard),
        )

    def freeze(self) -> None:
        """Stop the process without its knowledge."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process, if it lives."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop the process as a deployment does, and wait for its end."""
        self._process.terminate()
        self._process.wait(_END_SECONDS)

    def read_log(self) -> str:
        """Return the end of the log of all processes."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARACTERS:]


def _is_listening(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
