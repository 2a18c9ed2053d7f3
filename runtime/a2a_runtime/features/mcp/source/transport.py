"""Transports to an MCP server: a command over stdio, or a URL over streamable HTTP."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from a2a_runtime.base.caller import Caller

Streams: TypeAlias = tuple[Any, Any]
"""The streams of a transport: messages to read, messages to write."""
Transport: TypeAlias = AbstractAsyncContextManager[Streams]
HeaderFactory: TypeAlias = Callable[[Caller | None], Mapping[str, str]]
"""Makes the headers of a request: of a call with its caller, of any other request with ``None``."""

current_headers: ContextVar[Mapping[str, str] | None] = ContextVar("mcp_headers", default=None)
"""Headers of the call that is being made."""

_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Command:
    """A server as a child process.

    Of our environment it gets ``PATH``, ``HOME`` and their like, and ``env``.
    """

    arguments: Sequence[str]
    env: Mapping[str, str] | None = None
    cwd: str | None = None

    def __str__(self) -> str:
        return shlex.join(self.arguments)

    @property
    def has_contexts(self) -> bool:
        """False: a question that the server asks within a call names no call."""
        return False

    def set_caller(self, caller: Caller) -> None:
        """Ignore the caller: the process is the same for all."""

    @asynccontextmanager
    async def connect(self, on_lost: Callable[[], None]) -> AsyncGenerator[Streams]:
        """Start the process; ``on_lost`` is called as soon as it has ended."""
        command, *arguments = self.arguments
        params = StdioServerParameters(
            command=command, args=arguments, env=dict(self.env or {}), cwd=self.cwd
        )
        async with stdio_client(params) as (incoming, outgoing), anyio.create_task_group() as tasks:
            watched, received = anyio.create_memory_object_stream[Any](0)

            async def pump() -> None:
                async with watched:
                    async for message in incoming:
                        await watched.send(message)
                on_lost()

            tasks.start_soon(pump)
            async with received:
                yield received, outgoing
                tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class Url:
    """A server at a URL."""

    url: str
    headers: Mapping[str, str] | HeaderFactory | None = None

    def __str__(self) -> str:
        return self.url

    @property
    def has_contexts(self) -> bool:
        """True: a question arrives in the response of its call."""
        return True

    def build_headers(self, caller: Caller | None) -> Mapping[str, str]:
        """Build the headers of a request."""
        if callable(self.headers):
            return self.headers(caller)
        return self.headers or {}

    def set_caller(self, caller: Caller) -> None:
        """Set the headers of the call that follows.

        They are built here: an error of their function must not end the connection.
        """
        current_headers.set(self.build_headers(caller))

    @asynccontextmanager
    async def connect(self, on_lost: Callable[[], None]) -> AsyncGenerator[Streams]:
        """Connect.

        A response has no limit in time, since the caller of a call may be asked; a lost one ends
        the connection by itself.
        """
        del on_lost
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
        async with (
            httpx2.AsyncClient(timeout=timeout, auth=_Headers(self)) as client,
            streamable_http_client(self.url, http_client=client) as streams,
        ):
            yield streams


class _Headers(httpx2.Auth):
    """Adds the headers of the operator to each request."""

    def __init__(self, server: Url) -> None:
        self._server = server

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        """Add the headers."""
        headers = current_headers.get()
        request.headers.update(self._server.build_headers(None) if headers is None else headers)
        yield request


def is_url(server: str) -> bool:
    """Return whether a server is given by a URL rather than by a command."""
    return server.startswith(("http://", "https://"))


def parse_server(
    server: str | Sequence[str],
    env: Mapping[str, str] | None,
    headers: Mapping[str, str] | HeaderFactory | None,
) -> Command | Url:
    """Parse the address of a server: a URL, or a command as one text or as its words."""
    if isinstance(server, str) and is_url(server):
        if env:
            raise ValueError(f"McpSource {server}: env is for a command; pass headers to a URL")
        return Url(server, headers)
    words = shlex.split(server) if isinstance(server, str) else [*server]
    if not words:
        raise ValueError(
            "McpSource: no server; pass a command, such as 'npx -y "
            "@modelcontextprotocol/server-everything', or a URL"
        )
    if headers:
        raise ValueError(f"McpSource {words[0]}: headers are for a URL; pass env to a command")
    return Command(words, env)
