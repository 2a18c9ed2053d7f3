"""Recordings of requests and responses: made with a fixed clock and fixed ids, written as text,
read again to compare.

What the process takes from outside is fixed while a recording is made: the wall clock stands still
and goes on by one second with each exchange, and the random bits of ids are counted. So ids, times,
page tokens and tags are the same in every run. Nothing of a body is changed but what a scenario
says itself: the port of a receiver is ``PORT`` (``replaced``), the token that signs a webhook is
read, and OpenAPI documents are indented. Left out are headers that a client adds by itself, and
``date`` and ``server``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from zlib import crc32

import httpx
import pytest
from litestar import Litestar

from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.testing.asgi_transport import run_app

FOLDER_NAME = "recordings"
ADDRESS = "http://agent.example"
SECOND = 1_000_000_000
_YEAR_2096 = 4_000_000_000
_DAYS = 10_000
_GRPC_ADDRESS = re.compile(r'(?<=")([a-z]*:?/{0,2})127\.0\.0\.1:[0-9]+(?=")')
"""Address on a card for gRPC: the port is any free one."""
_ROUNDS = 200
_SECONDS = 30
_RANDOM_BYTES_OF_AN_ID = (8, 16)
_OF_THE_CLIENT = frozenset(
    ("host", "accept", "accept-encoding", "connection", "user-agent", "content-length")
)
_OF_THE_SERVER = frozenset(("date", "server"))

Headers = Sequence[tuple[str, str]]
Body = bytes | str | AsyncIterable[bytes] | None


class FixedTime:
    """A wall clock that goes on only when it is told to."""

    def __init__(self, day: int) -> None:
        self._nanoseconds = (_YEAR_2096 + day * 86_400) * SECOND

    def __call__(self) -> int:
        """Say how many nanoseconds have passed since 1970."""
        return self._nanoseconds

    def advance(self) -> None:
        """Go on by one second."""
        self._nanoseconds += SECOND


class CountedEnds:
    """The ends of identifiers, made of numbers."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers

    def pop(self) -> str:
        """Take the next one."""
        digits = f"{next(self._numbers) >> 2 | 1 << 63:016x}"
        return f"{digits[:4]}-{digits[4:]}"


@contextmanager
def fixed_inputs(name: str) -> Iterator[FixedTime]:
    """Fix the wall clock and the random bits of ids.

    Each recording has a day of its own, later than any real one: ids that the process has made
    before do not come out greater.
    """
    clock = FixedTime(crc32(name.encode()) % _DAYS)
    numbers = count(1)
    real = os.urandom

    def random_bytes(size: int) -> bytes:
        if size in _RANDOM_BYTES_OF_AN_ID:
            return next(numbers).to_bytes(size)
        return real(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time_ns", clock)
        patch.setattr(os, "urandom", random_bytes)
        patch.setattr(random, "_urandom", random_bytes)  # the same for the module ``secrets``
        patch.setattr(
            IdGenerator, "_pool", CountedEnds(numbers)
        )  # made of many random bytes at a time otherwise
        yield clock


@dataclass
class Exchange:
    """One request and its response."""

    name: str
    request_line: str
    request_headers: Headers
    request_body: str
    status: int = 0
    response_headers: Headers = ()
    response_body: str = ""

    def lines(self) -> Iterator[str]:
        """Write the exchange: one line each for the request line, the status, each header and each
        line of a body.
        """
        yield f"### {self.name}"
        yield f"> {self.request_line}"
        yield from (f"> {name}: {value}" for name, value in self.request_headers)
        yield from _body_lines(">", self.request_body)
        if self.status:
            yield f"< {self.status}"
        yield from (f"< {name}: {value}" for name, value in self.response_headers)
        yield from _body_lines("<", self.response_body)
        yield ""


@dataclass
class Recorder:
    """Sends requests to an app and keeps what was said."""

    client: httpx.AsyncClient
    clock: FixedTime
    exchanges: list[Exchange] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)

    async def exchange(
        self,
        name: str,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: Body = None,
        params: Headers = (),
    ) -> httpx.Response:
        """Send a request, read the whole response, and let the app do what is left to do."""
        self.clock.advance()
        request = self.client.build_request(
            method, path, headers=headers, content=content, params=params or None
        )
        body = await request.aread()
        sent_headers = [
            (key, value)
            for key, value in _texts(request.headers)
            if key.lower() not in _OF_THE_CLIENT
        ]
        exchange = Exchange(
            name,
            f"{method} {request.url.raw_path.decode('ascii')}",
            sent_headers,
            body.decode("utf-8", "backslashreplace"),
        )
        self._keep(exchange)
        async with asyncio.timeout(_SECONDS):
            response = await self.client.send(request)
        exchange.status = response.status_code
        exchange.response_body = response.content.decode("utf-8")
        exchange.response_headers = [
            (key, value)
            for key, value in _texts(response.headers)
            if key.lower() not in _OF_THE_SERVER
        ]
        await self.settle()
        return response

    def add(self, name: str, line: str, headers: Headers, body: str) -> None:
        """Keep a request that the app has sent itself."""
        sent_headers = [(key, value) for key, value in headers if key.lower() not in _OF_THE_CLIENT]
        self._keep(Exchange(name, line, sent_headers, body))

    def _keep(self, exchange: Exchange) -> None:
        assert exchange.name not in {each.name for each in self.exchanges}, (
            f"{exchange.name!r} is recorded twice"
        )
        self.exchanges.append(exchange)

    async def post(self, name: str, path: str, said: object, **headers: str) -> httpx.Response:
        """Post JSON, or bytes as they are."""
        content = (
            said
            if isinstance(said, bytes)
            else json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
        )
        sent = {
            "content-type": "application/json",
            **{key.replace("_", "-"): value for key, value in headers.items()},
        }
        return await self.exchange(name, "POST", path, headers=sent, content=content)

    async def get(self, name: str, path: str, **headers: str) -> httpx.Response:
        """Read something."""
        return await self.exchange(
            name,
            "GET",
            path,
            headers={key.replace("_", "-"): value for key, value in headers.items()},
        )

    async def settle(self) -> None:
        """Let everything happen that can happen without time."""
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)

    def text(self) -> str:
        """Write everything that was recorded."""
        text = "\n".join(line for exchange in self.exchanges for line in exchange.lines())
        for found, placeholder in self.replaced.items():
            text = text.replace(found, placeholder)
        return _GRPC_ADDRESS.sub(r"\g<1>127.0.0.1:PORT", text)


@asynccontextmanager
async def record_app(app: Litestar, clock: FixedTime) -> AsyncGenerator[Recorder, None]:
    """Serve an app in this process and record what it says."""
    async with (
        run_app(app) as transport,
        httpx.AsyncClient(base_url=ADDRESS, transport=transport) as client,
    ):
        yield Recorder(client, clock)


def _texts(headers: httpx.Headers) -> list[tuple[str, str]]:
    return [(key.decode("latin-1"), value.decode("latin-1")) for key, value in headers.raw]


def _body_lines(mark: str, body: str) -> Iterator[str]:
    if body:
        yield mark
        yield from (
            f"{mark} {line}".rstrip(" ") if not line else f"{mark} {line}"
            for line in body.replace("\r", "\\r").split("\n")
        )
