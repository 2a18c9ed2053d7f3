"""Notifier over LISTEN and NOTIFY: one connection for each process, one channel for all.

Notifications are sent after the commit, never inside the transaction: NOTIFY would hold a lock of
the whole server through its commit. Keys that arrive while one is being sent, and a few
milliseconds longer, go together into the next one, so a busy process sends few of them.

The connection must reach the server itself: behind a pooler in transaction mode, LISTEN succeeds
but never receives anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress

import asyncpg

from a2a_runtime.base.logs import OutageLog
from a2a_runtime.stores.notifier import NotificationListener

CHANNEL = "a2a_doorbell"
_ALL_KEYS = "*"
_MAX_PAYLOAD_BYTES = 7_900  # the limit of the server is 8,000
_PAUSE_SECONDS = 0.005  # each notification wakes all processes
_MAX_LAST_SECONDS = 1.0
_MAX_PENDING_KEYS = 2_000  # beyond that, reading all tasks is cheaper than listing keys

# The last one: the server has announced its shutdown, but the stream has not ended.
_CONNECTION_ERRORS = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class PostgresNotifier:
    """Notifies every other process that listens on the same database."""

    def __init__(self, dsn: str, *, check_seconds: float = 5.0, retry_seconds: float = 0.2) -> None:
        self._dsn = dsn
        self._check_seconds = check_seconds
        self._retry_seconds = retry_seconds
        self._pending: set[str] = set()
        self._wake_up = asyncio.Event()
        self._outages = OutageLog("notifier", calm_seconds=0)
        self.is_connected = False
        """Set while notifications arrive."""

    def notify(self, keys: Iterable[str]) -> None:
        """Add the keys to the next notification."""
        self._pending.update(keys)
        if len(self._pending) > _MAX_PENDING_KEYS:
            self._pending = {_ALL_KEYS}
        self._wake_up.set()

    async def listen(self, listener: NotificationListener) -> None:
        """Send and receive notifications until cancelled; after a reconnect, all tasks count as
        changed.
        """
        while True:
            try:
                await self._session(listener)
            except _CONNECTION_ERRORS as error:
                self._outages.on_failure(error)
            await asyncio.sleep(self._retry_seconds)

    async def _session(self, listener: NotificationListener) -> None:
        # A notification is worth nothing after a crash, so its commit need not wait for the disk.
        settings = {"synchronous_commit": "off"}
        connection = await asyncpg.connect(
            self._dsn,
            timeout=self._check_seconds,
            command_timeout=self._check_seconds,
            server_settings=settings,
        )
        try:
            own = connection.get_server_pid()

            def on_notify(_: object, pid: int, __: str, payload: object) -> None:
                # The readers of this process have the event already.
                if pid != own:
                    _dispatch(str(payload), listener)

            await connection.add_listener(CHANNEL, on_notify)
            connection.add_termination_listener(lambda _: self._wake_up.set())
            self._outages.on_success()
            self.is_connected = True
            # Notifications before this moment were lost.
            listener.on_reconnect()
            while not connection.is_closed():
                await self._wait()
                await self._send(connection)
                await asyncio.sleep(_PAUSE_SECONDS)
        except asyncio.CancelledError:  # the process stops, and others go on with its tasks
            with suppress(*_CONNECTION_ERRORS):
                async with asyncio.timeout(_MAX_LAST_SECONDS):
                    if self._pending:
                        await self._send(connection)
            raise
        finally:
            self.is_connected = False
            connection.terminate()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._check_seconds):
                await self._wake_up.wait()
        self._wake_up.clear()

    async def _send(self, connection: asyncpg.Connection) -> None:
        """Send the pending keys; without any, check the connection, because a half-open one reports
        no error.
        """
        # Keys that come during the sending are collected apart. After an error, both are pending.
        unsent = self._pending
        self._pending = set[str]()
        try:
            if not unsent:
                await connection.execute("SELECT 1")
            for payload in _split_payloads(unsent):
                await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, payload)
            unsent = set[str]()
        finally:
            self._pending |= unsent


def _split_payloads(keys: Iterable[str]) -> Iterator[str]:
    """Join keys into as few payloads as possible."""
    payload = ""
    for key in keys:
        if len(payload) + len(key) >= _MAX_PAYLOAD_BYTES:
            yield payload
            payload = ""
        payload = f"{payload},{key}" if payload else key
    if payload:
        yield payload


def _dispatch(payload: str, listener: NotificationListener) -> None:
    keys = payload.split(",")
    if _ALL_KEYS in keys:
        listener.on_reconnect()
    else:
        listener.on_notification(keys)
