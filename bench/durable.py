"""What serving costs on a store that keeps tasks, beside a2a-sdk on the same kind, and the limit: bare with the same number of commits.

    python bench/durable.py                all
    python bench/durable.py sqlite         some of them

The limits of ``contestants/bare_sqlite.py`` and ``contestants/bare_postgres.py`` write a row for a task and change it once. a2a-sdk uses SQLite with
the settings that its users would choose (WAL, NORMAL); ours and the limit wait for the disk (FULL).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from contest import LOAD_CORE, bare_postgres, bare_sqlite, ours, pin, sdk
from serving import CHUNKS, MANY, READERS, check, message, middle, rates, ratio, row, serving, stream, turns

from a2a_runtime.stores.postgres import upgrade
from a2a_runtime.testing.embedded_postgres import DatabaseFactory, PostgresServer


@asynccontextmanager
async def databases(number: int) -> AsyncGenerator[Sequence[str]]:
    """Run a Postgres server: a database of ours, and empty ones for others."""
    with PostgresServer() as server:
        factory = DatabaseFactory(server.url, upgrade)
        yield [await factory.create(), *[await factory.create_empty() for _ in range(number - 1)]]


async def sqlite() -> None:
    """Messages on SQLite files."""
    with tempfile.TemporaryDirectory() as folder:
        addresses = [f"sqlite:///{Path(folder) / name}.db" for name in ("ours", "limit", "theirs")]
        async with serving(ours(addresses[0]), bare_sqlite(addresses[1], "grouped"), sdk(addresses[2])) as servers:
            await check(servers, message("echo"))
            me, limit, official = (server.name for server in servers)
            found = await turns(servers, message("echo"), MANY)
            row("send on SQLite, 32 connections, of bare with grouped commits", ratio(found, me, limit), 0.50, 0.60)
            row("send on SQLite, 32 connections, times a2a-sdk (WAL, NORMAL)", ratio(found, me, official), 12, 25)
            rates(found)


async def sqlite_alone() -> None:
    """One caller, and one reader of streams."""
    with tempfile.TemporaryDirectory() as folder:
        addresses = [f"sqlite:///{Path(folder) / name}.db" for name in ("ours", "limit")]
        async with serving(ours(addresses[0]), bare_sqlite(addresses[1], "each")) as servers:
            await check(servers, message("echo"))
            found = await turns(servers, message("echo"), 1)
            mine, limit = (middle(found, server.name, lambda load: load.percentile(load.took, 50)) for server in servers)
            row("send on SQLite, 1 connection, median, times bare with 2 commits", mine / limit, 3.5, 2.5)
            rates(found)
            found = await turns(servers[:1], stream(f"count {CHUNKS}"), 1)
            row(
                "CPU of a chunk, streams of 10 on SQLite, 1 connection",
                middle(found, servers[0].name, lambda load: load.cost) / CHUNKS * 1e6,
                180,
                120,
                "µs",
            )


async def postgres() -> None:
    """Messages on one Postgres server, which runs on the core of the load."""
    async with databases(3) as (mine, other, theirs), serving(ours(mine), bare_postgres(other), sdk(theirs)) as servers:
        await check(servers, message("echo"))
        me, limit, official = (server.name for server in servers)
        found = await turns(servers, message("echo"), MANY)
        row("send on Postgres, 32 connections, of bare with pipelines", ratio(found, me, limit), 0.40, 0.50)
        row("send on Postgres, 32 connections, times a2a-sdk", ratio(found, me, official), 15, 30)
        rates(found)


async def postgres_streams() -> None:
    """Many streams at once on Postgres."""
    async with databases(1) as (mine,), serving(ours(mine)) as servers:
        await check(servers, stream(f"count {CHUNKS}"))
        found = await turns(servers, stream(f"count {CHUNKS}"), READERS)
        me = servers[0].name
        row("50 streams of 10 chunks on Postgres", middle(found, me, lambda load: load.rate), 732, 1300, "/s")
        row("the same: first event, 99th percentile", middle(found, me, lambda load: load.percentile(load.first)), 35, 12, "ms")
        rates(found)


ROWS: Mapping[str, Callable[[], Awaitable[None]]] = {each.__name__: each for each in (sqlite, sqlite_alone, postgres, postgres_streams)}


async def main(named: Sequence[str]) -> None:
    """Print the table."""
    pin(0, LOAD_CORE)
    print(f"\n{'Serving from stores that keep tasks':62} {'seen':>9} {'gate':>9} {'goal':>9}")
    for name in named or ROWS:
        await ROWS[name]()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1:]))
