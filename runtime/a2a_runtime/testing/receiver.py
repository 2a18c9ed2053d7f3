"""A webhook receiver on a real socket of this machine, which answers as a test wants: late, wrongly, or not at all.

async with Receiver(lambda call: Reply(503 if call.number == 1 else 204)) as receiver:
    …                                        # deliver something to receiver.url
    assert [call.json() for call in receiver.calls] == […]
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self

_PIECE = 1024


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and the how many-eth it was; names of headers are in lower case."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> object:
        """Read the body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered, after how many seconds; the body in pieces with a pause before each."""

    status: int = HTTPStatus.NO_CONTENT
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    after: float = 0.0
    pause: float = 0.0
    hangs_up: bool = False  # in place of an answer


class Receiver:
    """Listens on a free port; what has come in is in ``calls``."""

    def __init__(self, answer: Callable[[Call], Reply] | None = None, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.calls: list[Call] = []
        self._answer = answer or _thank
        self._tls, self.port = tls, port
        self._connections: set[asyncio.StreamWriter] = set()
        self._arrived, self._over = asyncio.Event(), asyncio.Event()

    @property
    def url(self) -> str:
        """Where to call."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/hook"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.close()
        self._over.set()
        for connection in self._connections:
            connection.transport.abort()
        while self._connections:  # noqa: ASYNC110  # it takes them a round or two of the loop
            await asyncio.sleep(0)
        await self._server.wait_closed()

    async def received(self, count: int, seconds: float = 10.0) -> list[Call]:
        """Wait until there were that many calls."""
        async with asyncio.timeout(seconds):
            while len(self.calls) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return self.calls

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, OSError):
            pass  # the caller has gone
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, path, _ = first.split(" ")
        call = Call(len(self.calls) + 1, method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))
        self.calls.append(call)
        self._arrived.set()
        reply = self._answer(call)
        await self._pause(reply.after)
        if reply.hangs_up:
            return False
        await self._write(writer, reply)
        return True

    async def _write(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        length = {} if reply.status == HTTPStatus.NO_CONTENT else {"Content-Length": str(len(reply.body))}
        headers = [f"{name}: {value}" for name, value in {**length, **reply.headers}.items()]
        writer.write("\r\n".join([f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}", *headers, "", ""]).encode("latin-1"))
        for start in range(0, len(reply.body), _PIECE):
            await self._pause(reply.pause)
            writer.write(reply.body[start : start + _PIECE])
            await writer.drain()
        await writer.drain()

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the receiver lives."""
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._over.wait()


def _thank(_call: Call) -> Reply:
    return Reply()
