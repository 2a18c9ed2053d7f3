"""Load on an HTTP server, from raw connections that ask again as soon as they are answered."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat

import httptools

Sleep = asyncio.Future[None]


@dataclass(slots=True)
class Load:
    """What many connections have asked and heard; times are in seconds."""

    requests: Iterator[bytes]
    took: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    """From each request to the first piece of its answer."""
    later: list[float] = field(default_factory=list)
    """The same without the first request of each connection, which also waits for the connection to
    be accepted.
    """
    gaps: list[float] = field(default_factory=list)
    """Between the pieces of one answer."""
    keep: Callable[[bytes], None] | None = None
    end: float = 0.0
    most: float = float("inf")
    seconds: float = 0.0
    cpu: float = 0.0
    """What the server has used of a core meanwhile."""

    @property
    def rate(self) -> float:
        """Answers in a second."""
        return len(self.took) / self.seconds

    @property
    def cost(self) -> float:
        """What the server has used of a core for an answer."""
        return self.cpu / len(self.took)

    def percentile(self, of: list[float], part: int = 99) -> float:
        """Below which so many hundredths of some times are, in milliseconds."""
        if len(of) > 1:
            return statistics.quantiles(of, n=100)[part - 1] * 1000
        return 0.0


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load, over: Sleep) -> None:
        self._load = load
        self._over = over
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._asked = self._heard = 0.0
        self._is_accepted = False

    # Transports of uvloop do not inherit from asyncio's classes.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Ask for the first time."""
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Hear something."""
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        """Notice a server that hangs up."""
        if not self._over.done():
            self._over.set_exception(error or ConnectionError("the server has hung up"))

    def on_body(self, body: bytes) -> None:
        """Hear a piece of an answer."""
        now = time.perf_counter()
        if self._body:
            self._load.gaps.append(now - self._heard)
        else:
            self._load.first.append(now - self._asked)
            if self._is_accepted:
                self._load.later.append(now - self._asked)
        self._heard = now
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Have heard a whole answer, and ask again unless it is enough."""
        load = self._load
        now = time.perf_counter()
        self._is_accepted = True
        load.took.append(now - self._asked)
        body = b"".join(self._body)
        self._body = []
        if self._parser.get_status_code() != 200 or b'"error"' in body:  # noqa: PLR2004
            self._over.set_exception(ValueError(body.decode()))
        elif now >= load.end or len(load.took) >= load.most:
            if not self._over.done():
                self._over.set_result(None)
        else:
            if load.keep is not None:
                load.keep(body)
            self._ask()

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        self._transport.write(next(self._load.requests))


async def drive(port: int, load: Load, connections: int, seconds: float) -> Load:
    """Keep so many connections busy for a while, or until the load has its most."""
    loop = asyncio.get_running_loop()
    begun = time.perf_counter()
    load.end = begun + seconds
    overs: list[Sleep] = [loop.create_future() for _ in range(connections)]
    lines = [
        await loop.create_connection(lambda over=over: Line(load, over), "127.0.0.1", port)
        for over in overs
    ]
    await asyncio.gather(*overs)
    load.seconds = time.perf_counter() - begun
    for transport, _ in lines:
        transport.abort()
    return load


async def ask(port: int, request: bytes) -> bytes:
    """Ask once."""
    heard: list[bytes] = []
    await drive(port, Load(repeat(request), keep=heard.append, most=2), 1, 60)
    return heard[0]
