"""HTTP requests to one agent over httpx, with limits and retries.

Retry rules are pure: no connection, no clock, no randomness of their own. Reads may always be
repeated. A message with an ``Idempotency-Key`` may be repeated to agents that promise to take it
once. All other requests are repeated only if they certainly did not arrive.

No exception of httpx leaves this module: one table maps each of them to an error of the client.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from enum import Enum, auto
from http import HTTPStatus
from typing import NamedTuple

import httpx

from a2a_contract import operations
from a2a_contract.binding import Operation
from a2a_contract.errors import UnavailableError
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


class RetrySafety(Enum):
    """Safety of sending a request again."""

    READ = auto()
    """The request changes nothing."""
    IDEMPOTENT = auto()
    """The agent recognizes the repeated request by its ``Idempotency-Key``."""
    UNSAFE = auto()
    """The agent might process the request twice."""


_SEND_OPERATIONS = (operations.SEND_MESSAGE.name, operations.SEND_STREAMING_MESSAGE.name)
_READ_OPERATIONS = (
    operations.GET_TASK.name,
    operations.LIST_TASKS.name,
    operations.SUBSCRIBE_TO_TASK.name,
    operations.GET_TASK_PUSH_NOTIFICATION_CONFIG.name,
    operations.LIST_TASK_PUSH_NOTIFICATION_CONFIGS.name,
    operations.GET_EXTENDED_AGENT_CARD.name,
)
_OVERLOAD_STATUSES = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE))
_GATEWAY_STATUSES = frozenset(
    (*_OVERLOAD_STATUSES, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)
)
_RETRYABLE_STATUSES = {
    RetrySafety.READ: _GATEWAY_STATUSES,
    RetrySafety.IDEMPOTENT: _OVERLOAD_STATUSES,
    RetrySafety.UNSAFE: frozenset((HTTPStatus.TOO_MANY_REQUESTS,)),
}


def get_retry_safety(operation: Operation, idempotency_key: str | None) -> RetrySafety:
    """Classify an operation; pass a key only if the agent supports idempotency."""
    if operation.name in _READ_OPERATIONS:
        return RetrySafety.READ
    if idempotency_key and operation.name in _SEND_OPERATIONS:
        return RetrySafety.IDEMPOTENT
    return RetrySafety.UNSAFE


def is_retryable_error(safety: RetrySafety, error: Exception) -> bool:
    """Tell whether a request may be repeated after an error; after a timeout the agent may still
    process it, so only reads are.
    """
    if isinstance(error, ConnectError):
        return True
    if isinstance(error, ResponseTimeoutError):
        return safety is RetrySafety.READ
    return safety is not RetrySafety.UNSAFE and isinstance(
        error, ConnectionLostError | UnavailableError
    )


def is_retryable_status(safety: RetrySafety, status: int) -> bool:
    """Tell whether an HTTP status is transient and the request safe to repeat."""
    return status in _RETRYABLE_STATUSES[safety]


class Outage(NamedTuple):
    """The time since the last event of a stream."""

    lost_at: float = 0.0
    """When the stream broke, by the monotonic clock."""
    failures: int = 0
    """Connections without a new event."""
    refusals: int = 0
    """Those of them to an agent that was there: it ended the stream, or refused to resume it."""


def get_retry_delay(
    policy: RetryPolicy, attempt: int, random_fraction: float, retry_after: float | None = None
) -> float | None:
    """Compute the seconds to wait after a failed attempt (counted from 1); ``None`` after the last
    one.

    ``random_fraction`` lies between 0 and 1 and spreads clients that failed together.
    ``retry_after`` is the agent's own request; one that exceeds ``max_delay`` ends the retries.
    """
    if attempt >= policy.attempts:
        return None
    if retry_after is not None:
        if retry_after <= policy.max_delay:
            return retry_after
        return None
    doubled = policy.initial_delay * 2.0 ** min(attempt - 1, 30)
    return min(doubled * (1.0 + random_fraction), policy.max_delay)


def get_resume_delay(
    policy: RetryPolicy, outage: Outage, random_fraction: float, now: float
) -> float | None:
    """Compute the seconds to wait before a broken stream is resumed; ``None`` after the time of the
    policy.

    The waits stay short, so that a reader is back soon after its agent.
    """
    left = policy.stream_seconds - (now - outage.lost_at)
    if policy.attempts <= max(outage.refusals, 1) or left <= 0:
        return None
    doubled = policy.initial_delay * 2.0 ** min(outage.failures - 1, 30)
    return min(doubled * (1.0 + random_fraction), _MAX_RESUME_DELAY, policy.max_delay, left)


def parse_retry_after(header: str | None) -> float | None:
    """Parse the seconds of a Retry-After header; dates are ignored."""
    text = (header or "").strip()
    # more digits mean decades
    is_number = text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004
    return float(text) if is_number else None


_CONNECT_TIMEOUT = 10.0
_MAX_RESUME_DELAY = 2.0
_MAX_REDIRECTS = 10
_HTTPS = "https"

# The first match counts; a test walks all errors of httpx.
_ERROR_TABLE: tuple[tuple[type[Exception], type[A2AClientError], str], ...] = (
    (httpx.InvalidURL, ConnectError, "Not a URL"),
    (httpx.UnsupportedProtocol, ConnectError, "Not an HTTP URL"),
    (httpx.ConnectError, ConnectError, "No connection"),
    (httpx.ConnectTimeout, ConnectError, "Connection timed out"),
    (httpx.PoolTimeout, ConnectError, "No free connection in the pool"),
    (httpx.ProxyError, ConnectError, "Proxy error"),
    (httpx.TimeoutException, ResponseTimeoutError, "No response in time"),
    (httpx.TransportError, ConnectionLostError, "Connection lost"),
    (httpx.RequestError, InvalidResponseError, "Unreadable response"),
)


class ClientResponse(NamedTuple):
    """A complete response."""

    status: int
    headers: httpx.Headers
    body: bytes
    url: str

    @property
    def is_success(self) -> bool:
        """True for a 2xx status."""
        return 200 <= self.status < 300  # noqa: PLR2004 - the class of statuses


class HttpTransport:
    """A connection pool for one agent."""

    def __init__(
        self, http: httpx.AsyncClient, options: ClientOptions, timeout: float | None
    ) -> None:
        self._http = http
        self._options = options
        self.message_seconds = timeout
        """Time of one message with all of its attempts."""
        self._read_seconds = (
            options.read_timeout if timeout is None else min(timeout, options.read_timeout)
        )
        connect = min(self._read_seconds, _CONNECT_TIMEOUT)
        self._message_timeout = httpx.Timeout(timeout, connect=connect)
        self._read_timeout = httpx.Timeout(self._read_seconds, connect=connect)
        self._stream_timeout = httpx.Timeout(options.stream_idle_timeout, connect=connect)

    @property
    def sends_secrets(self) -> bool:
        """True if requests carry credentials or headers of the caller."""
        return self._http.auth is not None or bool(self._options.headers)

    async def fetch(
        self,
        request: OutgoingRequest,
        safety: RetrySafety,
        headers: Mapping[str, str],
        *,
        max_bytes: int,
    ) -> ClientResponse:
        """Send a request and read the response, with retries as far as they are safe; the timeout
        is that of all attempts together.
        """
        seconds: float | None = self._read_seconds
        timeouts = self._read_timeout
        if request.is_message:
            seconds = self.message_seconds
            timeouts = self._message_timeout
        clock = self._options.clock
        attempt = 0
        began_at = clock.monotonic()
        while True:
            attempt += 1
            left = None if seconds is None else seconds - (clock.monotonic() - began_at)
            try:
                async with _translate_errors(request.url, left, seconds):
                    response = await self._fetch_once(request, headers, max_bytes, timeouts)
            except TransportError as error:
                if not is_retryable_error(safety, error) or not await self.wait_before_retry(
                    attempt, None, began_at, seconds
                ):
                    raise
            else:
                retry_after = parse_retry_after(response.headers.get("retry-after"))
                if not is_retryable_status(safety, response.status):
                    return response
                if not await self.wait_before_retry(attempt, retry_after, began_at, seconds):
                    return response

    async def wait_before_retry(
        self,
        attempt: int,
        retry_after: float | None = None,
        began_at: float = 0.0,
        seconds: float | None = None,
    ) -> bool:
        """Wait before the next attempt; ``False`` if there is none, or if it would begin after the
        seconds of the call.
        """
        # jitter is no secret
        fraction = random.random()  # noqa: S311
        delay = get_retry_delay(self._options.retry_policy, attempt, fraction, retry_after)
        if delay is None or (
            seconds is not None and self._options.clock.monotonic() + delay >= began_at + seconds
        ):
            return False
        await self._options.clock.sleep(delay)
        return True

    async def wait_before_resuming(self, outage: Outage) -> bool:
        """Wait before a broken stream is resumed; ``False`` if its time is over."""
        clock = self._options.clock
        delay = get_resume_delay(
            self._options.retry_policy,
            outage,
            random.random(),  # noqa: S311 - jitter, no secret
            clock.monotonic(),
        )
        if delay is None:
            return False
        await clock.sleep(delay)
        return True

    def open_stream(
        self, request: OutgoingRequest, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """Open a streaming response; its connection is released on exit."""
        return self._send(request, headers, self._stream_timeout, self.message_seconds)

    async def read_body(self, response: httpx.Response, max_bytes: int) -> bytes:
        """Read a body up to a limit."""
        parts: list[bytes] = []
        size = 0
        async with _translate_errors(str(response.url), self.message_seconds):
            async for part in response.aiter_bytes():
                size += len(part)
                if size > max_bytes:
                    raise ResponseTooLargeError(
                        f"Response body: more than {max_bytes} bytes; raise ResponseLimits "
                        "if you trust the agent"
                    )
                parts.append(part)
        return b"".join(parts)

    async def iter_chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of a stream."""
        async with _translate_errors(str(response.url)):
            async for chunk in response.aiter_bytes():
                yield chunk

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def _fetch_once(
        self,
        request: OutgoingRequest,
        headers: Mapping[str, str],
        max_bytes: int,
        timeouts: httpx.Timeout,
    ) -> ClientResponse:
        for _ in range(_MAX_REDIRECTS):
            async with self._send(request, headers, timeouts) as response:
                if not request.follow_redirects or not response.has_redirect_location:
                    return ClientResponse(
                        response.status_code,
                        response.headers,
                        await self.read_body(response, max_bytes),
                        str(response.url),
                    )
                request, headers = self._follow_redirect(request, headers, response)
        raise InvalidResponseError(
            f"{request.url}: more than {_MAX_REDIRECTS} redirects; pass the URL of the last one"
        )

    def _follow_redirect(
        self, request: OutgoingRequest, headers: Mapping[str, str], response: httpx.Response
    ) -> tuple[OutgoingRequest, Mapping[str, str]]:
        """Build the request for a redirect, without credentials if it leads to another origin."""
        url = response.url.join(response.headers["location"])
        if response.url.scheme == _HTTPS != url.scheme:
            raise InvalidResponseError(
                f"{request.url}: redirect from https to {url.scheme}, which can be forged; "
                "pass an https URL"
            )
        is_same = (url.scheme, url.host, url.port) == (
            response.url.scheme,
            response.url.host,
            response.url.port,
        )
        if not is_same:
            own = self._options.headers
            headers = {name: text for name, text in headers.items() if name not in own}
        may_authenticate = request.should_authenticate and is_same
        return replace(request, url=str(url), should_authenticate=may_authenticate), headers

    @asynccontextmanager
    async def _send(
        self,
        request: OutgoingRequest,
        headers: Mapping[str, str],
        timeouts: httpx.Timeout,
        seconds: float | None = None,
    ) -> AsyncGenerator[httpx.Response, None]:
        if self._http.is_closed:
            raise ClosedError("Client: already closed; create a new one")
        headers = {**headers, "content-type": request.media_type} if request.media_type else headers
        # as bytes, because httpx would refuse a cursor that is not ASCII
        raw = [(name.encode(), text.encode()) for name, text in headers.items()]
        async with _translate_errors(request.url, seconds):
            outgoing = self._http.build_request(
                request.method,
                request.url,
                params=request.query or None,
                content=request.body,
                headers=raw,
                timeout=timeouts,
            )
            auth = self._http.auth if request.should_authenticate else None
            response = await self._http.send(outgoing, stream=True, auth=auth)
        try:
            yield response
        finally:
            await response.aclose()


@asynccontextmanager
async def _translate_errors(
    url: str, seconds: float | None = None, whole_seconds: float | None = None
) -> AsyncGenerator[None, None]:
    """Map the errors of httpx to those of the client, and limit the time: httpx limits the pauses
    between two reads only.

    ``whole_seconds`` is the time of the call of which these seconds are left.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        # the error was raised inside, not by this limit
        if not limit.expired():
            raise
        raise ResponseTimeoutError(
            f"No complete response in {whole_seconds or seconds:g} s ({url})"
        ) from error
    except (httpx.RequestError, httpx.InvalidURL) as error:
        kind, text = next(
            (kind, text) for each, kind, text in _ERROR_TABLE if isinstance(error, each)
        )
        raise kind(f"{text} ({url}): {str(error) or type(error).__name__}") from error
