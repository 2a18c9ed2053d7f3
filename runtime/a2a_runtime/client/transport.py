"""Carries questions to an agent and answers back: over httpx, within limits, and again where that is safe.

Nothing of httpx's own errors gets out: one table says what each of them is for a client of an agent.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from enum import Enum, auto
from http import HTTPStatus
from typing import NamedTuple

import httpx

from a2a_contract.binding import Operation
from a2a_contract.errors import UnavailableError
from a2a_contract.operations import (
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_runtime.client.errors import (
    A2AClientError,
    ClosedError,
    LineError,
    LostError,
    OversizeAnswerError,
    SilenceError,
    UnreachableError,
    UnreadableAnswerError,
)
from a2a_runtime.client.options import ClientOptions, Retries
from a2a_runtime.client.protocols import Question

# Whether and when something is tried again. Pure rules: no connection, no clock, no chance of their own.
#
# What may be repeated depends on what was asked: reading changes nothing, a message with an Idempotency-Key is taken once by agents that heed such
# keys, and everything else is only repeated if it certainly did not arrive.
#


class Safety(Enum):
    """How safe it is to ask the same again."""

    READ = auto()
    """Nothing changes, however often it is asked."""
    KEYED = auto()
    """A key tells the agent, which has promised to heed it, that it is the same request."""
    ONCE = auto()
    """It might be done twice."""


_READS = frozenset(
    each.name
    for each in (
        GET_TASK,
        LIST_TASKS,
        SUBSCRIBE_TO_TASK,
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        GET_EXTENDED_AGENT_CARD,
    )
)
_SENDS = frozenset(each.name for each in (SEND_MESSAGE, SEND_STREAMING_MESSAGE))
_BUSY = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE))
_BROKEN = frozenset((*_BUSY, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT))
_STATUSES = {Safety.READ: _BROKEN, Safety.KEYED: _BUSY, Safety.ONCE: frozenset((HTTPStatus.TOO_MANY_REQUESTS,))}


def safety_of(operation: Operation, key: str | None) -> Safety:
    """Say how safe it is to ask an operation again, under a key if the agent heeds it."""
    if operation.name in _READS:
        return Safety.READ
    return Safety.KEYED if key and operation.name in _SENDS else Safety.ONCE


def is_repeatable(safety: Safety, failure: Exception) -> bool:
    """Say whether a request may be repeated after the connection failed; one that the agent may still be at is not, unless it only reads."""
    if isinstance(failure, UnreachableError):
        return True
    if isinstance(failure, SilenceError):
        return safety is Safety.READ
    return safety is not Safety.ONCE and isinstance(failure, LostError | UnavailableError)


def is_passing(safety: Safety, status: int) -> bool:
    """Say whether an HTTP status may be gone the next time, and it is safe to see."""
    return status in _STATUSES[safety]


def delay(retries: Retries, attempt: int, chance: float, wanted: float | None = None) -> float | None:
    """Say how long to wait after an attempt that failed (they count from 1), or that it was the last one.

    ``chance`` lies between 0 and 1 and spreads clients that failed together; ``wanted`` is what the agent asks for, unless that is too long.
    """
    if attempt >= retries.attempts:
        return None
    if wanted is not None:
        return wanted if wanted <= retries.longest_delay else None
    doubled = retries.first_delay * 2.0 ** min(attempt - 1, 30)
    return min(doubled * (1.0 + chance), retries.longest_delay)


def seconds(retry_after: str | None) -> float | None:
    """Read a Retry-After header that counts seconds; one that names a date is not heeded."""
    text = (retry_after or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004 - as good as for ever


_CONNECT = 10.0
_REDIRECTS = 10
_SAFE = "https"

# The first that fits; a test walks all errors of httpx.
_ERRORS: tuple[tuple[type[Exception], type[A2AClientError], str], ...] = (
    (httpx.InvalidURL, UnreachableError, "Not a URL"),
    (httpx.UnsupportedProtocol, UnreachableError, "Not a URL of HTTP"),
    (httpx.ConnectError, UnreachableError, "No connection"),
    (httpx.ConnectTimeout, UnreachableError, "No connection in time"),
    (httpx.PoolTimeout, UnreachableError, "All connections are busy"),
    (httpx.ProxyError, UnreachableError, "The proxy refuses"),
    (httpx.TimeoutException, SilenceError, "No answer in time"),
    (httpx.TransportError, LostError, "The connection broke"),
    (httpx.RequestError, UnreadableAnswerError, "The answer cannot be read"),
)


class Reply(NamedTuple):
    """A whole answer."""

    status: int
    headers: httpx.Headers
    body: bytes
    url: str

    @property
    def is_good(self) -> bool:
        """Whether the status says that all is well."""
        return 200 <= self.status < 300  # noqa: PLR2004 - the class of statuses


class Courier:
    """One pool of connections to one agent."""

    def __init__(self, http: httpx.AsyncClient, options: ClientOptions, timeout: float) -> None:
        self._http, self._options = http, options
        self._timeout = httpx.Timeout(timeout, connect=min(timeout, _CONNECT))
        self._stream_timeout = httpx.Timeout(options.silence, connect=min(timeout, _CONNECT))

    @property
    def shows_secrets(self) -> bool:
        """Whether requests tell something that is not for everybody."""
        return self._http.auth is not None or bool(self._options.headers)

    async def fetch(self, question: Question, safety: Safety, headers: Mapping[str, str], *, limit: int, redirects: bool = False) -> Reply:
        """Ask, and again as long as that is safe and may help."""
        attempt, clock = 0, self._options.clock
        while True:
            attempt += 1
            try:
                reply = await self._fetch_once(question, headers, limit, redirects=redirects)
                if not is_passing(safety, reply.status):
                    return reply
                wait = self.wait(attempt, seconds(reply.headers.get("retry-after")))
                if wait is None:
                    return reply
            except LineError as failure:
                wait = self.wait(attempt) if is_repeatable(safety, failure) else None
                if wait is None:
                    raise
            await clock.sleep(wait)

    def wait(self, attempt: int, wanted: float | None = None) -> float | None:
        """Say how long to wait before the next attempt, if there is one."""
        return delay(self._options.retries, attempt, random.random(), wanted)  # noqa: S311 - spreads clients, hides nothing

    @asynccontextmanager
    async def open(self, question: Question, headers: Mapping[str, str]) -> AsyncGenerator[httpx.Response, None]:
        """Ask for a stream; its connection is free again when this is left."""
        async with self._answer(question, headers, self._stream_timeout) as response:
            yield response

    async def body(self, response: httpx.Response, limit: int) -> bytes:
        """Read a body, and no more of it than is taken."""
        parts: list[bytes] = []
        size = 0
        with _translated(str(response.url)):
            async for part in response.aiter_bytes():
                size += len(part)
                if size > limit:
                    raise OversizeAnswerError(f"The answer has more than {limit} bytes")
                parts.append(part)
        return b"".join(parts)

    async def chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """Give a stream as it comes."""
        with _translated(str(response.url)):
            async for chunk in response.aiter_bytes():
                yield chunk

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def _fetch_once(self, question: Question, headers: Mapping[str, str], limit: int, *, redirects: bool) -> Reply:
        for _ in range(_REDIRECTS):
            async with self._answer(question, headers, self._timeout) as response:
                if not redirects or not response.has_redirect_location:
                    return Reply(response.status_code, response.headers, await self.body(response, limit), str(response.url))
                question, headers = self._moved(question, headers, response)
        raise UnreadableAnswerError(f"{question.url} leads on and on; give the URL where it ends")

    def _moved(self, question: Question, headers: Mapping[str, str], response: httpx.Response) -> tuple[Question, Mapping[str, str]]:
        """Go where an answer points to, without what proves who we are if that is somebody else."""
        with _translated(question.url):
            url = response.url.join(response.headers["location"])
        if response.url.scheme == _SAFE != url.scheme:
            raise UnreadableAnswerError(f"{question.url} leads from https to {url.scheme}, where anybody could answer")
        is_same = (url.scheme, url.host, url.port) == (response.url.scheme, response.url.host, response.url.port)
        kept = headers if is_same else {name: text for name, text in headers.items() if name not in self._options.headers}
        return replace(question, url=str(url), is_ours=question.is_ours and is_same), kept

    @asynccontextmanager
    async def _answer(self, question: Question, headers: Mapping[str, str], patience: httpx.Timeout) -> AsyncGenerator[httpx.Response, None]:
        if self._http.is_closed:
            raise ClosedError("The client is closed")
        said = {**headers, "content-type": question.media_type} if question.media_type else headers
        raw = [(name.encode(), text.encode()) for name, text in said.items()]  # httpx would refuse a cursor that is not ASCII
        with _translated(question.url):
            request = self._http.build_request(
                question.method, question.url, params=question.query or None, content=question.body, headers=raw, timeout=patience
            )
            shown = self._http.auth if question.is_ours else None
            response = await self._http.send(request, stream=True, auth=shown)
        try:
            yield response
        finally:
            await response.aclose()


@contextmanager
def _translated(url: str) -> Generator[None, None, None]:
    """Turn the errors of httpx into ours."""
    try:
        yield
    except (httpx.RequestError, httpx.InvalidURL) as error:
        kind, text = next((kind, text) for each, kind, text in _ERRORS if isinstance(error, each))
        raise kind(f"{text} ({url}): {str(error) or type(error).__name__}") from error
