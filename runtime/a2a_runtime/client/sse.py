"""Server-sent events from bytes, however they are cut.

Lines end at CR, LF or CR LF and nowhere else: JSON may hold U+2028, U+2029 and U+0085, at which ``str.splitlines`` would cut too. All is kept as
bytes until an event is whole, so that no character is ever cut in two. What is not whole when the stream ends is no event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from a2a_runtime.client.errors import ResponseTooLargeError

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
MESSAGE = "message"


class ServerEvent(NamedTuple):
    """One event: ``last_id`` is the cursor to go on from, its own or that of an event before it."""

    name: str
    data: bytes
    last_event_id: str | None


class EventParser:
    """Takes chunks and gives events."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._last_event_id: str | None = None
        self._line: list[bytes] = []
        self._line_size = 0
        self._after_cr = False
        self._undecided_start: bytes | None = b""
        self._name = ""
        self._data: list[bytes] = []
        self._data_size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Take a chunk, and give the events that it completes."""
        chunk = self._strip_bom(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        *ends, rest = _LINE_END.split(chunk)
        for end in ends:
            event = self._parse_line(self._complete_line(end))
            if event is not None:
                yield event
        self._buffer_line(rest)

    def _strip_bom(self, chunk: bytes) -> bytes:
        """Leave out a byte order mark at the very beginning, even if it comes in pieces."""
        if self._undecided_start is None:
            return chunk
        begun = self._undecided_start + chunk
        if len(begun) < len(_BOM) and _BOM.startswith(begun):
            self._undecided_start = begun
            return b""
        self._undecided_start = None
        return begun.removeprefix(_BOM)

    def _buffer_line(self, piece: bytes) -> None:
        self._line_size += len(piece)
        if self._line_size > self._max_bytes:
            raise ResponseTooLargeError(f"A line of the stream has more than {self._max_bytes} bytes")
        if piece:
            self._line.append(piece)

    def _complete_line(self, end: bytes) -> bytes:
        self._buffer_line(end)
        line = b"".join(self._line)
        self._line.clear()
        self._line_size = 0
        return line

    def _parse_line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self._data_size += len(value) + 1
                if self._data_size > self._max_bytes:
                    raise ResponseTooLargeError(f"An event of the stream has more than {self._max_bytes} bytes")
                self._data.append(value)
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._last_event_id = value.decode("utf-8", "replace") or None
            case _:
                pass  # a comment, or a field that means nothing here
        return None

    def _dispatch(self) -> ServerEvent | None:
        data, name = b"\n".join(self._data), self._name or MESSAGE
        there = bool(self._data)
        self._data.clear()
        self._data_size, self._name = 0, ""
        return ServerEvent(name, data, self._last_event_id) if there else None
