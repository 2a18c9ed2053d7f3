"""Connection pool, and translation of connection errors.

Connections hold no session state (no SET, no session locks, no cursors), so they return to the pool
without the query that resets them, which costs a third of the throughput (measured). Code that
needs session state opens a connection of its own. While calls follow each other, a connection stays
with this module between them: its way through the driver's pool takes 30 µs, a fifth of what a
message costs a single caller (measured).

Temporary errors (no free connection in time, no server, a server that starts or stops, a statement
that takes too long) become ``StoreUnavailableError`` with a fix. All other errors of the server are
bugs or invalid data, and pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from a2a_runtime.base.logs import OutageLog
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import FailPoint, no_fault

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"  # generic for type checkers only

_MAX_FREE_SECONDS = 1.0

QUEUE_ENGINE = "procrastinate"
"""The engine of the queue of workers; the names of all that it has in a database begin with it."""

_MISSING_ERRORS = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedObjectError,
)
_DRIVER_ERRORS = (asyncpg.InterfaceError, asyncpg.InternalClientError)
_UNAVAILABLE_ERRORS = (
    OSError,  # refused, reset, timed out
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shutting down, crashed, starting up
    asyncpg.InsufficientResourcesError,  # too many connections, disk full, out of memory
    asyncpg.ReadOnlySQLTransactionError,  # a former primary that is a replica now
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Size and timeouts of a pool."""

    size: int = 16
    acquire_seconds: float = 5.0  # for a free connection
    connect_seconds: float = 5.0  # for a new one
    statement_seconds: float = 30.0  # for a statement
    # 0 is used behind a pooler, where the next call may get another connection of the server
    statement_cache_size: int = 256


class Pool:
    """A pool of connections to one database."""

    def __init__(
        self, dsn: str, settings: PoolSettings | None = None, fail_point: FailPoint = no_fault
    ) -> None:
        self.dsn = dsn
        self._settings = settings or PoolSettings()
        self.fail_point = fail_point
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._outages = OutageLog(f"store: {self.address}")
        self.queue_outages = OutageLog(f"queue: {self.address}")
        """Outages of the queue of workers alone: its tables are missing."""
        self._free: list[Connection] = []
        self._waiting_count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._returning: asyncio.Task[None] | None = None
        self.is_behind_pooler = False
        """True if a pooler answers at the address, known when the pool is open; statements are not
        cached then.
        """

    async def open(self) -> None:
        """Connect once, so that a wrong address fails at the start, and a pooler is recognized."""
        settings = self._settings
        with self._translate_errors():
            self.is_behind_pooler = await is_pooler(self.dsn, settings.connect_seconds)
            self._pool = await asyncpg.create_pool(
                self.dsn,
                min_size=0,
                max_size=settings.size,
                timeout=settings.connect_seconds,
                command_timeout=settings.statement_seconds,
                statement_cache_size=0 if self.is_behind_pooler else settings.statement_cache_size,
                max_inactive_connection_lifetime=300.0,
                reset=_skip_reset,
            )

    async def close(self) -> None:
        """Wait for running statements, then close all connections."""
        if self._pool is not None:
            pool = self._pool
            self._pool = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._returning is not None:
                await self._returning
            try:
                await self._return_free(pool)
                await asyncio.wait_for(pool.close(), self._settings.statement_seconds)
            except (TimeoutError, *_UNAVAILABLE_ERRORS):
                pool.terminate()

    async def fetch(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        """Run one statement and return its rows."""
        async with self.connection() as connection:
            return await connection.fetch(statement, *arguments)

    async def fetchrow(self, statement: str, *arguments: object) -> asyncpg.Record | None:
        """Run one statement and return its first row."""
        async with self.connection() as connection:
            return await connection.fetchrow(statement, *arguments)

    async def fetchmany(
        self, statement: str, arguments: Sequence[Sequence[object]]
    ) -> list[asyncpg.Record]:
        """Run one statement with each set of arguments, in order, in one round trip and one commit;
        return all rows.
        """
        async with self.connection() as connection:
            return await connection.fetchmany(statement, arguments)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        """Provide a connection in a transaction."""
        async with self.connection() as connection:
            async with connection.transaction():
                yield connection
                self.fail_point("before commit")
            self.fail_point("after commit")

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Connection]:
        """Provide a connection."""
        pool = self._require_open()
        with self._translate_errors():
            connection = await self._take(pool)
            stays = False
            try:
                yield connection
                # Whatever failed or was canceled goes back to the driver.
                stays = not self._waiting_count and self._pool is pool
                if self._outages.is_open:
                    self._outages.on_success()
            except (*_UNAVAILABLE_ERRORS, *_DRIVER_ERRORS) as error:
                # No reset checks a connection, so one that may be broken must not return to the
                # pool. The driver may not know it yet: the server has announced its shutdown, but
                # the stream has not ended.
                if not _is_closed(connection):
                    connection.terminate()
                    if isinstance(error, asyncpg.InterfaceError):
                        raise  # misuse of the driver: a bug
                raise self._to_unavailable_error(error) from error
            except _MISSING_ERRORS as error:
                if QUEUE_ENGINE not in str(error):
                    raise
                missing = StoreUnavailableError(
                    f"{self.address}: the tables for workers are missing; run `a2a-gen db upgrade`"
                )
                self.queue_outages.on_failure(missing)
                raise missing from error
            finally:
                if stays:
                    self._keep(pool, connection)
                else:
                    await _release(pool, connection)

    async def _take(self, pool: asyncpg.Pool[asyncpg.Record]) -> Connection:
        """Take a free connection, or acquire one."""
        while self._free:
            connection = self._free.pop()
            if not _is_closed(connection):
                return connection
            await _release(pool, connection)
        self._waiting_count += 1
        try:
            return await self._acquire(pool)
        finally:
            self._waiting_count -= 1

    def _keep(self, pool: asyncpg.Pool[asyncpg.Record], connection: Connection) -> None:
        """Keep a connection for the next call."""
        self._free.append(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                _MAX_FREE_SECONDS, self._start_return, pool
            )

    def _start_return(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self._timer = None
        self._returning = asyncio.create_task(self._return_free(pool))

    async def _return_free(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        """Return the free connections to the driver, which closes those that it does not want any
        more.
        """
        while self._free:
            await _release(pool, self._free.pop())

    async def _acquire(self, pool: asyncpg.Pool[asyncpg.Record]) -> Connection:
        settings = self._settings
        try:
            # A free connection needs no timer.
            seconds = None if pool.get_idle_size() else settings.acquire_seconds
            return await pool.acquire(timeout=seconds)
        except asyncpg.InterfaceError as error:
            raise self._to_unavailable_error(error) from error  # closed in the meantime
        except TimeoutError as error:
            raise self._build_error(
                f"no connection became free within {settings.acquire_seconds:g} s; raise the "
                "size of the pool "
                f"(now {settings.size}) or find the statements that block it"
            ) from error

    def _require_open(self) -> asyncpg.Pool[asyncpg.Record]:
        if self._pool is None:
            raise StoreUnavailableError(f"{self.address}: the store is not open; call open() first")
        return self._pool

    @property
    def address(self) -> str:
        """The server, or servers, and the database, without the password."""
        address = urlsplit(self.dsn)
        hosts = address.netloc.rpartition("@")[2]  # of a primary and its standbys, more than one
        if "," not in hosts:
            hosts = f"{address.hostname or 'localhost'}:{address.port or 5432}"
        return f"postgresql://{hosts}{address.path}"

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except _UNAVAILABLE_ERRORS as error:
            raise self._to_unavailable_error(error) from error

    def _to_unavailable_error(self, error: Exception) -> StoreUnavailableError:
        reason = str(error) or type(error).__name__
        if isinstance(error, _DRIVER_ERRORS):  # its text is about states of the driver
            reason = "a connection was lost"
        return self._build_error(
            f"unavailable ({reason}); check that the server runs, accepts connections and is "
            "not overloaded"
        )

    def _build_error(self, reason: str) -> StoreUnavailableError:
        error = StoreUnavailableError(f"{self.address}: {reason}")
        self._outages.on_failure(error)
        return error


async def is_pooler(dsn: str, timeout_seconds: float) -> bool:
    """Connect, and return whether a pooler answers: a connection of the server itself announces the
    process that executes its statements.
    """
    connection = await asyncpg.connect(
        dsn, timeout=timeout_seconds, command_timeout=timeout_seconds, statement_cache_size=0
    )
    try:
        return bool(
            await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid()
        )
    finally:
        connection.terminate()


async def _release(pool: asyncpg.Pool[asyncpg.Record], connection: Connection) -> None:
    """Return a connection to the driver.

    One that ends at the same moment has returned by itself, which the driver reports as its own
    fault.
    """
    try:
        await pool.release(connection)
    except (*_UNAVAILABLE_ERRORS, *_DRIVER_ERRORS):
        if not _is_closed(connection):
            raise


async def _skip_reset(_: object) -> None:
    """Skip the reset of a connection."""


def _is_closed(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True  # already returned to the pool
