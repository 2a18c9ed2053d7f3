"""gRPC as a transport of httpx: the JSON of a dialect in, a result, an error or events as JSON out.

    POST grpc://host:port/{package}.A2AService/{Method}    (grpcs:// with TLS)
        the request in the JSON of its dialect
        200           the result, or server-sent events of a streaming method
        any other     {"error": {"status", "message", "details"}}, as in HTTP+JSON

So credentials (any ``httpx.Auth``), retries, limits, resumed streams and errors of the client are
those of its other bindings. Headers become metadata. Grpcio is imported with the first call.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
from pydantic.alias_generators import to_snake
from pydantic_core import to_json

from a2a_contract.binding import Operation
from a2a_contract.dialects import VERSION
from a2a_contract.errors import (
    ERRORS,
    InvalidParamsError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a_contract.operations import CANCEL_TASK
from a2a_runtime.client.errors import InvalidResponseError, ResponseTooLargeError

if TYPE_CHECKING:
    from grpc import ChannelCredentials
    from grpc.aio import AioRpcError, Channel

    from a2a_contract.protobuf_values import Codec, Method

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# The stubs of grpcio leave the types of messages open.

PLAIN = "grpc"
TLS = "grpcs"
"""Schemes of the URLs of this transport."""

_HTTP_HEADERS = frozenset(
    (
        "accept",
        "accept-encoding",
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    )
)
_ERROR_PREFIX = re.compile(r"(\w+Error): (.*)", re.DOTALL)
_STATUSES = {
    **{row.grpc: row.http for row in reversed([*ERRORS.values()])},
    ERRORS[UnsupportedOperationError].grpc: int(HTTPStatus.NOT_IMPLEMENTED),
    ERRORS[TaskNotCancelableError].grpc: int(HTTPStatus.NOT_IMPLEMENTED),
}
"""HTTP statuses of errors without typed details, which come from agents of others: none means an
error that only this project has.
"""
_NOT_SENT = ("failed to connect", "DNS resolution", "name resolution")
_PING_INTERVAL_MILLIS = 310_000
"""Servers of gRPC close connections that are pinged more often than each five minutes."""


def is_grpc_url(url: str) -> bool:
    """Tell whether a URL names a host for gRPC."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in (PLAIN, TLS) and bool(parts.hostname)


class GrpcCapableClient(httpx.AsyncClient):
    """A client of httpx whose requests to URLs of gRPC are calls.

    A mount would be the documented way. But httpx prefers the mounts that it makes of ``NO_PROXY``,
    because they name a host, and then tries HTTP.
    """

    # typed as Any: the options are those of httpx
    def __init__(self, calls: GrpcTransport | None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._calls = calls

    async def aclose(self) -> None:
        """Close the connections and the channels."""
        await super().aclose()
        if self._calls is not None:
            await self._calls.aclose()

    def _transport_for_url(self, url: httpx.URL) -> httpx.AsyncBaseTransport:
        if self._calls is not None and url.scheme in (PLAIN, TLS):
            return self._calls
        return super()._transport_for_url(url)


class GrpcTransport(httpx.AsyncBaseTransport):
    """Calls to agents, with one channel for each address."""

    def __init__(self, credentials: ChannelCredentials | None, max_bytes: int) -> None:
        self._credentials = credentials
        self._max_bytes = max_bytes
        self._channels: dict[str, Channel] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make the call that a request describes."""
        from a2a_contract import protobuf  # noqa: PLC0415 - many modules, for this binding only

        method = protobuf.find_method(request.url.path, request.headers.get(VERSION.headers[0]))
        url = str(request.url)
        # asserted for the types: a fact of the caller
        assert method is not None, "the protocol makes the path"  # noqa: S101
        data = _write(method.request, await request.aread())
        metadata = [
            (name, value) for name, value in _decode_headers(request) if name not in _HTTP_HEADERS
        ]
        seconds: float | None = request.extensions.get("timeout", {}).get("read")
        channel = self._open(request.url)
        if method.binding.operation.streams:
            return await _open_stream(channel, method, data, metadata, seconds)
        from grpc.aio import AioRpcError  # noqa: PLC0415 - an extra

        try:
            result = await channel.unary_unary(method.path, None, None)(
                data, metadata=metadata, timeout=seconds
            )
        except AioRpcError as error:
            return _to_response(error, method.binding.operation, url)
        return httpx.Response(
            HTTPStatus.OK,
            content=_read(method.response, result),
            headers={"content-type": "application/json"},
        )

    async def aclose(self) -> None:
        """Close the channels."""
        channels = self._channels
        self._channels = {}
        for each in channels.values():
            await each.close(None)

    def _open(self, url: httpx.URL) -> Channel:
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        if origin not in self._channels:
            self._channels[origin] = self._create_channel(url)
        return self._channels[origin]

    def _create_channel(self, url: httpx.URL) -> Channel:
        import grpc  # noqa: PLC0415 - an extra
        from grpc.aio import insecure_channel, secure_channel  # noqa: PLC0415 - an extra

        target = url.netloc.decode("ascii")
        options = [
            ("grpc.max_receive_message_length", self._max_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.keepalive_time_ms", _PING_INTERVAL_MILLIS),
            ("grpc.enable_retries", 0),  # the client has its own
        ]
        if url.scheme == PLAIN:
            return insecure_channel(target, options)
        return secure_channel(target, self._credentials or grpc.ssl_channel_credentials(), options)


def _decode_headers(request: httpx.Request) -> list[tuple[str, str]]:
    return [
        (name.decode("ascii").lower(), value.decode("latin-1"))
        for name, value in request.headers.raw
    ]


async def _open_stream(
    channel: Channel,
    method: Method,
    data: bytes,
    metadata: list[tuple[str, str]],
    seconds: float | None,
) -> httpx.Response:
    """Open a stream; it is open when the agent has sent metadata or a message."""
    # an extra, imported only here; its stubs lack EOF
    from grpc.aio import EOF, AioRpcError  # type: ignore[attr-defined]  # noqa: PLC0415

    # imported for this binding only
    from a2a_runtime.features.grpc.messages import EVENT_NUMBERS  # noqa: PLC0415

    sent = [*metadata, (EVENT_NUMBERS.decode(), "1")]
    call: Any = channel.unary_stream(method.path, None, None)(data, metadata=sent)
    read = partial(_wait, seconds, method.path)
    try:
        is_open = bool(await read(call.initial_metadata()))
        first = None if is_open else await read(call.read())
    except AioRpcError as error:
        return _to_response(error, method.binding.operation, method.path)
    except BaseException:
        call.cancel()
        raise

    async def events() -> AsyncGenerator[bytes, None]:
        message = first
        try:
            while message is not EOF:
                if message is not None:
                    yield _encode_event(method.response, message)
                message = await read(call.read())
        except AioRpcError as error:
            response = _to_response(error, method.binding.operation, method.path)
            yield b"event: error\ndata: %b\n\n" % response.content
        finally:
            call.cancel()

    return httpx.Response(
        HTTPStatus.OK, stream=_EventStream(events()), headers={"content-type": "text/event-stream"}
    )


class _EventStream(httpx.AsyncByteStream):
    """Server-sent events of a call; closing it cancels the call."""

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        self._events = events

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events

    async def aclose(self) -> None:
        """Cancel the call."""
        await self._events.aclose()


# typed as Any: what a call awaits
async def _wait(seconds: float | None, path: str, awaitable: Any) -> Any:  # noqa: ANN401
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise httpx.ReadTimeout(f"{path}: nothing received for {seconds:g} s") from None


def _encode_event(codec: Codec, message: bytes) -> bytes:
    # imported for this binding only
    from a2a_runtime.features.grpc.messages import read_event_cursor  # noqa: PLC0415

    cursor = read_event_cursor(message)
    data = b"data: %b\n\n" % _read(codec, message)
    if cursor is None:
        return data
    return b"id: %b\n%b" % (cursor.encode(), data)


def _write(codec: Codec, document: bytes) -> bytes:
    """Write a request; refuse what a message cannot carry."""
    # imported for this binding only
    from a2a_contract.protobuf_values import UnwritableError, write_message  # noqa: PLC0415

    try:
        return write_message(codec, document)
    except UnwritableError as error:
        raise InvalidParamsError(
            "gRPC cannot carry the request; use another binding",
            fields=((error.path, error.reason),),
        ) from error


def _read(codec: Codec, message: bytes) -> bytes:
    """Read a result as JSON."""
    # imported for this binding only
    from a2a_contract.protobuf_values import UnreadableError  # noqa: PLC0415
    from a2a_runtime.features.grpc import messages  # noqa: PLC0415

    try:
        return messages.parse_message(codec, message)
    except (messages.MalformedMessageError, UnreadableError) as error:
        raise InvalidResponseError(f"{codec.name}: cannot be read ({error})") from error


def _to_response(error: AioRpcError, operation: Operation, url: str) -> httpx.Response:
    """Build the response of an error of the agent; raise an error of the connection as one of
    httpx.
    """
    # imported for this binding only
    from a2a_runtime.features.grpc.messages import STATUS_TRAILER, decode_details  # noqa: PLC0415

    name = error.code().name
    text = error.details() or ""
    pairs: Any = error.trailing_metadata() or ()
    trailers: Mapping[str, Any] = dict(pairs)
    details = decode_details(trailers[STATUS_TRAILER]) if STATUS_TRAILER in trailers else []
    prefixed = _ERROR_PREFIX.fullmatch(text)
    if prefixed:
        details = [*details, {"reason": to_snake(prefixed[1]).upper()}]
        text = prefixed[2]
    if not details:
        _raise_connection_error(name, text, url)
    status = _select_status(name, operation)
    headers = {key: value for key, value in trailers.items() if isinstance(value, str)}
    body = to_json({"error": {"code": status, "status": name, "message": text, "details": details}})
    return httpx.Response(
        status, content=body, headers={**headers, "content-type": "application/json"}
    )


def _select_status(name: str, operation: Operation) -> int:
    """Select the HTTP status of an error: it depends on the operation what a task does not
    allow.
    """
    row = ERRORS[TaskNotCancelableError]
    if name == row.grpc and operation is CANCEL_TASK:
        return row.http
    return _STATUSES.get(name, int(HTTPStatus.INTERNAL_SERVER_ERROR))


def _raise_connection_error(name: str, text: str, url: str) -> None:
    """Raise the error of httpx for a status that gRPC itself has made."""
    match name:
        case "UNAVAILABLE":
            if any(each in text for each in _NOT_SENT):
                raise httpx.ConnectError(text)
            raise httpx.ReadError(text)
        case "DEADLINE_EXCEEDED":
            raise httpx.ReadTimeout(text)
        case "CANCELLED":
            raise httpx.ReadError(text)
        case "RESOURCE_EXHAUSTED" if "CLIENT: " in text:
            raise ResponseTooLargeError(
                f"{url}: {text}; raise ResponseLimits if you trust the agent"
            )
        case _:
            return
