"""Pooler in front of a Postgres server, as far as a client can tell: it announces another process
than the one that executes its statements.

    async with FakePooler("postgresql://…") as pooler:
        PostgresStore(pooler.url)        # refused: no notification would arrive

It forwards everything else, one connection for each client. How a pooler in transaction mode breaks
what needs a session is shown by the real one.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

_SSL_REQUEST = (8).to_bytes(4) + (80877103).to_bytes(4)
_KEY_DATA = b"K"
_READY = b"Z"
_HEAD_BYTES = 5


class FakePooler:
    """Server on a free port of this machine."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._stack = AsyncExitStack()
        self._tasks = set[asyncio.Task[None]]()
        self.url = ""

    async def __aenter__(self) -> Self:
        server = await self._stack.enter_async_context(
            await asyncio.start_server(self._serve, "127.0.0.1", 0)
        )
        user, _, _ = self._target.netloc.rpartition("@")
        port = server.sockets[0].getsockname()[1]
        self.url = urlunsplit(
            self._target._replace(
                netloc=f"{user}@127.0.0.1:{port}" if user else f"127.0.0.1:{port}"
            )
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._stack.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with suppress(OSError, asyncio.IncompleteReadError):
            first = await reader.readexactly(len(_SSL_REQUEST))
            if first == _SSL_REQUEST:
                writer.write(b"N")
                first = b""
            server_reader, server_writer = await asyncio.open_connection(
                self._target.hostname, self._target.port
            )
            server_writer.write(first)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_forward(reader, server_writer))
                    group.create_task(_announce_and_forward(server_reader, writer))
            finally:
                server_writer.close()
                writer.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _announce_and_forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward the messages of the server; until it is ready for the first statement, replace the
    process that it announces.
    """
    kind = b""
    with suppress(OSError, asyncio.IncompleteReadError):
        while kind != _READY:
            head = await reader.readexactly(_HEAD_BYTES)
            kind = head[:1]
            length = int.from_bytes(head[1:])
            body = await reader.readexactly(length - 4)
            if kind == _KEY_DATA:
                body = (int.from_bytes(body[:4]) + 1).to_bytes(4) + body[4:]
            writer.write(head + body)
    await _forward(reader, writer)
