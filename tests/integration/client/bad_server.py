"""A server that says what it is told to, byte by byte, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from a2a_runtime.client import JSONRPC, A2AClient, ClientOptions, Pin, ResponseLimits, RetryPolicy

NEW = Pin("v1_0", JSONRPC)


def wrap_result(result: bytes) -> bytes:
    """Put a result into an envelope."""
    return b'{"jsonrpc":"2.0","id":"1","result":%b}' % result


def answer(
    body: bytes,
    status: str = "200 OK",
    media_type: str = "application/json",
    length: int | None = None,
) -> bytes:
    """Write an answer of HTTP; a length that is larger than the body is a promise that is not
    kept.
    """
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: "
        f"{len(body) if length is None else length}\r\n\r\n"
    )
    return head.encode() + body


def frames(*results: bytes) -> bytes:
    """Write frames in envelopes."""
    return b"".join(b"data: %b\n\n" % wrap_result(each) for each in results)


def stream(*results: bytes, more: bytes = b"") -> bytes:
    """Write a stream of results in envelopes that ends when the connection does."""
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        + frames(*results)
        + more
    )


class BadServer:
    """Answers each request with the next of some texts, and then closes the connection; the last
    one is for all that follow.
    """

    def __init__(self, *answers: bytes | None, keyed: bool | None = None) -> None:
        self._keyed = keyed
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.url = ""
        self._serving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def client(
        self,
        pin: Pin = NEW,
        *,
        attempts: int = 3,
        patience: float = 5.0,
        silence: float = 5.0,
        resumes: float = 5.0,
        limits: ResponseLimits | None = None,
    ) -> AsyncGenerator[A2AClient, None]:
        """Serve, and give a client that knows how to talk to it."""
        server = await asyncio.start_server(self._start_serving, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        retries = RetryPolicy(attempts, 0.01, idempotent=self._keyed, stream_seconds=resumes)
        options = ClientOptions(
            pin=pin,
            interface_url=self.url,
            retry_policy=retries,
            stream_idle_timeout=silence,
            limits=limits or ResponseLimits(),
        )
        try:
            async with A2AClient(self.url, timeout=patience, options=options) as client:
                yield client
        finally:
            server.close()
            for each in self._serving:
                each.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    def _start_serving(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.create_task(self._serve_connection(reader, writer)))

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await self._answer_connection(reader, writer)
        finally:
            writer.close()

    async def _answer_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line.partition(b":")[2])
                    for line in head.splitlines()
                    if line.lower().startswith(b"content-length:")
                ),
                0,
            )
            self.requests.append(head + await reader.readexactly(length))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if answer is None:
                await asyncio.sleep(30)
            writer.write(answer or b"")
            await writer.drain()

    def headers(self, place: int) -> dict[bytes, bytes]:
        """Give the headers of a request."""
        pairs = (
            line.partition(b":")
            for line in self.requests[place].partition(b"\r\n\r\n")[0].splitlines()[1:]
        )
        return {name.lower(): value.strip() for name, _, value in pairs}


@asynccontextmanager
async def serve_connections(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[str, None]:
    """Serve each connection by a function, and yield the URL; all connections are closed at the
    end.
    """
    running: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await handle(reader, writer)
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(
        lambda *streams: running.add(asyncio.create_task(run(*streams))), "127.0.0.1", 0
    )
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
