"""Proxy of TCP connections that a test can cut, in front of several servers in turn."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

_CHUNK_BYTES = 65536
_CLOSE_SECONDS = 5.0
_LINGER_ZERO = struct.pack("ii", 1, 0)
"""A socket that is closed with this resets its connection: the other side gets no orderly end."""


class CuttableProxy:
    """Server on a free port of this machine, whose connections lead to the next target that accepts
    one.
    """

    def __init__(self, targets: Sequence[tuple[str, int]]) -> None:
        self.targets = [*targets]
        self._turn = count()
        self._server: asyncio.Server | None = None
        self._sockets = set[asyncio.StreamWriter]()
        self._tasks = set[asyncio.Task[None]]()
        self.port = 0

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Cut all connections, and listen no more."""
        if self._server is not None:
            self._server.close()
        await self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_SECONDS)

    async def cut(self) -> int:
        """Reset all connections on both sides, and return their number."""
        cut = [*self._sockets]
        for writer in cut:
            sock = writer.get_extra_info("socket")
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            writer.transport.abort()
        return len(cut) // 2

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        first = next(self._turn)
        for number in range(len(self.targets)):
            with suppress(OSError):
                return await asyncio.open_connection(
                    *self.targets[(first + number) % len(self.targets)]
                )
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a callback of a server runs in a task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        target = await self._connect()
        if target is None:
            writer.transport.abort()
            return
        target_reader, target_writer = target
        pair = {writer, target_writer}
        self._sockets |= pair
        try:
            await asyncio.gather(_forward(reader, target_writer), _forward(target_reader, writer))
        finally:
            self._sockets -= pair
            for each in pair:
                each.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward until one side ends; then the other gets an end too."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()
