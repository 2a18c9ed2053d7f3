"""Reading the body of a request, and no more of it than a surface takes."""

from __future__ import annotations

from collections.abc import Mapping

from litestar.types import HTTPRequestEvent, Receive
from pydantic_core import from_json

from a2a_contract.errors import ParseError, PayloadTooLargeError

_CONTENT_LENGTH = b"content-length"
_DIGITS = 19


class GoneError(Exception):
    """The client has gone away before its request was whole: there is nobody to answer."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """Read a body, or refuse it as soon as it is known to be too large."""
    message = await receive()
    if message["type"] != "http.request":
        raise GoneError
    body, is_whole = _piece(message)
    if not is_whole:
        return await _rest(receive, headers, limit, body)
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _rest(receive: Receive, headers: Mapping[bytes, bytes], limit: int, first: bytes) -> bytes:
    """Read on, if the request does not say itself that it is too large."""
    declared = headers.get(_CONTENT_LENGTH, b"0")
    if not declared.isdigit() or len(declared) > _DIGITS or int(declared) > limit:
        raise _too_large(limit)
    body, more = bytearray(first), True
    while more:
        if len(body) > limit:
            raise _too_large(limit)
        message = await receive()
        if message["type"] != "http.request":
            raise GoneError
        piece, is_last = _piece(message)
        body += piece
        more = not is_last
    if len(body) > limit:
        raise _too_large(limit)
    return bytes(body)


def check_json(body: bytes) -> None:
    """Refuse words that parsers take for numbers although JSON has none; where they only stand in a text, it costs a look at it."""
    if b"NaN" in body or b"Infinity" in body:
        try:
            from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error


def _piece(message: HTTPRequestEvent) -> tuple[bytes, bool]:
    """Read a piece of a body, and whether it is the last; a server may leave out what is usual, though hardly one does."""
    try:
        return message["body"], not message["more_body"]
    except KeyError:
        whole: HTTPRequestEvent = {"type": "http.request", "body": b"", "more_body": False, **message}
        return whole["body"], not whole["more_body"]


def _too_large(limit: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(f"A request has at most {limit} bytes", details={"limit": str(limit)})
