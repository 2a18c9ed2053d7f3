"""ASGI: the request while it is processed, its body, the URL of a surface, and plain responses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Coroutine, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl

from litestar.types import HTTPScope, Receive, ReceiveMessage, Send
from litestar.utils.scope.state import CONNECTION_STATE_KEY, ScopeState
from pydantic_core import from_json

from a2a_contract.dialects import CANONICAL, DIALECTS, EXTENSIONS, VERSION, Parameter
from a2a_contract.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidRequestError,
    MethodNotAllowedError,
    ParseError,
    PayloadTooLargeError,
)
from a2a_contract.jsonrpc import NO_ID, CallId
from a2a_runtime.base.card_extensions import CURSOR_HEADER, IDEMPOTENCY_HEADER
from a2a_runtime.base.origin import HEADERS, Origin
from a2a_runtime.http.negotiation import normalize_version
from a2a_runtime.ports.wire_variant import WireVariant
from a2a_runtime.service.context import ProtocolBinding

JSON = b"application/json"
LAST_EVENT_ID = Parameter(
    (CURSOR_HEADER,), "Number of the last event that was received; the stream continues after it."
)
IDEMPOTENCY_KEY = Parameter(
    (IDEMPOTENCY_HEADER,), "Key under which a repeated message is processed once."
)

Header = tuple[bytes, bytes]


def _header_spellings(parameter: Parameter) -> tuple[tuple[bytes, str], ...]:
    return tuple((header.lower().encode(), header.lower()) for header in parameter.headers)


_VERSION_SPELLINGS = _header_spellings(VERSION)
_EXTENSION_SPELLINGS = _header_spellings(EXTENSIONS)
_LAST_EVENT_ID = CURSOR_HEADER.lower().encode()
_IDEMPOTENCY_KEY = IDEMPOTENCY_HEADER.lower().encode()
_VERSION_HEADERS = tuple(header for header, _ in _VERSION_SPELLINGS)
_UNCOMMON_HEADERS = (
    frozenset((_LAST_EVENT_ID, _IDEMPOTENCY_KEY, *(header for header, _ in _EXTENSION_SPELLINGS)))
    | HEADERS
)
_CONTENT_LENGTH = b"content-length"
_CONTENT_TYPE = b"content-type"
_ACCEPT = b"accept"
_MAX_LENGTH_DIGITS = 19
_MAX_PIECE_BYTES = 65_536
_HOST = re.compile(rb"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")


class ClientDisconnectError(Exception):
    """The client closed the connection; no response can be sent."""


class Interrupt:
    """Raises an error in the task of a request from outside.

    Every cancellation of a request by this process passes here and is undone here.

        with interrupt:                    the task of the request
            await …      ◄── cancel ──     interrupt.throw(error), from a timer or from a watcher
        the error takes the place of the cancellation

    A cancellation by the server passes through unchanged. Blocks of one task may be nested; the
    innermost one raises the error.
    """

    _task: asyncio.Task[object] | None = None
    _error: Exception | None = None
    _watchers: Sequence[asyncio.Task[None]] = ()

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        task = self._task
        self._task = None
        thrown = self._error
        self._error = None
        if thrown is None or task is None:
            return
        task.uncancel()
        if kind is asyncio.CancelledError:
            raise thrown from None

    def throw(self, error: Exception) -> None:
        """Cancel the task, and raise an error at the end of the block.

        Only the first error counts, and none after the block.
        """
        if self._task is not None and self._error is None:
            self._error = error
            self._task.cancel()

    def watch(self, watcher: Coroutine[object, object, None]) -> None:
        """Run a watcher until the end of the block; an error that it raises is thrown in the
        task.
        """
        task = asyncio.create_task(watcher)
        task.add_done_callback(self._on_watcher_done)
        self._watchers = (*self._watchers, task)

    def _on_watcher_done(self, watcher: asyncio.Task[None]) -> None:
        error = None if watcher.cancelled() else watcher.exception()
        if isinstance(error, Exception):
            self.throw(error)


class Awaits(Enum):
    """The event that a request awaits while a ``RequestWatcher`` watches it."""

    BODY = auto()
    RESULT = auto()


class HttpRequest:
    """An HTTP request while it is processed.

    Version, extensions, cursor and idempotency key come from headers or, where the protocol allows
    it, from the query.
    What most requests leave as it is stands in the class.
    """

    dialect = ""
    """Dialect of the response; empty until the request is parsed."""
    variants: Sequence[WireVariant] = ()
    """Further forms on the wire that the surface has."""
    is_stream = False
    """Set as soon as the operation is known to answer with a stream."""
    call_id: CallId = NO_ID
    awaits: Awaits | None = None
    caller = ""
    """Owner of the caller's tasks; empty until the gate has admitted the request."""
    operation = ""
    error: type[A2AError] | None = None
    """What has gone wrong, for the metrics."""
    repeats_headers = False
    has_started_response = False
    has_slot = False
    """Set while the request counts for the concurrency limit."""
    version: str | None = None
    extensions: tuple[str, ...] = ()
    extensions_header = b""
    """The header in which the client lists extensions; the response lists the active ones in the
    same header.
    """
    last_event_id: str | None = None
    idempotency_key: str | None = None
    origin: Origin | None = None
    """Where the request comes from, if it says so."""

    def __init__(
        self, scope: HTTPScope, receive: Receive, send: Send, binding: ProtocolBinding
    ) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.binding = binding
        sent = tuple(scope["headers"])
        self.headers: Mapping[bytes, bytes] = dict(sent)
        if len(self.headers) != len(sent):
            self.repeats_headers = True
        self.interrupt = Interrupt()
        for header in _VERSION_HEADERS:
            if header in self.headers:
                self.version = _parse_version(self.headers[header])
                break
        if scope["query_string"] or not _UNCOMMON_HEADERS.isdisjoint(self.headers):
            self._read_parameters()

    @property
    def is_http_1(self) -> bool:
        """True if the response may have connection headers, which later versions of HTTP forbid."""
        return self.scope["http_version"].startswith("1")

    def has_several_hosts(self) -> bool:
        """Tell whether the request names hosts that differ: checks and URLs would not be about the
        same one.
        """
        return len({value for name, value in self.scope["headers"] if name == b"host"}) > 1

    @property
    def has_url(self) -> bool:
        """True if the request was sent to a URL below that of the surface; a call over gRPC was
        sent to another port.
        """
        return self.binding is not ProtocolBinding.GRPC

    @property
    def client_address(self) -> str:
        """The address of the client as the server reports it."""
        client = self.scope["client"]
        if client:
            return client[0]
        return ""

    def check_media_type(self, accepted: frozenset[bytes]) -> None:
        """Refuse a body of another media type; a body without a media type is accepted."""
        media_type = self.headers.get(_CONTENT_TYPE)
        if media_type is None or media_type in accepted:
            return
        if media_type.partition(b";")[0].strip().lower() not in accepted:
            names = ", ".join(sorted(each.decode() for each in accepted))
            raise ContentTypeNotSupportedError(f"Content-Type: not supported; use one of {names}")

    def response_media_type(self) -> bytes:
        """Select the media type of the response: plain JSON, unless an HTTP+JSON client names the
        dialect's own type.
        """
        if self.binding is ProtocolBinding.JSONRPC:
            return JSON
        default, *others = DIALECTS[self.dialect].media_types
        accepted = self.headers.get(_ACCEPT, b"") + b"," + self.headers.get(_CONTENT_TYPE, b"")
        for variant in self.variants:
            if (
                variant.media_type is not None
                and self.dialect == CANONICAL.name
                and default.encode() not in self.headers.get(_ACCEPT, b"")
            ):
                return variant.media_type.encode()
        return next(
            (each.encode() for each in others if each.encode() in accepted), default.encode()
        )

    def _read_parameters(self) -> None:
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(
            self.scope["query_string"].decode("latin-1")
        ):  # case-insensitive, like headers
            query.setdefault(name.lower(), []).append(value)
        if self.version is None:
            self.version = normalize_version(
                next((text for _, text in self._iter_values(_VERSION_SPELLINGS, query)), None)
            )
        extensions = tuple(self._iter_values(_EXTENSION_SPELLINGS, query))
        if extensions:
            self.extensions_header = extensions[0][0]
            listed = ",".join([text for _, text in extensions])
            uris = [uri.strip() for uri in listed.split(",")]
            self.extensions = tuple(dict.fromkeys(filter(None, uris)))
        self.last_event_id = self._header_text(_LAST_EVENT_ID)
        self.idempotency_key = self._header_text(_IDEMPOTENCY_KEY)
        if not HEADERS.isdisjoint(self.headers):
            self.origin = Origin.parse(self.headers)

    def _iter_values(
        self, spellings: tuple[tuple[bytes, str], ...], query: Mapping[str, list[str]]
    ) -> Iterator[tuple[bytes, str]]:
        """Yield every value of a parameter with its header, headers before the query."""
        for header, _ in spellings:
            if header in self.headers:
                yield from (
                    (header, value.decode("latin-1"))
                    for name, value in self.scope["headers"]
                    if name == header
                )
        for header, name in spellings:
            yield from ((header, value) for value in query.get(name, ()))

    def _header_text(self, header: bytes) -> str | None:
        value = self.headers.get(header)
        if value:
            return value.decode("latin-1")
        return None


@lru_cache(maxsize=64)  # there are two versions; the rest is for clients that send others
def _parse_version(value: bytes) -> str | None:
    return normalize_version(value.decode("latin-1"))


# Body


async def read_body(request: HttpRequest, max_bytes: int) -> bytes:
    """Read the body of a request; refuse it as soon as it is known to be larger than
    ``max_bytes``.
    """
    members: Mapping[str, object] = request.scope  # its type says that all of them are there
    if "route_handler" in members and (read := _find_read_body(request.scope)) is not None:
        if len(read) > max_bytes:
            raise _build_size_error(max_bytes)
        return read
    request.awaits = Awaits.BODY
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientDisconnectError
        piece: bytes = message.get("body", b"")  # servers may omit both members
        has_more: bool = message.get("more_body", False)
        size += len(piece)
        if size > max_bytes or (has_more and _declares_more(request.headers, max_bytes)):
            raise _build_size_error(max_bytes)
        if not has_more:
            request.awaits = None
            if pieces:
                return b"".join((*pieces, piece))
            return piece
        pieces.append(piece)


def _find_read_body(scope: HTTPScope) -> bytes | None:
    """Find the body that a guard or a hook of the host has read on the way of the router: it comes
    only once.
    """
    state: Mapping[str, object] = scope.get("state") or {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # of open types
    if CONNECTION_STATE_KEY not in state:
        return None
    connection = state[CONNECTION_STATE_KEY]
    if isinstance(connection, ScopeState) and isinstance(connection.body, bytes):
        return connection.body
    return None


def _build_size_error(max_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"Request body: larger than {max_bytes} bytes", details={"limit": str(max_bytes)}
    )


def _declares_more(headers: Mapping[bytes, bytes], max_bytes: int) -> bool:
    declared = headers.get(_CONTENT_LENGTH, b"0")
    return not declared.isdigit() or len(declared) > _MAX_LENGTH_DIGITS or int(declared) > max_bytes


def check_json(body: bytes) -> None:
    """Refuse ``NaN`` and ``Infinity``, which parsers accept although JSON has no such numbers.

    Only a body with these words is parsed here.
    """
    # A letter is found at the speed of memory; most bodies lack one of these.
    if (b"N" in body and b"NaN" in body) or (b"I" in body and b"Infinity" in body):
        try:
            from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error


def drop_unreadable(body: bytes) -> bytes:
    """Return the body, or nothing for ``NaN`` and halves of surrogate pairs, which some libraries
    take although nothing can carry them.
    """
    try:
        from_json(body, allow_inf_nan=False)
    except ValueError:
        return b""
    return body


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Build the function that gives a body which was read; after it, what the server gives."""
    messages: list[ReceiveMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> ReceiveMessage:
        if messages:
            return messages.pop()
        return await receive()

    return replay


# URLs
#
# https://host/proxy/v2/agents/one/tasks/7
#             └ root_path of the server, or of the app that mounts this one
#                   └ path of the app: Litestar(path="/v2")
#                      └ path of the surface


def base_url(scope: HTTPScope, path: str) -> str:
    """Build the URL of a path from the scope; forwarded headers of a proxy count only as far as the
    server trusts them.
    """
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    if not _HOST.fullmatch(host):
        server: tuple[str, int | None] | None = scope.get("server")  # pyright: ignore[reportUnknownMemberType]  # Litestar's scopes have members of open types
        host = _format_host(server[0], server[1]) if server else b"localhost"
    return f"{scope['scheme']}://{host.decode('ascii')}{_root_path(scope)}{_app_path(scope)}{path}"


def path_within(scope: HTTPScope, path: str) -> str | None:
    """Return the part of the request path below the path of a surface; ``None`` if the request is
    for another path.
    """
    members: Mapping[str, object] = scope  # its type says that all of them are there
    # The router removes the root path when it finds a route.
    root = "" if "route_handler" in members else _root_path(scope)
    requested = scope["path"].removeprefix(root).rstrip("/")
    start = _app_path(scope) + path
    if f"{requested}/".startswith(f"{start}/"):
        return requested.removeprefix(start)
    return None


def _root_path(scope: HTTPScope) -> str:
    root: str = scope.get("root_path", "")  # pyright: ignore[reportUnknownMemberType]  # as above
    return root.rstrip("/")


def _app_path(scope: HTTPScope) -> str:
    return scope["litestar_app"].path.rstrip("/")


def _format_host(host: str, port: int | None) -> bytes:
    bracketed = f"[{host}]" if ":" in host else host
    if port:
        return f"{bracketed}:{port}".encode()
    return bracketed.encode()


# Responses


def send_response(
    request: HttpRequest,
    body: bytes,
    media_type: bytes = JSON,
    *,
    status: int = 200,
    headers: Iterable[Header] = (),
) -> Awaitable[None]:
    """Send a response with a body. For ``HEAD`` the server leaves the body away."""
    return send_pieces(request, (body,), media_type, headers, status)


async def send_pieces(
    request: HttpRequest,
    pieces: Sequence[bytes],
    media_type: bytes,
    headers: Iterable[Header] = (),
    status: int = 200,
) -> None:
    """Send a response whose body is in pieces.

    A large one goes on as fast as the client reads, so that the server keeps no copy of it for a
    client that does not.
    """
    size = sum(map(len, pieces))
    sent = [(b"content-type", media_type), (b"content-length", b"%d" % size), *headers]
    await request.send({"type": "http.response.start", "status": status, "headers": sent})
    last = b"".join(pieces) if size <= _MAX_PIECE_BYTES else b""
    if not last:
        for piece in pieces:
            for start in range(0, len(piece), _MAX_PIECE_BYTES):
                part = piece[start : start + _MAX_PIECE_BYTES]
                await request.send({"type": "http.response.body", "body": part, "more_body": True})
    await request.send({"type": "http.response.body", "body": last, "more_body": False})


async def send_empty_response(
    request: HttpRequest, status: int, headers: Iterable[Header] = ()
) -> None:
    """Send a response without a body."""
    await request.send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await request.send({"type": "http.response.body", "body": b"", "more_body": False})


async def send_allowed_methods(request: HttpRequest, methods: Sequence[str]) -> None:
    """Answer ``OPTIONS`` with the methods of a path; refuse every other method."""
    allow = ", ".join(methods)
    if request.scope["method"] != "OPTIONS":
        raise MethodNotAllowedError(details={"allow": allow})
    await send_empty_response(request, 204, [(b"allow", allow.encode())])


async def refuse_hosts() -> None:
    """Refuse a request that names several hosts."""
    raise InvalidRequestError("Host: there are several; send one")


async def reject_websocket(send: Send) -> None:
    """Close a WebSocket: no endpoint accepts one."""
    await send({"type": "websocket.close", "code": 1000, "reason": ""})
