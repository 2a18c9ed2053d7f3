"""The real PgBouncer, from Debian's packages."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

from peers.debian import unpack

from a2a_runtime.testing.ports import find_free_port

PACKAGES = ("pgbouncer", "libevent-2.1-7", "libc-ares2")
CONFIG = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
"""


class Pooler:
    """A pooler that runs."""

    def __init__(self, url: str, config: Path, process: subprocess.Popen[bytes]) -> None:
        self.url = url
        self._config = config
        self._process = process

    def turn_to(self, url: str) -> None:
        """Send the statements of all clients, which stay connected, to another server from now
        on.
        """
        old = self._config.read_text(encoding="utf-8")
        new = urlsplit(url)
        self._config.write_text(
            re.sub(r"host=\S+ port=\d+", f"host={new.hostname} port={new.port}", old),
            encoding="utf-8",
        )
        self._process.send_signal(signal.SIGHUP)


@contextmanager
def run_pgbouncer(url: str) -> Iterator[str]:
    """Run it in transaction mode in front of a server, and yield the URL of a database behind
    it.
    """
    with run_pooler(url) as pooler:
        yield pooler.url


@contextmanager
def run_pooler(url: str) -> Iterator[Pooler]:
    """The same, to turn it to another server."""
    root = unpack("usr/sbin/pgbouncer", *PACKAGES)
    target = urlsplit(url)
    listen_port = find_free_port()
    with TemporaryDirectory() as folder:
        config = Path(folder) / "pgbouncer.ini"
        config.write_text(
            CONFIG.format(
                host=target.hostname,
                port=target.port,
                listen_port=listen_port,
                user=target.username or "postgres",
            ),
            encoding="utf-8",
        )
        Path(folder).chmod(0o755)
        libraries = str(next((root / "usr/lib").glob("*-linux-gnu")))
        binary = Path(folder) / "pgbouncer"
        binary.write_bytes((root / "usr/sbin/pgbouncer").read_bytes())
        binary.chmod(0o755)
        for library in Path(libraries).glob("*.so*"):
            (Path(folder) / library.name).write_bytes(library.read_bytes())
        user = "nobody" if os.geteuid() == 0 else None
        environment = {"LD_LIBRARY_PATH": folder}
        process = subprocess.Popen(
            [binary, config],
            env=environment,
            user=user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_for(listen_port, process)
            login, _, _ = target.netloc.rpartition("@")
            yield Pooler(
                urlunsplit(target._replace(netloc=f"{login}@127.0.0.1:{listen_port}")),
                config,
                process,
            )
        finally:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while True:
        assert process.poll() is None, "pgbouncer has not started"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
