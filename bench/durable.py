"""What serving costs on a store that keeps tasks, beside a2a-sdk on the same kind, and the limit:
bare with the same number of commits.

    python bench/durable.py                all
    python bench/durable.py sqlite         some of them

The limits of ``contestants/bare_sqlite.py`` and ``contestants/bare_postgres.py`` write a row for a
task and change it once. a2a-sdk uses SQLite with the settings that its users would choose (WAL,
NORMAL); ours and the limit wait for the disk (FULL).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from contest import Server, bare_postgres, bare_sqlite, ours, sdk
from serving import (
    CHUNKS,
    MANY,
    READERS,
    check,
    message,
    middle,
    print_table,
    rates,
    ratio,
    row,
    run_servers,
    stream,
    turns,
)

from a2a_runtime.features.postgres import upgrade
from a2a_runtime.testing.embedded_postgres import DatabaseFactory, PostgresServer


@asynccontextmanager
async def databases(number: int) -> AsyncGenerator[Sequence[str]]:
    """Run a Postgres server: a database of ours, and empty ones for others."""
    with PostgresServer() as server:
        factory = DatabaseFactory(server.url, upgrade)
        yield [await factory.create(), *[await factory.create_empty() for _ in range(number - 1)]]


async def compare(
    mine: Server,
    limit: Server,
    official: Server,
    gates: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """Print messages of 32 callers, as ratios to the limit and to a2a-sdk."""
    async with run_servers(mine, limit, official) as servers:
        await check(servers, message("echo"))
        found = await turns(servers, message("echo"), MANY)
        for other, gate in zip((limit, official), gates, strict=True):
            row(
                f"{mine.name}: send, 32 connections, times {other.name}",
                ratio(found, mine.name, other.name),
                *gate,
            )
        rates(found)


async def sqlite() -> None:
    """Messages on SQLite files; the commits of bare are grouped."""
    with tempfile.TemporaryDirectory() as folder:
        addresses = [f"sqlite:///{Path(folder) / name}.db" for name in ("ours", "limit", "theirs")]
        await compare(
            ours(addresses[0]),
            bare_sqlite(addresses[1], "grouped"),
            sdk(addresses[2]),
            ((0.50, 0.60), (12, 25)),
        )


async def sqlite_alone() -> None:
    """One caller, and one reader of streams."""
    with tempfile.TemporaryDirectory() as folder:
        addresses = [f"sqlite:///{Path(folder) / name}.db" for name in ("ours", "limit")]
        async with run_servers(ours(addresses[0]), bare_sqlite(addresses[1], "each")) as servers:
            await check(servers, message("echo"))
            found = await turns(servers, message("echo"), 1)
            mine, limit = (
                middle(found, server.name, lambda load: load.percentile(load.took, 50))
                for server in servers
            )
            row(
                "send on SQLite, 1 connection, median, times bare with 2 commits",
                mine / limit,
                3.5,
                2.5,
            )
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
    """Messages on one Postgres server, which runs on the core of the load; the statements of bare
    are in pipelines.
    """
    async with databases(3) as (mine, other, theirs):
        await compare(ours(mine), bare_postgres(other), sdk(theirs), ((0.40, 0.50), (15, 30)))


async def postgres_streams() -> None:
    """Many streams at once on Postgres."""
    async with databases(1) as (mine,), run_servers(ours(mine)) as servers:
        await check(servers, stream(f"count {CHUNKS}"))
        found = await turns(servers, stream(f"count {CHUNKS}"), READERS)
        me = servers[0].name
        row(
            "50 streams of 10 chunks on Postgres",
            middle(found, me, lambda load: load.rate),
            732,
            1300,
            "/s",
        )
        row(
            "the same: first event, 99th percentile",
            middle(found, me, lambda load: load.percentile(load.first)),
            35,
            12,
            "ms",
        )
        rates(found)


ROWS: Mapping[str, Callable[[], Awaitable[None]]] = {
    each.__name__: each for each in (sqlite, sqlite_alone, postgres, postgres_streams)
}


if __name__ == "__main__":
    uvloop.run(print_table("Serving from stores that keep tasks", ROWS, sys.argv[1:]))
