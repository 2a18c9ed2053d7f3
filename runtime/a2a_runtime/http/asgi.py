"""What a request says beside its body: service parameters and media types, each in a header or, where that is the protocol's, in the query.

A question also remembers how far it was understood (its dialect, the id of its call): the shape of an error depends on that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl

from litestar.types import HTTPRequestEvent, HTTPScope, Receive, Send
from pydantic_core import from_json

from a2a_contract.dialects import DIALECTS, EXTENSIONS, VERSION, Parameter
from a2a_contract.errors import ContentTypeNotSupportedError, ParseError, PayloadTooLargeError
from a2a_contract.jsonrpc import NO_ID, CallId
from a2a_runtime.execution.engine import CURSOR_HEADER
from a2a_runtime.http.negotiation import SupportedDialects, normalize_version
from a2a_runtime.service.context import ProtocolBinding

# Reading the body of a request, and no more of it than a surface takes.

_CONTENT_LENGTH = b"content-length"
_MAX_LENGTH_DIGITS = 19


class ClientDisconnectError(Exception):
    """The client has gone away before its request was whole: there is nobody to answer."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """Read a body, or refuse it as soon as it is known to be too large."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientDisconnectError
    body, is_whole = _split_message(message)
    if not is_whole:
        return await _read_remaining(receive, headers, limit, body)
    if len(body) > limit:
        raise _build_too_large_error(limit)
    return body


async def _read_remaining(receive: Receive, headers: Mapping[bytes, bytes], limit: int, first: bytes) -> bytes:
    """Read on, if the request does not say itself that it is too large."""
    declared = headers.get(_CONTENT_LENGTH, b"0")
    if not declared.isdigit() or len(declared) > _MAX_LENGTH_DIGITS or int(declared) > limit:
        raise _build_too_large_error(limit)
    body, more = bytearray(first), True
    while more:
        if len(body) > limit:
            raise _build_too_large_error(limit)
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnectError
        piece, is_last = _split_message(message)
        body += piece
        more = not is_last
    if len(body) > limit:
        raise _build_too_large_error(limit)
    return bytes(body)


def check_json(body: bytes) -> None:
    """Refuse words that parsers take for numbers although JSON has none; where they only stand in a text, it costs a look at it."""
    if b"NaN" in body or b"Infinity" in body:
        try:
            from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error


def _split_message(message: HTTPRequestEvent) -> tuple[bytes, bool]:
    """Read a piece of a body, and whether it is the last; a server may leave out what is usual, though hardly one does."""
    try:
        return message["body"], not message["more_body"]
    except KeyError:
        whole: HTTPRequestEvent = {"type": "http.request", "body": b"", "more_body": False, **message}
        return whole["body"], not whole["more_body"]


def _build_too_large_error(limit: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(f"A request has at most {limit} bytes", details={"limit": str(limit)})


# Where a client reaches a surface, as far as the server can tell from a request.
#
# https://host/proxy/v2/agents/one/tasks/7
#             └ root_path of the server, or of what mounts the app
#                   └ path of the app: Litestar(path="/v2")
#                      └ path of the surface: all that the surface itself knows
#

_HOST = re.compile(rb"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")


def base_url(scope: HTTPScope, path: str) -> str:
    """Make the address of a path from what the server believes: what a proxy forwards only where the server was told to believe it."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    if not _HOST.fullmatch(host):
        server: tuple[str, int | None] | None = scope.get("server")  # pyright: ignore[reportUnknownMemberType]  # Litestar's scopes have members of open types
        host = _format_host(server[0], server[1]) if server else b"localhost"
    return f"{scope['scheme']}://{host.decode('ascii')}{_root_path(scope)}{_app_path(scope)}{path}"


def path_within(scope: HTTPScope, path: str) -> str | None:
    """Read what a request asks for below the path of a surface; ``None`` when it is somewhere else.

    The router takes the root of the server away where it places a request.
    """
    members: Mapping[str, object] = scope  # its type says that all of them are there
    root = "" if "route_handler" in members else _root_path(scope)
    asked = scope["path"].removeprefix(root).rstrip("/")
    start = _app_path(scope) + path
    return asked.removeprefix(start) if f"{asked}/".startswith(f"{start}/") else None


def _root_path(scope: HTTPScope) -> str:
    root: str = scope.get("root_path", "")  # pyright: ignore[reportUnknownMemberType]  # as above
    return root.rstrip("/")


def _app_path(scope: HTTPScope) -> str:
    return scope["litestar_app"].path.rstrip("/")


def _format_host(host: str, port: int | None) -> bytes:
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}".encode() if port else shown.encode()


# Sending one whole answer.

JSON = b"application/json"

Header = tuple[bytes, bytes]


async def send_response(send: Send, body: bytes, media_type: bytes = JSON, status: int = 200, headers: Iterable[Header] = ()) -> None:
    """Send a body, or with ``HEAD`` what would come with it: a server leaves the body away there by itself."""
    sent = [(b"content-type", media_type), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_empty_response(send: Send, status: int, headers: Iterable[Header] = ()) -> None:
    """Send an answer that has no body."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


_CONTENT_TYPE, _ACCEPT = b"content-type", b"accept"

LAST_EVENT_ID = Parameter((CURSOR_HEADER,), "The number of the last event that was seen: the stream goes on after it.")
IDEMPOTENCY_KEY = Parameter(("Idempotency-Key",), "A message that comes again under the same key is taken once.")


def _header_spellings(parameter: Parameter) -> tuple[tuple[bytes, str], ...]:
    return tuple((header.lower().encode(), header.lower()) for header in parameter.headers)


_VERSION_HEADERS_AND_NAMES, _EXTENSION_HEADERS_AND_NAMES = _header_spellings(VERSION), _header_spellings(EXTENSIONS)
((_LAST_EVENT_ID, _),), ((_IDEMPOTENCY_KEY, _),) = _header_spellings(LAST_EVENT_ID), _header_spellings(IDEMPOTENCY_KEY)
_VERSION_HEADERS = tuple(header for header, _ in _VERSION_HEADERS_AND_NAMES)
_UNCOMMON_HEADERS = frozenset((_LAST_EVENT_ID, _IDEMPOTENCY_KEY, *(header for header, _ in _EXTENSION_HEADERS_AND_NAMES)))


class HttpRequest:
    """A request, as far as it has been read."""

    __slots__ = (
        "binding",
        "call_id",
        "caller",
        "dialect",
        "extensions",
        "extensions_header",
        "has_slot",
        "has_started_response",
        "headers",
        "idempotency_key",
        "last_event_id",
        "scope",
        "version",
    )

    def __init__(self, scope: HTTPScope, binding: ProtocolBinding, dialect: str) -> None:
        self.scope, self.binding, self.dialect = scope, binding, dialect
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.call_id: CallId = NO_ID
        self.caller = ""
        """To whom the tasks of the sender belong, once they were let in."""
        self.has_started_response = False
        self.has_slot = False
        """Whether it takes up some of the room of its surface."""
        self.version = self._read_version_header()
        self.extensions: tuple[str, ...] = ()
        self.extensions_header = b""
        """The header in which the client has named extensions, and is told which are in effect."""
        self.last_event_id: str | None = None
        self.idempotency_key: str | None = None
        if scope["query_string"] or not _UNCOMMON_HEADERS.isdisjoint(self.headers):
            self._read_parameters()

    def check_media_type(self, accepted: frozenset[bytes]) -> None:
        """Refuse a body that says that it is something else; one that says nothing is tried."""
        said = self.headers.get(_CONTENT_TYPE)
        if said is None or said in accepted:
            return
        if said.partition(b";")[0].strip().lower() not in accepted:
            names = ", ".join(sorted(each.decode() for each in accepted))
            raise ContentTypeNotSupportedError(f"The media type of a request is one of {names}")

    def response_media_type(self) -> bytes:
        """Say what an answer is: plain JSON, unless a client of HTTP+JSON shows that it knows the dialect's own media type."""
        if self.binding is ProtocolBinding.JSONRPC:
            return JSON
        usual, *others = DIALECTS[self.dialect].media_types
        shown = self.headers.get(_ACCEPT, b"") + b"," + self.headers.get(_CONTENT_TYPE, b"")
        return next((each.encode() for each in others if each.encode() in shown), usual.encode())

    def guess_dialect(self, supported: SupportedDialects) -> None:
        """Take the version for what it says about the dialect, until more is known."""
        self.dialect = supported.fallback(self.version)

    def _read_version_header(self) -> str | None:
        """Read the one parameter that nearly every request has, in a header, where that is."""
        for header in _VERSION_HEADERS:
            if header in self.headers:
                return _parse_version(self.headers[header])
        return None

    def _read_parameters(self) -> None:
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(self.scope["query_string"].decode("latin-1")):  # whose case does not matter, as that of headers
            query.setdefault(name.lower(), []).append(value)
        if self.version is None:
            self.version = normalize_version(next((text for _, text in self._iter_values(_VERSION_HEADERS_AND_NAMES, query)), None))
        extensions = tuple(self._iter_values(_EXTENSION_HEADERS_AND_NAMES, query))
        if extensions:
            self.extensions_header = extensions[0][0]
            named = [uri.strip() for _, text in extensions for uri in text.split(",")]
            self.extensions = tuple(dict.fromkeys(filter(None, named)))
        self.last_event_id = self._header_text(_LAST_EVENT_ID)
        self.idempotency_key = self._header_text(_IDEMPOTENCY_KEY)

    def _iter_values(self, spellings: tuple[tuple[bytes, str], ...], query: Mapping[str, list[str]]) -> Iterator[tuple[bytes, str]]:
        """Give everything that is said under some names, headers before the query."""
        for header, _ in spellings:
            if header in self.headers:
                yield from ((header, value.decode("latin-1")) for name, value in self.scope["headers"] if name == header)
        for header, name in spellings:
            yield from ((header, value) for value in query.get(name, ()))

    def _header_text(self, header: bytes) -> str | None:
        value = self.headers.get(header)
        return value.decode("latin-1") if value else None


@lru_cache(maxsize=64)  # there are two versions, and whatever else somebody may try
def _parse_version(value: bytes) -> str | None:
    return normalize_version(value.decode("latin-1"))
