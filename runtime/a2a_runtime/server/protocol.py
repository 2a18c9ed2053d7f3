"""HTTP/1.1 for uvicorn with bounds up to the end of the headers, before any credentials can be checked.

    uvicorn --http a2a_runtime.server.protocol:BoundedHttpProtocol …

uvicorn itself takes headers of any size with httptools, and waits for their end for ever. ``a2a-gen serve`` uses this class.

    IDLE ── first byte ──► HEAD ── end of the headers ──► BODY ── end of the body ──► IDLE
    └───────── at most HEAD_TIMEOUT_SECONDS ────────┘

A process has a limit of open connections, so that descriptors for its store and its own calls are left. A connection beyond it takes the place of
the one that has waited longest for a request, or for the end of its headers; if all others are busy, it is refused (503).

It also drops trailers, which uvicorn would append to the headers of the running request, and reports client certificates (ASGI extension ``tls``).
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from enum import Enum, auto
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 65_536
"""Of the request line and all headers together."""
MAX_HEADERS = 100
HEAD_TIMEOUT_SECONDS = 10.0
_CONNECTION_SHARE = 0.75
"""Of the descriptors that a process may have."""


def default_max_connections() -> int:
    """Return the number of connections that the descriptors of this process allow."""
    soft_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MANY if soft_limit == resource.RLIM_INFINITY else max(int(soft_limit * _CONNECTION_SHARE), 1)


_MANY = 1_000_000


class _Phase(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    max_connections = default_max_connections()
    """Open connections of the process."""
    _waiting: ClassVar[dict[BoundedHttpProtocol, None]] = {}
    """Connections that wait for a request or for the end of its headers, the longest wait first."""
    _phase = _Phase.IDLE
    _has_begun = False
    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _tls: dict[str, object] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._tls = _describe_tls(transport)
        self._start_deadline()
        if len(self.connections) > self.max_connections:
            oldest = next(iter(self._waiting))
            oldest._refuse(HTTPStatus.SERVICE_UNAVAILABLE if oldest is self else HTTPStatus.REQUEST_TIMEOUT)  # noqa: SLF001 - of this class

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse a chunk; refuse the connection if the headers are still open and too large."""
        before, self._has_begun = self._phase, False
        super().data_received(data)
        has_ended = self._phase is _Phase.IDLE and (self._has_begun or before is not _Phase.IDLE)
        if has_ended or self._phase is _Phase.BODY or self.transport.is_closing():
            return
        self._start_deadline()
        if before is not _Phase.BODY:  # else the chunk is, for the most part, the end of a body
            self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._phase, self._head_bytes, self._has_begun = _Phase.HEAD, 0, True
        super().on_message_begin()
        if self._tls is not None:
            self.scope["extensions"] = {"tls": self._tls}  # type: ignore[dict-item]  # uvicorn's type is narrower than that of ASGI

    def on_headers_complete(self) -> None:
        """Check the headers before the request reaches the app."""
        head_bytes = len(self.url) + sum([len(name) + len(value) for name, value in self.headers])  # a chunk may hold a body, or other requests
        if len(self.headers) > MAX_HEADERS or head_bytes > MAX_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            raise ValueError("the headers are too large")  # ends the parsing of the chunk; what the base class answers is not sent any more
        self._stop_deadline()
        self._phase = _Phase.BODY
        super().on_headers_complete()
        # The parser is there until the connection is lost.
        if not self.parser.should_upgrade():  # pyright: ignore[reportOptionalMemberAccess]  # else the base class reads them again
            self.headers = []  # of the trailers, which are dropped

    def on_message_complete(self) -> None:
        """End a request."""
        self._phase, self._head_bytes = _Phase.IDLE, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        if self._phase is _Phase.IDLE:
            self._waiting[self] = None

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self._refuse, HTTPStatus.REQUEST_TIMEOUT)
            self._waiting[self] = None

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._waiting.pop(self, None)

    def _refuse(self, status: HTTPStatus) -> None:
        self._stop_deadline()
        if self.transport.is_closing():
            return
        if getattr(self.cycle, "response_complete", True):  # there is no cycle yet, or its response is complete
            self.transport.write(f"HTTP/1.1 {status} {status.phrase}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode())
        self.transport.close()


def _describe_tls(transport: asyncio.Transport) -> dict[str, object] | None:
    """Describe the client's certificate as the ASGI extension does; ``None`` without TLS."""
    connection: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    if connection is None:
        return None
    encoded = connection.getpeercert(binary_form=True) if connection.context.verify_mode is not ssl.CERT_NONE else None
    if encoded is None:
        return {"client_cert_name": None}
    from cryptography.x509 import load_der_x509_certificate  # noqa: PLC0415 - an extra, needed only for client certificates

    return {"client_cert_name": load_der_x509_certificate(encoded).subject.rfc4514_string()}
