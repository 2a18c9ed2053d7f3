"""Server-sent events as bytes that every reader takes for what they are.

JSON has no line ends of its own, but readers in Python cut a text at U+0085, U+2028 and U+2029 too: so nothing but ASCII is sent, and everything else
is escaped inside the strings of the JSON.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring_ascii

_NOT_ASCII = re.compile(rb"[\x80-\xff]+")

SILENCE = b": keepalive\n\n"
"""A comment: it tells a client, and whatever stands in between, that the connection lives."""


def ascii_json(json: bytes) -> bytes:
    """Write JSON in ASCII; what is ASCII already, which is most, is not looked at twice."""
    return json if json.isascii() else _NOT_ASCII.sub(_escaped, json)


def frame(number: int, json: bytes) -> bytes:
    """Write one event; one that has no number in a log, 0, has no id to go on from."""
    return b"id: %d\ndata: %b\n\n" % (number, ascii_json(json)) if number else b"data: %b\n\n" % ascii_json(json)


def error_frame(json: bytes) -> bytes:
    """Write the event that says that the stream has failed."""
    return b"event: error\ndata: %b\n\n" % ascii_json(json)


def _escaped(found: re.Match[bytes]) -> bytes:
    return encode_basestring_ascii(found[0].decode())[1:-1].encode()
