"""Lists of tasks in a SQLite file and in Postgres, with 10^3 to 10^6 tasks of one caller.

A page has 50 tasks. The tables are filled by SQL with ended tasks of one message each, ten to a
conversation, one in ten failed. The first page by time is counted; the second one carries the count
in its token. A page by creation sorts all tasks of the caller. Goal: a page without a filter, by
state or by conversation costs the same at any size.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
from fill import SCOPE, fill_postgres, fill_sqlite

from a2a_contract.lifecycle import State
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.features.postgres import PostgresStore, upgrade
from a2a_runtime.stores.models import TaskQuery
from a2a_runtime.stores.sql_store import SqlStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.embedded_postgres import PostgresServer

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CALLS = 30
WITHOUT_INDEX = ("by time", "by creation")
GOAL_MS = 2.0  # more than the page of the smallest table, for the largest


def queries(now: int) -> Mapping[str, TaskQuery]:
    """Name the lists that are measured."""
    late = datetime.fromtimestamp(now / 1000, UTC) - timedelta(days=10)
    return {
        "all": TaskQuery(),
        "by state": TaskQuery(state=State.COMPLETED),
        "by a rare state": TaskQuery(state=State.FAILED),
        "by a state of none": TaskQuery(state=State.WORKING),
        "by conversation": TaskQuery(context_id="c-7"),
        "by time, counted": TaskQuery(changed_after=late),
        "by creation, sorted": TaskQuery(by_creation=True),
    }


async def measure(store: SqlStore, now: int) -> dict[str, float]:
    """Measure each list: the median of some calls, in milliseconds."""
    await store.correct_totals()
    took: dict[str, float] = {}
    for name, query in queries(now).items():
        took[name] = await _median(store, query)
        page = await store.list_tasks(SCOPE, query)
        if name == "all" or name.startswith(WITHOUT_INDEX):
            took[f"{name.partition(',')[0]}, second page"] = await _median(
                store, replace(query, page_token=page.next_page_token)
            )
    return took


async def _median(store: SqlStore, query: TaskQuery) -> float:
    seconds: list[float] = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        await store.list_tasks(SCOPE, query)
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds) * 1000


def show(name: str, found: Mapping[int, Mapping[str, float]]) -> None:
    """Print a table, and say if the goal was kept."""
    print(f"\n{name + ': ms a page of 50':32}" + "".join(f"{size:>12,}" for size in found))
    for each in next(iter(found.values())):
        print(f"{each:32}" + "".join(f"{took[each]:12.2f}" for took in found.values()))
    first, *_, last = found.values()
    slower = {
        each: last[each] - first[each] for each in first if not each.startswith(WITHOUT_INDEX)
    }
    worst = max(slower, key=lambda each: slower[each])
    kept = "kept" if slower[worst] <= GOAL_MS else "MISSED"
    print(
        (
            f"With an index: at most {slower[worst]:.1f} ms more than the smallest ({worst}; "
            f"goal {GOAL_MS:g}: {kept})."
        ),
        flush=True,
    )


async def main() -> None:
    """Fill, measure, print."""
    now = SystemClock().millis()
    files: dict[int, dict[str, float]] = {}
    databases: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        for size in SIZES:
            path = Path(folder) / f"{size}.db"
            file = SqliteStore(path)
            await file.open()
            await asyncio.to_thread(fill_sqlite, path, size, now)
            files[size] = await measure(file, now)
            await file.close()
            path.unlink()
        show("SQLite", files)
        await upgrade(server.url)
        for size, before in zip(SIZES, (0, *SIZES), strict=False):
            connection = await asyncpg.connect(server.url)
            await connection.execute(
                "TRUNCATE a2a_tasks, a2a_messages, a2a_task_totals, a2a_task_deltas CASCADE"
                if before
                else "SELECT 1"
            )
            await connection.close()
            await fill_postgres(server.url, size, now)
            database = PostgresStore(server.url)
            await database.open()
            databases[size] = await measure(database, now)
            await database.close()
        show("Postgres", databases)


if __name__ == "__main__":
    asyncio.run(main())
