"""GET and POST to addresses that strangers name, with limits of time and size.

async with GuardedDialler(Policy.of(settings)) as dialler:
    dialler.check(url)                              as far as that is possible without a call
    content = await dialler.fetch(url)
    answer = await dialler.post(url, headers, body)
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Self

import httpcore
import httpx

from a2a_runtime.net.backend import GuardedBackend
from a2a_runtime.net.connections import Connections
from a2a_runtime.net.errors import TooLargeError, TooSlowError, UnreachableError, UnusableAnswerError, UrlRefusedError
from a2a_runtime.net.policy import Policy
from a2a_runtime.net.resolver import Resolver, SystemResolver
from a2a_runtime.net.target import Target, target_of
from a2a_runtime.settings import PREFIX, Settings

_REDIRECTS = frozenset(
    {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND, HTTPStatus.SEE_OTHER, HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT}
)
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, OSError)
_SLOW = (httpcore.TimeoutException, TimeoutError)
_OWN_HEADERS = {"User-Agent": "a2a-runtime", "Accept": "*/*", "Accept-Encoding": "identity"}
_DRAINED_BYTES, _DRAINED_SECONDS = 65_536, 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of an answer is taken, and how long it may take; in bytes and seconds."""

    connect_seconds: float = 5.0  # for each address of a host
    seconds: float = 15.0  # for the whole call, redirects included
    max_bytes: int = 10_000_000
    redirects: int = 5

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Read what the operator has set."""
        return cls(seconds=settings.dial_timeout, max_bytes=settings.fetch_limit)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered to a POST, without its body; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]


class GuardedDialler:
    """Calls what the policy permits, and nothing else."""

    def __init__(
        self, policy: Policy | None = None, limits: Limits | None = None, *, resolver: Resolver | None = None, trust: ssl.SSLContext | None = None
    ) -> None:
        self._policy, self._limits = policy or Policy(), limits or Limits()
        self._resolver = resolver or SystemResolver()
        trust = trust or httpx.create_ssl_context()  # read once: else every connection reads the file of authorities
        self._connections = {
            scheme: Connections(GuardedBackend(self._policy, self._resolver, encrypted=scheme == "https"), trust) for scheme in ("https", "http")
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        for connections in self._connections.values():
            await connections.close()
        await self._resolver.close()

    def check(self, url: str) -> None:
        """Refuse a URL that can never be called (``UrlRefusedError``)."""
        target_of(url, self._policy)

    async def fetch(self, url: str, max_bytes: int | None = None) -> bytes:
        """Get the content behind a URL, or raise what speaks against it (``DialError``); each redirect is judged like the URL itself."""
        limit = self._limits.max_bytes if max_bytes is None else max_bytes
        async with self._in_time(url):
            for _ in range(self._limits.redirects + 1):
                async with self._answered("GET", target := target_of(url, self._policy), _OWN_HEADERS) as response:
                    headers = _headers(response)
                    if response.status in _REDIRECTS and "location" in headers:
                        url = _joined(url, headers["location"])
                        continue
                    if not HTTPStatus(HTTPStatus.OK) <= response.status < HTTPStatus.MULTIPLE_CHOICES:
                        raise UnusableAnswerError(f"{target} answered {response.status}")
                    if headers.get("content-encoding", "identity") != "identity":
                        raise UnusableAnswerError(f"{target} answered with an encoding that was not asked for")
                    return await _content(response, limit, target)
        raise UnusableAnswerError("there were too many redirects")

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send something, and give back what was answered, whatever it is; redirects are not followed."""
        target = target_of(url, self._policy)
        async with self._in_time(url), self._answered("POST", target, {**_OWN_HEADERS, **headers}, body) as response:
            # What counts has been said. The rest is only read so that the connection can be used again.
            with suppress(TooLargeError, *_BROKEN, *_SLOW):
                async with asyncio.timeout(_DRAINED_SECONDS):
                    await _content(response, _DRAINED_BYTES, target)
            return Answer(response.status, _headers(response))

    @asynccontextmanager
    async def _in_time(self, url: str) -> AsyncGenerator[None, None]:
        """Limit a call, and say in our own words what the layers below have to say."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                yield
        except _SLOW as error:
            raise TooSlowError(f"{target_of(url, self._policy)} took longer than {PREFIX}DIAL_TIMEOUT, {self._limits.seconds} s") from error
        except _BROKEN as error:
            raise UnreachableError(f"{target_of(url, self._policy)}: {type(error).__name__}: {error}") from error

    @asynccontextmanager
    async def _answered(
        self, method: str, target: Target, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncGenerator[httpcore.Response, None]:
        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        timeout = {"connect": self._limits.connect_seconds}
        sent = [("Host", target.authority), *headers.items()]
        async with (
            self._connections[target.scheme].lent(url.origin) as connection,
            connection.stream(method, url, headers=sent, content=body, extensions={"timeout": timeout}) as response,
        ):
            yield response


async def _content(response: httpcore.Response, limit: int, target: Target) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_stream():
        content += chunk
        if len(content) > limit:
            raise TooLargeError(f"{target} sends more than {limit} bytes; {PREFIX}FETCH_LIMIT says how much is taken")
    return bytes(content)


def _headers(response: httpcore.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}


def _joined(url: str, location: str) -> str:
    try:
        return str(httpx.URL(url).join(location))
    except (httpx.InvalidURL, ValueError) as error:
        raise UrlRefusedError("a redirect leads to something that is not a URL") from error
