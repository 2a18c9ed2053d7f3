"""Watch over a client that has to read: what it does not read fills the memory of the server.

    the write buffer is full,    ──► start ──► after each TIMEOUT: anything read? ── yes ──► wait on
    or the connection is closed                                                   └─ no ───► abort

A slow client is not affected: it has to read half of ``_UNSENT_BYTES`` in each interval. Without
this limit the kernel takes megabytes, and more only when a third of them is read, which a slow
client does not do in time.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

_UNSENT_BYTES = 131_072
"""Data that the kernel may hold beside those on their way."""


class ReadingWatch:
    """Aborts one connection whose client reads nothing."""

    def __init__(self, transport: asyncio.Transport, timeout_seconds: float) -> None:
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0
        _limit_unsent(transport)

    def start(self) -> None:
        """Watch until ``stop``."""
        if self._timer is None:
            self._unread = self._transport.get_write_buffer_size()
            self._start_timer()

    def start_if_unread(self) -> bool:
        """Watch a connection that is closed as soon as everything is read; return whether something
        is unread.
        """
        is_unread = self._transport.is_closing() and self._transport.get_write_buffer_size() > 0
        if is_unread:
            self.start()
        return is_unread

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeout_seconds, self._check)

    def _check(self) -> None:
        unread = self._transport.get_write_buffer_size()
        if unread >= self._unread:
            self._timer = None
            self._transport.abort()
            return
        self._unread = unread
        self._start_timer()


def _limit_unsent(transport: asyncio.Transport) -> None:
    connection: socket.socket | None = transport.get_extra_info("socket")
    # not every system has it
    option: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    if (
        connection is None
        or option is None
        or connection.family == getattr(socket, "AF_UNIX", None)
    ):
        return
    # the client may be gone
    with suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, option, _UNSENT_BYTES)
