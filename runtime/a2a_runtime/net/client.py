"""GET and POST to addresses that strangers name, with limits of time and size.

async with GuardedDialler(Policy.of(settings)) as dialler:
    dialler.check(url)                              as far as that is possible without a call
    content = await dialler.fetch(url)
    answer = await dialler.post(url, headers, body)
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from ssl import SSLContext
from types import TracebackType
from typing import Protocol, Self

import httpcore
import httpx

from a2a_runtime.net.policy import Address, OutboundPolicy, check_address
from a2a_runtime.net.target import (
    AddressRefusedError,
    InvalidOutboundResponseError,
    OutboundConnectError,
    OutboundTarget,
    OutboundTimeoutError,
    OutboundTooLargeError,
    UrlRefusedError,
    parse_target,
)
from a2a_runtime.settings import PREFIX, Settings

# Connections that are kept for the next call to the same place.
#
# Not httpcore's own pool: that one looks at every connection, and counts the idle ones for each of them, whenever a call begins or ends. With 50
# webhooks this took the event loop 5 ms for each call (134 calls/s against 806), and whoever else lives on the loop waits for it.
#

_IDLE_SECONDS = 15.0
_MAX_IDLE = 32


class ConnectionPool:
    """Lends connections, one call at a time for each; a few of those that are not in use stay open for a while."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, ssl_context: SSLContext) -> None:
        self._backend, self._ssl_context = backend, ssl_context
        self._idle: OrderedDict[httpcore.AsyncHTTPConnection, httpcore.Origin] = OrderedDict()  # the one used last is last

    @asynccontextmanager
    async def acquire(self, origin: httpcore.Origin) -> AsyncGenerator[httpcore.AsyncHTTPConnection, None]:
        """Have a connection for one call."""
        connection = await self._take_idle(origin) or httpcore.AsyncHTTPConnection(
            origin, self._ssl_context, keepalive_expiry=_IDLE_SECONDS, network_backend=self._backend
        )
        try:
            yield connection
        finally:
            if connection.is_idle() and not connection.is_closed():
                self._idle[connection] = origin
                await self._evict_oldest()
            else:
                await connection.aclose()

    async def close(self) -> None:
        """Close all that are kept."""
        while self._idle:
            await self._idle.popitem()[0].aclose()

    async def _take_idle(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection | None:
        for connection in [each for each, to in reversed(self._idle.items()) if to == origin]:
            del self._idle[connection]
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def _evict_oldest(self) -> None:
        """Close the one that nobody has used for the longest time, if it is of no more use or one too many."""
        oldest = next(iter(self._idle))
        if len(self._idle) > _MAX_IDLE or oldest.has_expired():
            del self._idle[oldest]
            await oldest.aclose()


# The addresses of a name: a port, so that whoever has a resolver of their own, or a test, can hand it in.


class Resolver(Protocol):
    """Finds addresses."""

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Find the addresses of a host, the preferred one first; ``OSError`` when it has none."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class SystemResolver:
    """Asks the machine's own resolver, in threads of its own: a name server that does not answer must hold up nobody else."""

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, "a2a-resolver")

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Ask."""
        # As bytes, or Python would encode the name once more, and raise something else for one that it does not like.
        question = (host.encode("ascii"), port, socket.AF_UNSPEC, socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, socket.getaddrinfo, *question)
        return list(dict.fromkeys(ip_address(str(place[0])) for *_, place in found))

    async def close(self) -> None:
        """Ask nothing more; what was asked is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


# Opening connections, to judged addresses only.


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once and connects to what was judged; the name is used again only for TLS and the Host header.

    One address that is not called is enough to refuse a name: its owner means no good, or has made a mistake that would show every other time.
    """

    def __init__(self, policy: OutboundPolicy, resolver: Resolver, *, encrypted: bool) -> None:
        self._policy, self._resolver, self._encrypted = policy, resolver, encrypted
        # Checkers take the class that httpcore has in place of this one where anyio is missing, which httpx never lets be.
        self._tcp: httpcore.AsyncNetworkBackend = httpcore.AnyIOBackend()  # pyright: ignore[reportAttributeAccessIssue]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the port of httpcore says so
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in await self._resolve_allowed(host, port):
            try:
                return await self._tcp.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or OutboundConnectError(f"{host} has no address")

    async def _resolve_allowed(self, host: str, port: int) -> Sequence[Address]:
        for address in (addresses := await self._resolve(host, port)):
            refusal = check_address(address, self._policy, is_encrypted=self._encrypted)
            if refusal is not None:
                raise AddressRefusedError(f"{host} leads to {refusal}")
        return addresses

    async def _resolve(self, host: str, port: int) -> Sequence[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            pass
        try:
            return await self._resolver.resolve(host, port)
        except OSError as error:
            raise OutboundConnectError(f"{host} cannot be resolved: {error}") from error


_REDIRECT_STATUSES = frozenset(
    {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND, HTTPStatus.SEE_OTHER, HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT}
)
_CONNECTION_ERRORS = (httpcore.NetworkError, httpcore.ProtocolError, OSError)
_TIMEOUT_ERRORS = (httpcore.TimeoutException, TimeoutError)
_DEFAULT_HEADERS = {"User-Agent": "a2a-runtime", "Accept": "*/*", "Accept-Encoding": "identity"}
_DRAIN_BYTES, _DRAIN_SECONDS = 65_536, 0.5


@dataclass(frozen=True, slots=True)
class OutboundLimits:
    """How much of an answer is taken, and how long it may take; in bytes and seconds."""

    connect_timeout_seconds: float = 5.0  # for each address of a host
    timeout_seconds: float = 15.0  # for the whole call, redirects included
    max_bytes: int = 10_000_000
    max_redirects: int = 5

    @classmethod
    def from_settings(cls, settings: Settings) -> OutboundLimits:
        """Read what the operator has set."""
        return cls(timeout_seconds=settings.outbound_timeout, max_bytes=settings.outbound_max_bytes)


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """What was answered to a POST, without its body; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]


class GuardedHttpClient:
    """Calls what the policy permits, and nothing else."""

    def __init__(
        self,
        policy: OutboundPolicy | None = None,
        limits: OutboundLimits | None = None,
        *,
        resolver: Resolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._policy, self._limits = policy or OutboundPolicy(), limits or OutboundLimits()
        self._resolver = resolver or SystemResolver()
        ssl_context = ssl_context or httpx.create_ssl_context()  # read once: else every connection reads the file of authorities
        self._pools = {
            scheme: ConnectionPool(GuardedBackend(self._policy, self._resolver, encrypted=scheme == "https"), ssl_context)
            for scheme in ("https", "http")
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        for connections in self._pools.values():
            await connections.close()
        await self._resolver.close()

    def check_url(self, url: str) -> None:
        """Refuse a URL that can never be called (``UrlRefusedError``)."""
        parse_target(url, self._policy)

    async def fetch(self, url: str, max_bytes: int | None = None) -> bytes:
        """Get the content behind a URL, or raise what speaks against it (``DialError``); each redirect is judged like the URL itself."""
        limit = self._limits.max_bytes if max_bytes is None else max_bytes
        async with self._limit_time(url):
            for _ in range(self._limits.max_redirects + 1):
                async with self._open_response("GET", target := parse_target(url, self._policy), _DEFAULT_HEADERS) as response:
                    headers = _decode_headers(response)
                    if response.status in _REDIRECT_STATUSES and "location" in headers:
                        url = _join_url(url, headers["location"])
                        continue
                    if not HTTPStatus(HTTPStatus.OK) <= response.status < HTTPStatus.MULTIPLE_CHOICES:
                        raise InvalidOutboundResponseError(f"{target} answered {response.status}")
                    if headers.get("content-encoding", "identity") != "identity":
                        raise InvalidOutboundResponseError(f"{target} answered with an encoding that was not asked for")
                    return await _read_content(response, limit, target)
        raise InvalidOutboundResponseError("there were too many redirects")

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> OutboundResponse:
        """Send something, and give back what was answered, whatever it is; redirects are not followed."""
        target = parse_target(url, self._policy)
        async with self._limit_time(url), self._open_response("POST", target, {**_DEFAULT_HEADERS, **headers}, body) as response:
            # What counts has been said. The rest is only read so that the connection can be used again.
            with suppress(OutboundTooLargeError, *_CONNECTION_ERRORS, *_TIMEOUT_ERRORS):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await _read_content(response, _DRAIN_BYTES, target)
            return OutboundResponse(response.status, _decode_headers(response))

    @asynccontextmanager
    async def _limit_time(self, url: str) -> AsyncGenerator[None, None]:
        """Limit a call, and say in our own words what the layers below have to say."""
        try:
            async with asyncio.timeout(self._limits.timeout_seconds):
                yield
        except _TIMEOUT_ERRORS as error:
            raise OutboundTimeoutError(
                f"{parse_target(url, self._policy)} took longer than {PREFIX}DIAL_TIMEOUT, {self._limits.timeout_seconds} s"
            ) from error
        except _CONNECTION_ERRORS as error:
            raise OutboundConnectError(f"{parse_target(url, self._policy)}: {type(error).__name__}: {error}") from error

    @asynccontextmanager
    async def _open_response(
        self, method: str, target: OutboundTarget, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncGenerator[httpcore.Response, None]:
        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        timeout = {"connect": self._limits.connect_timeout_seconds}
        sent = [("Host", target.authority), *headers.items()]
        async with (
            self._pools[target.scheme].acquire(url.origin) as connection,
            connection.stream(method, url, headers=sent, content=body, extensions={"timeout": timeout}) as response,
        ):
            yield response


async def _read_content(response: httpcore.Response, max_bytes: int, target: OutboundTarget) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_stream():
        content += chunk
        if len(content) > max_bytes:
            raise OutboundTooLargeError(f"{target} sends more than {max_bytes} bytes; {PREFIX}FETCH_LIMIT says how much is taken")
    return bytes(content)


def _decode_headers(response: httpcore.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}


def _join_url(url: str, location: str) -> str:
    try:
        return str(httpx.URL(url).join(location))
    except (httpx.InvalidURL, ValueError) as error:
        raise UrlRefusedError("a redirect leads to something that is not a URL") from error
