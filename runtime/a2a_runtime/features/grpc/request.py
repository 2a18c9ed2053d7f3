"""A call over gRPC as a request, and its error as a status."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import grpc
from grpc.aio import ServicerContext
from litestar.types import HTTPScope, Message

from a2a_runtime.auth.authentication import GRPC_EXTENSION
from a2a_runtime.features.grpc.messages import STATUS_TRAILER, encode_status
from a2a_runtime.http.asgi import Header, HttpRequest, Interrupt
from a2a_runtime.http.errors import ErrorStatus
from a2a_runtime.service.context import ProtocolBinding

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# The stubs of grpcio leave the types of messages open.

_IP_PEER = re.compile(r"ipv[46]:\[?(?P<host>[^\]]*?)\]?:(?P<port>\d+)")
_VIOLATIONS = "fieldViolations"
_MAX_STATUS_BYTES = 3000
"""Size of a status: clients refuse metadata of more than 8 kB, and the status is in base64 there,
beside the text.
"""
_MAX_TEXT_CHARS = 300
_VIOLATION_COUNTS = (100, 20, 5, 1, 0)


class CallInterrupt(Interrupt):
    """Keeps an error back while gRPC sends something: a call whose operation is canceled halfway
    cannot be ended, and its client waits for ever.
    """

    _is_sending = False
    _postponed: Exception | None = None

    def throw(self, error: Exception) -> None:
        """Throw an error, now or after what is being sent."""
        if self._is_sending:
            self._postponed = self._postponed or error
        else:
            super().throw(error)

    async def complete(self, operation: Awaitable[None]) -> None:
        """Await an operation of gRPC; raise the error that came meanwhile."""
        self._is_sending = True
        try:
            await operation
        finally:
            self._is_sending = False
        if self._postponed is not None:
            raise self._postponed


class CallRequest(HttpRequest):
    """A call while it is processed: gRPC is a POST of HTTP/2 whose metadata are headers."""

    def __init__(
        self, path: str, context: ServicerContext[Any, Any], *, has_certificates: bool = False
    ) -> None:
        super().__init__(
            _build_scope(path, context, has_certificates=has_certificates),
            _receive_nothing,
            _send_nothing,
            ProtocolBinding.GRPC,
        )
        self.interrupt: CallInterrupt = CallInterrupt()
        self._context = context
        self.failure: ErrorStatus | None = None
        """The error that ends the call."""

    async def send_headers(self, headers: Sequence[Header]) -> None:
        """Send the initial metadata."""
        self.has_started_response = True
        await self.interrupt.complete(self._context.send_initial_metadata(_to_metadata(headers)))

    async def send_message(self, message: bytes) -> None:
        """Send a message of a stream, once the client has room for it."""
        await self.interrupt.complete(self._context.write(message))

    async def abort(self, failure: ErrorStatus) -> None:
        """End the call with an error."""
        code = grpc.StatusCode[failure.code]
        text = (
            failure.message
            if len(failure.message) <= _MAX_TEXT_CHARS
            else f"{failure.message[: _MAX_TEXT_CHARS - 1]}…"
        )
        status = _encode_bounded(code, text, failure.details)
        self._context.set_trailing_metadata(
            (*_to_metadata(failure.headers), (STATUS_TRAILER, status))
        )
        await self._context.abort(code, text)


def _encode_bounded(
    code: grpc.StatusCode, text: str, details: Sequence[Mapping[str, object]]
) -> bytes:
    """Encode a status with as many field errors as fit."""
    number = code.value[0]
    for count in _VIOLATION_COUNTS:
        status = encode_status(
            number,
            text,
            [_shorten(each, count) for each in details if count or _VIOLATIONS not in each],
        )
        if len(status) <= _MAX_STATUS_BYTES:
            return status
    return encode_status(
        number, text, [{**each, "metadata": {}} for each in details if _VIOLATIONS not in each]
    )


def _shorten(detail: Mapping[str, object], count: int) -> Mapping[str, object]:
    violations = detail.get(_VIOLATIONS)
    if isinstance(violations, list):
        return {**detail, _VIOLATIONS: violations[:count]}
    return detail


def _to_metadata(headers: Sequence[Header]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name.decode("latin-1"), value.decode("ascii", "replace").replace("\ufffd", "?"))
        for name, value in headers
    )


def _build_scope(
    path: str, context: ServicerContext[Any, Any], *, has_certificates: bool
) -> HTTPScope:
    metadata = context.invocation_metadata() or ()
    certificate_name = _read_certificate_name(context.auth_context()) if has_certificates else None
    headers: list[tuple[bytes, bytes]] = []
    for key, value in metadata:
        encoded = value if isinstance(value, bytes) else value.encode()
        headers.append((key.encode(), encoded))
    scope: Any = {  # the members of a request that is routed already
        "type": "http",
        "http_version": "2",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": headers,
        "client": _parse_peer(context.peer()),
        "extensions": {GRPC_EXTENSION: {}, "tls": {"client_cert_name": certificate_name}},
    }
    return scope  # type: ignore[no-any-return]  # as above


def find_address(context: ServicerContext[Any, Any]) -> str:
    """Find the address of a client, without its port; it is empty for a Unix socket."""
    client = _parse_peer(context.peer())
    if client:
        return client[0]
    return ""


@lru_cache(maxsize=1024)  # the calls of a connection have the same
def _parse_peer(peer: str) -> tuple[str, int] | None:
    """Parse the address of the client; a Unix socket has none."""
    match = _IP_PEER.fullmatch(unquote(peer))
    if match:
        return (match["host"], int(match["port"]))
    return None


def _read_certificate_name(auth_context: Mapping[str, Iterable[bytes]]) -> str | None:
    """Read the subject of a verified client certificate, in the spelling that HTTP has."""
    encoded = auth_context.get("x509_pem_cert")
    if not encoded:
        return None
    # An extra, which only client certificates need.
    from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415 - as above

    return load_pem_x509_certificate(next(iter(encoded))).subject.rfc4514_string()


async def _receive_nothing() -> Any:  # noqa: ANN401 - it does not return
    raise RuntimeError("gRPC: a call has no body to receive and no disconnect to wait for")


async def _send_nothing(_message: Message) -> None:
    raise RuntimeError("gRPC: a call is not answered over HTTP")
