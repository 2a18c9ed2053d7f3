"""HTTP/1.1 for uvicorn with bounds for what a client sends and reads, before any credentials can be
checked.

    uvicorn --http a2a_runtime.features.server.protocol:BoundedHttpProtocol …

uvicorn itself takes headers of any size with httptools, waits for their end for ever, and keeps
answers that no client reads for ever. ``a2a-gen serve`` uses this class.

    IDLE ── first byte ──► HEAD ── end of the headers ──► BODY ── end of the body ──► IDLE
    └───────── at most HEAD_TIMEOUT_SECONDS ────────┘       │
                                                            └── end of the response ──► CLOSING,
                                                                        at most CLOSING_SECONDS

A response that begins before its request has ended says ``Connection: close``. What the client
still sends is read and dropped for a while: closing at once would reset the connection, and many
clients would lose the response. ``reading`` closes connections whose client does not read.

A process has a limit of open connections, so that descriptors for its store and its own calls are
left. A connection beyond it takes the place of the one that has waited longest for a request, for
the end of its headers or for its client to close it; if all others are busy, it is refused (503).

It also drops trailers, which uvicorn would append to the headers of the running request, and
reports client certificates (ASGI extension ``tls``).
"""

from __future__ import annotations

import asyncio
import ssl
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from a2a_runtime.base.descriptors import take_share
from a2a_runtime.features.server.reading import ReadingWatch

MAX_HEAD_BYTES = 65_536
"""Of the request line and all headers together."""
MAX_HEADERS = 100
HEAD_TIMEOUT_SECONDS = 10.0
CLOSING_SECONDS = 5.0
"""Time for a client to close a connection that the server has announced to close."""
_CONNECTION_SHARE = 0.75
"""Of the descriptors that a process may have."""
_MANY = 1_000_000


def default_max_connections() -> int:
    """Return the number of connections that the descriptors of this process allow."""
    return take_share(_CONNECTION_SHARE) or _MANY


class _Phase(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    CLOSING = auto()


class _ResponseTransport(asyncio.Transport):
    """The connection as a response sees it: closing it is left to the protocol, which may have to
    read on.
    """

    def __init__(self, protocol: BoundedHttpProtocol) -> None:
        super().__init__()
        self._protocol = protocol

    # typed as Any: bytes, under a name that differs between the versions of Python
    def write(self, data: Any) -> None:  # noqa: ANN401
        """Write."""
        self._protocol.transport.write(data)

    def is_closing(self) -> bool:
        """Tell whether nothing can be written any more."""
        return self._protocol.is_closing()

    def close(self) -> None:
        """End the connection after the response."""
        self._protocol.end_connection()


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    max_connections = default_max_connections()
    """Open connections of the process."""
    send_timeout = 30.0
    """Seconds in which a client has to read some of an answer."""
    _waiting: ClassVar[dict[BoundedHttpProtocol, None]] = {}
    """Connections that wait for their client, the longest wait first."""
    _phase = _Phase.IDLE
    _has_begun = False
    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _tls: dict[str, object] | None = None
    _keeps_alive = True
    """Whether the connection may stay open after the response to the request that is being read."""

    # typed as in the base class
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._tls = _describe_tls(transport)
        self._reading = ReadingWatch(transport, self.send_timeout)
        self._start_deadline()
        if len(self.connections) > self.max_connections:
            oldest = next(iter(self._waiting))
            status = HTTPStatus.REQUEST_TIMEOUT
            if oldest is self:
                status = HTTPStatus.SERVICE_UNAVAILABLE
            oldest._give_way(status)  # noqa: SLF001 - of this class

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_deadline()
        self._reading.stop()
        # there is none before the first request
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison]
            # the cycle no longer refers to this protocol: both are freed without the garbage
            # collector
            self.cycle.transport = self.transport
        super().connection_lost(exc)

    def is_closing(self) -> bool:
        """Tell whether no response can be written any more."""
        return self._phase is _Phase.CLOSING or self.transport.is_closing()

    def end_connection(self) -> None:
        """Close the connection after a response; if its request has not ended, let the client read
        the response first.
        """
        if self._phase is not _Phase.BODY or self.transport.is_closing():
            self._close()
            return
        self._phase = _Phase.CLOSING
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        # TLS cannot close one direction only
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._wait(CLOSING_SECONDS)

    def pause_writing(self) -> None:
        """Begin to watch whether the client reads."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """Write on."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._reading.stop()

    def shutdown(self) -> None:
        """Close the connection after the response, or now."""
        super().shutdown()
        self._keeps_alive = False
        self._reading.start_if_unread()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection without a next request."""
        self._close()

    def data_received(self, data: bytes) -> None:
        """Parse a chunk; refuse the connection if the headers are still open and too large."""
        if self._phase is _Phase.CLOSING:
            return
        before = self._phase
        self._has_begun = False
        super().data_received(data)
        has_ended = self._phase is _Phase.IDLE and (self._has_begun or before is not _Phase.IDLE)
        if has_ended or self._phase is _Phase.BODY or self.is_closing():
            return
        self._start_deadline()
        # after a body, the chunk is for the most part the end of it
        if before is not _Phase.BODY:
            self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._phase = _Phase.HEAD
        self._head_bytes = 0
        self._has_begun = True
        super().on_message_begin()
        if self._tls is not None:
            # uvicorn's type is narrower than that of ASGI
            self.scope["extensions"] = {"tls": self._tls}  # type: ignore[dict-item]

    def on_headers_complete(self) -> None:
        """Check the headers before the request reaches the app."""
        # a chunk may hold a body, or other requests
        head_bytes = len(self.url) + sum([len(name) + len(value) for name, value in self.headers])
        if len(self.headers) > MAX_HEADERS or head_bytes > MAX_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            # this ends the parsing of the chunk; what the base class answers is not sent any more
            raise ValueError("the headers are too large")
        if sum([name == b"host" for name, _ in self.headers]) > 1:
            self._refuse(HTTPStatus.BAD_REQUEST)
            raise ValueError("the hosts are several")  # as above
        self._stop_deadline()
        self._phase = _Phase.BODY
        previous = self.cycle
        super().on_headers_complete()
        # otherwise a WebSocket begins
        if self.cycle is not previous:
            self.cycle.transport = _ResponseTransport(self)
            # A response that begins now says that the connection is closed after it.
            self._keeps_alive = self.cycle.keep_alive
            self.cycle.keep_alive = False
        # The parser is there until the connection is lost.
        # in an upgrade the base class reads the headers again
        if not self.parser.should_upgrade():  # pyright: ignore[reportOptionalMemberAccess]
            # what follows are trailers, which are dropped
            self.headers = []

    def on_message_complete(self) -> None:
        """End a request."""
        self._phase = _Phase.IDLE
        self._head_bytes = 0
        super().on_message_complete()
        # there is no cycle where a WebSocket begins
        if not getattr(self.cycle, "response_started", True):
            self.cycle.keep_alive = self._keeps_alive

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        if self._phase is _Phase.CLOSING:
            self.server_state.total_requests += 1
            return
        super().on_response_complete()
        if self._phase is _Phase.IDLE:
            self._waiting[self] = None

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._wait(HEAD_TIMEOUT_SECONDS)

    def _wait(self, seconds: float) -> None:
        """Wait for the client; until then, the connection may give way to others."""
        self._stop_deadline()
        self._deadline = self.loop.call_later(seconds, self._refuse, HTTPStatus.REQUEST_TIMEOUT)
        self._waiting[self] = None

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._waiting.pop(self, None)

    def _give_way(self, status: HTTPStatus) -> None:
        """Close the connection for another one, at once if its client has its answer."""
        if self.is_closing():
            self._waiting.pop(self, None)
            self.transport.abort()
        else:
            self._refuse(status)

    def _refuse(self, status: HTTPStatus) -> None:
        self._stop_deadline()
        # there is no cycle yet, or its response is complete
        may_answer = getattr(self.cycle, "response_complete", True)
        if not self.is_closing() and may_answer:
            head = f"HTTP/1.1 {status} {status.phrase}\r\n"
            fields = "connection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write((head + fields).encode())
        self._close()

    def _close(self) -> None:
        """Close the connection when the client has read everything; until then, it may give way to
        others.
        """
        self.transport.close()
        if self._reading.start_if_unread():
            self._waiting[self] = None


def _describe_tls(transport: asyncio.Transport) -> dict[str, object] | None:
    """Describe the client's certificate as the ASGI extension does; ``None`` without TLS."""
    connection: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    if connection is None:
        return None
    encoded = None
    if connection.context.verify_mode is not ssl.CERT_NONE:
        encoded = connection.getpeercert(binary_form=True)
    if encoded is None:
        return {"client_cert_name": None}
    # an extra, imported only here, needed only for client certificates
    from cryptography.x509 import load_der_x509_certificate  # noqa: PLC0415

    return {"client_cert_name": load_der_x509_certificate(encoded).subject.rfc4514_string()}
