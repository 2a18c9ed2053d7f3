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
    ConnectError,
    ConnectionLostError,
    InvalidResponseError,
    ResponseTimeoutError,
    ResponseTooLargeError,
    TransportError,
)
from a2a_runtime.client.options import ClientOptions, RetryPolicy
from a2a_runtime.client.protocols import OutgoingRequest

# Whether and when something is tried again. Pure rules: no connection, no clock, no chance of their own.
#
# What may be repeated depends on what was asked: reading changes nothing, a message with an Idempotency-Key is taken once by agents that heed such
# keys, and everything else is only repeated if it certainly did not arrive.
#


class RetrySafety(Enum):
    """How safe it is to ask the same again."""

    READ = auto()
    """Nothing changes, however often it is asked."""
    IDEMPOTENT = auto()
    """A key tells the agent, which has promised to heed it, that it is the same request."""
    UNSAFE = auto()
    """It might be done twice."""


_READ_OPERATIONS = frozenset(
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
_SEND_OPERATIONS = frozenset(each.name for each in (SEND_MESSAGE, SEND_STREAMING_MESSAGE))
_OVERLOAD_STATUSES = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE))
_GATEWAY_STATUSES = frozenset((*_OVERLOAD_STATUSES, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT))
_RETRYABLE_STATUSES = {
    RetrySafety.READ: _GATEWAY_STATUSES,
    RetrySafety.IDEMPOTENT: _OVERLOAD_STATUSES,
    RetrySafety.UNSAFE: frozenset((HTTPStatus.TOO_MANY_REQUESTS,)),
}


def get_retry_safety(operation: Operation, idempotency_key: str | None) -> RetrySafety:
    """Say how safe it is to ask an operation again, under a key if the agent heeds it."""
    if operation.name in _READ_OPERATIONS:
        return RetrySafety.READ
    return RetrySafety.IDEMPOTENT if idempotency_key and operation.name in _SEND_OPERATIONS else RetrySafety.UNSAFE


def is_retryable_error(safety: RetrySafety, error: Exception) -> bool:
    """Say whether a request may be repeated after the connection failed; one that the agent may still be at is not, unless it only reads."""
    if isinstance(error, ConnectError):
        return True
    if isinstance(error, ResponseTimeoutError):
        return safety is RetrySafety.READ
    return safety is not RetrySafety.UNSAFE and isinstance(error, ConnectionLostError | UnavailableError)


def is_retryable_status(safety: RetrySafety, status: int) -> bool:
    """Say whether an HTTP status may be gone the next time, and it is safe to see."""
    return status in _RETRYABLE_STATUSES[safety]


def get_retry_delay(policy: RetryPolicy, attempt: int, random_fraction: float, retry_after: float | None = None) -> float | None:
    """Say how long to wait after an attempt that failed (they count from 1), or that it was the last one.

    ``chance`` lies between 0 and 1 and spreads clients that failed together; ``wanted`` is what the agent asks for, unless that is too long.
    """
    if attempt >= policy.attempts:
        return None
    if retry_after is not None:
        return retry_after if retry_after <= policy.max_delay else None
    doubled = policy.initial_delay * 2.0 ** min(attempt - 1, 30)
    return min(doubled * (1.0 + random_fraction), policy.max_delay)


def parse_retry_after(header: str | None) -> float | None:
    """Read a Retry-After header that counts seconds; one that names a date is not heeded."""
    text = (header or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004 - as good as for ever


_CONNECT_TIMEOUT = 10.0
_MAX_REDIRECTS = 10
_HTTPS = "https"

# The first that fits; a test walks all errors of httpx.
_ERROR_TABLE: tuple[tuple[type[Exception], type[A2AClientError], str], ...] = (
    (httpx.InvalidURL, ConnectError, "Not a URL"),
    (httpx.UnsupportedProtocol, ConnectError, "Not a URL of HTTP"),
    (httpx.ConnectError, ConnectError, "No connection"),
    (httpx.ConnectTimeout, ConnectError, "No connection in time"),
    (httpx.PoolTimeout, ConnectError, "All connections are busy"),
    (httpx.ProxyError, ConnectError, "The proxy refuses"),
    (httpx.TimeoutException, ResponseTimeoutError, "No answer in time"),
    (httpx.TransportError, ConnectionLostError, "The connection broke"),
    (httpx.RequestError, InvalidResponseError, "The answer cannot be read"),
)


class ClientResponse(NamedTuple):
    """A whole answer."""

    status: int
    headers: httpx.Headers
    body: bytes
    url: str

    @property
    def is_success(self) -> bool:
        """Whether the status says that all is well."""
        return 200 <= self.status < 300  # noqa: PLR2004 - the class of statuses


class HttpTransport:
    """One pool of connections to one agent."""

    def __init__(self, http: httpx.AsyncClient, options: ClientOptions, timeout: float) -> None:
        self._http, self._options = http, options
        self._timeout = httpx.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT))
        self._stream_timeout = httpx.Timeout(options.stream_idle_timeout, connect=min(timeout, _CONNECT_TIMEOUT))

    @property
    def sends_secrets(self) -> bool:
        """Whether requests tell something that is not for everybody."""
        return self._http.auth is not None or bool(self._options.headers)

    async def fetch(
        self, request: OutgoingRequest, safety: RetrySafety, headers: Mapping[str, str], *, max_bytes: int, follow_redirects: bool = False
    ) -> ClientResponse:
        """Ask, and again as long as that is safe and may help."""
        attempt, clock = 0, self._options.clock
        while True:
            attempt += 1
            try:
                reply = await self._fetch_once(request, headers, max_bytes, follow_redirects=follow_redirects)
                if not is_retryable_status(safety, reply.status):
                    return reply
                wait = self.get_retry_delay(attempt, parse_retry_after(reply.headers.get("retry-after")))
                if wait is None:
                    return reply
            except TransportError as failure:
                wait = self.get_retry_delay(attempt) if is_retryable_error(safety, failure) else None
                if wait is None:
                    raise
            await clock.sleep(wait)

    def get_retry_delay(self, attempt: int, retry_after: float | None = None) -> float | None:
        """Say how long to wait before the next attempt, if there is one."""
        return get_retry_delay(self._options.retry_policy, attempt, random.random(), retry_after)  # noqa: S311 - spreads clients, hides nothing

    @asynccontextmanager
    async def open_stream(self, request: OutgoingRequest, headers: Mapping[str, str]) -> AsyncGenerator[httpx.Response, None]:
        """Ask for a stream; its connection is free again when this is left."""
        async with self._send(request, headers, self._stream_timeout) as response:
            yield response

    async def read_body(self, response: httpx.Response, max_bytes: int) -> bytes:
        """Read a body, and no more of it than is taken."""
        parts: list[bytes] = []
        size = 0
        with _translate_errors(str(response.url)):
            async for part in response.aiter_bytes():
                size += len(part)
                if size > max_bytes:
                    raise ResponseTooLargeError(f"The answer has more than {max_bytes} bytes")
                parts.append(part)
        return b"".join(parts)

    async def iter_chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """Give a stream as it comes."""
        with _translate_errors(str(response.url)):
            async for chunk in response.aiter_bytes():
                yield chunk

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def _fetch_once(self, request: OutgoingRequest, headers: Mapping[str, str], max_bytes: int, *, follow_redirects: bool) -> ClientResponse:
        for _ in range(_MAX_REDIRECTS):
            async with self._send(request, headers, self._timeout) as response:
                if not follow_redirects or not response.has_redirect_location:
                    return ClientResponse(response.status_code, response.headers, await self.read_body(response, max_bytes), str(response.url))
                request, headers = self._follow_redirect(request, headers, response)
        raise InvalidResponseError(f"{request.url} leads on and on; give the URL where it ends")

    def _follow_redirect(
        self, request: OutgoingRequest, headers: Mapping[str, str], response: httpx.Response
    ) -> tuple[OutgoingRequest, Mapping[str, str]]:
        """Go where an answer points to, without what proves who we are if that is somebody else."""
        with _translate_errors(request.url):
            url = response.url.join(response.headers["location"])
        if response.url.scheme == _HTTPS != url.scheme:
            raise InvalidResponseError(f"{request.url} leads from https to {url.scheme}, where anybody could answer")
        is_same = (url.scheme, url.host, url.port) == (response.url.scheme, response.url.host, response.url.port)
        kept = headers if is_same else {name: text for name, text in headers.items() if name not in self._options.headers}
        return replace(request, url=str(url), should_authenticate=request.should_authenticate and is_same), kept

    @asynccontextmanager
    async def _send(self, request: OutgoingRequest, headers: Mapping[str, str], timeout: httpx.Timeout) -> AsyncGenerator[httpx.Response, None]:
        if self._http.is_closed:
            raise ClosedError("The client is closed")
        said = {**headers, "content-type": request.media_type} if request.media_type else headers
        raw = [(name.encode(), text.encode()) for name, text in said.items()]  # httpx would refuse a cursor that is not ASCII
        with _translate_errors(request.url):
            outgoing = self._http.build_request(
                request.method, request.url, params=request.query or None, content=request.body, headers=raw, timeout=timeout
            )
            shown = self._http.auth if request.should_authenticate else None
            response = await self._http.send(outgoing, stream=True, auth=shown)
        try:
            yield response
        finally:
            await response.aclose()


@contextmanager
def _translate_errors(url: str) -> Generator[None, None, None]:
    """Turn the errors of httpx into ours."""
    try:
        yield
    except (httpx.RequestError, httpx.InvalidURL) as error:
        kind, text = next((kind, text) for each, kind, text in _ERROR_TABLE if isinstance(error, each))
        raise kind(f"{text} ({url}): {str(error) or type(error).__name__}") from error
