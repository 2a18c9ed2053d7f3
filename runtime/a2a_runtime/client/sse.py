"""Incremental parser of server-sent events.

Lines end at CR, LF or CR LF only: JSON may contain U+2028, U+2029 and U+0085, where
``str.splitlines`` would split too. Data stays bytes until an event is complete, so that no
character is split. An event that is incomplete at the end of the stream is dropped.
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
    """One event; ``last_event_id`` is the cursor to resume after, its own or that of an earlier
    event.
    """

    name: str
    data: bytes
    last_event_id: str | None


class EventParser:
    """Turns chunks into events."""

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
        """Add a chunk, and yield the events that it completes."""
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
        """Drop a byte order mark at the beginning, even if it is split over chunks."""
        if self._undecided_start is None:
            return chunk
        start = self._undecided_start + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._undecided_start = start
            return b""
        self._undecided_start = None
        return start.removeprefix(_BOM)

    def _buffer_line(self, piece: bytes) -> None:
        self._line_size += len(piece)
        self._check_size(self._line_size)
        if piece:
            self._line.append(piece)

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise ResponseTooLargeError(
                f"Stream: event larger than {self._max_bytes} bytes; raise "
                "ResponseLimits.event_bytes if you trust the agent"
            )

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
                self._check_size(self._data_size)
                self._data.append(value)
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._last_event_id = value.decode("utf-8", "replace") or None
            case _:
                pass  # a comment, or an unknown field
        return None

    def _dispatch(self) -> ServerEvent | None:
        data = b"\n".join(self._data)
        name = self._name or MESSAGE
        has_data = bool(self._data)
        self._data.clear()
        self._data_size = 0
        self._name = ""
        if has_data:
            return ServerEvent(name, data, self._last_event_id)
        return None
