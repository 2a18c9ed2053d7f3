"""Servers that take part in a contest: each a process of its own under uvicorn, all on one core,
away from the load.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Self

from load import Load, ask, drive

ROOT = Path(__file__).parents[1]
CARD = b"GET /.well-known/agent-card.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
SERVER_CORE = 0
LOAD_CORE = 1
CONTESTANTS = ROOT / "bench" / "contestants"
_PEERS = ROOT / "tests" / "peers" / "environments.py"


@dataclass(slots=True)
class Server:
    """Somebody who answers, or could: ``app`` in the folder of contestants, in some interpreter, on
    some store.
    """

    name: str
    app: str
    interpreter: str = sys.executable
    store: str = "memory"
    port: int = 0
    grpc: str = ""
    """Its address for gRPC, if it is to have one."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its settings."""
    started: float = 0.0
    _process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    async def __aenter__(self) -> Self:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        under = (
            "--loop",
            "uvloop",
            "--http",
            "httptools",
            "--no-access-log",
            "--log-level",
            "error",
        )
        begun = time.perf_counter()
        command = (
            self.interpreter,
            "-m",
            "uvicorn",
            f"{self.app}:app",
            "--app-dir",
            str(CONTESTANTS),
            "--port",
            str(self.port),
            *under,
        )
        self._process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, "A2A_STORE": self.store, "A2A_GRPC": self.grpc, **self.environment},
        )
        pin(self._process.pid, SERVER_CORE)
        while not self.started:
            assert self._process.returncode is None, f"{self.name} did not start"
            try:
                await ask(self.port, CARD)
            except OSError:
                await asyncio.sleep(0.005)
            else:
                self.started = time.perf_counter() - begun
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._process is not None
        self._process.terminate()
        await self._process.wait()

    async def load(self, requests: bytes, connections: int, seconds: float) -> Load:
        """Let many connections ask the same for a while."""
        return await self.take(Load(repeat(requests)), connections, seconds)

    async def take(self, load: Load, connections: int, seconds: float) -> Load:
        """Answer a load, and note what it costs."""
        before = self.cpu
        await drive(self.port, load, connections, seconds)
        load.cpu = self.cpu - before
        return load

    @property
    def cpu(self) -> float:
        """How many seconds of a core the process has used."""
        assert self._process is not None
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in threads) / 1e9

    @property
    def memory(self) -> int:
        """How many bytes are resident."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/statm").read_text()
        return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def pin(process: int, core: int) -> None:
    """Keep a process on one core, where the system can do that and has more than one."""
    if sys.platform == "linux" and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(process, {core})


def ours(store: str = "memory") -> Server:
    """Name our own server."""
    return Server(f"ours, {store.partition(':')[0]}", "ours", store=store)


def bare() -> Server:
    """Name the limit."""
    return Server("bare", "bare")


def in_host() -> Server:
    """Name our own server in the app of a host."""
    return Server("ours, in a host", "in_host")


def bare_sqlite(store: str, commits: str) -> Server:
    """Name the limit on a SQLite file, with ``grouped`` commits or with two for ``each``
    message.
    """
    return Server(
        f"bare, sqlite, commits {commits}",
        "bare_sqlite",
        store=store,
        environment={"BARE_COMMITS": commits},
    )


def bare_postgres(store: str) -> Server:
    """Name the limit on Postgres."""
    return Server("bare, postgresql, pipelines", "bare_postgres", store=store)


def sdk(store: str = "memory") -> Server:
    """Name the official SDK."""
    kind = store.partition(":")[0]
    return Server(
        f"a2a-sdk, {kind}{' (WAL, NORMAL)' if kind == 'sqlite' else ''}",
        "with_sdk",
        _interpreter("rival-a2a-sdk-1.3.0"),
        store,
    )


def fasta2a() -> Server:
    """Name the fastest rival."""
    return Server("fasta2a", "with_fasta2a", _interpreter("rival-fasta2a-2.1.1"))


def _interpreter(peer: str) -> str:
    """Install somebody's environment unless it is there, and say where its interpreter is."""
    return subprocess.run(
        [sys.executable, str(_PEERS), peer], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
