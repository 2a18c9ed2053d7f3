"""A proxy of TCP that cuts connections, as networks do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


class CuttingProxy:
    """Passes bytes on to a port of this machine; the next answers end after so many bytes each, all
    others are whole.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.cuts: list[int] = []
        self.open = 0
        self.url = ""

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[CuttingProxy, None]:
        """Listen on a free port."""
        server = await asyncio.start_server(self._relay_connection, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _relay_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.open += 1
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._port)
        asking = asyncio.create_task(self._ask(reader, up_writer))
        try:
            with suppress(ConnectionError):
                await self._answer(up_reader, writer)
        finally:
            asking.cancel()
            for each in (writer, up_writer):
                each.transport.abort()
            self.open -= 1

    @staticmethod
    async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left: int | None = None
        while data := await reader.read(65536):
            if left is None and self.cuts and b"text/event-stream" in data:
                left = self.cuts.pop(0)
            piece = data if left is None else data[:left]
            writer.write(piece)
            await writer.drain()
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    await asyncio.sleep(0.01)  # what was sent arrives before the end
                    return
