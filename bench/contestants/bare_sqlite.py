"""The limit of a server on a SQLite file: bare, with two commits for a message, as full as ours.

``BARE_COMMITS`` says how: ``grouped``, by a thread that commits together what waits, or ``each``,
in the loop, the least that one
caller can wait.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from bare_stored import create_app

Write: TypeAlias = tuple[str, tuple[str | bytes, ...], asyncio.Future[None]]

db = sqlite3.connect(
    os.environ["A2A_STORE"].removeprefix("sqlite:///"),
    isolation_level=None,
    check_same_thread=False,
)
db.executescript(
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS tasks (id "
    "TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID"
)
waiting: SimpleQueue[Write] = SimpleQueue()
GROUPED = os.environ["BARE_COMMITS"] == "grouped"


def commit_groups() -> None:
    """Commit what waits, for ever."""
    while True:
        writes = [waiting.get()]
        try:
            while True:
                writes.append(waiting.get_nowait())
        except Empty:
            pass
        db.execute("BEGIN IMMEDIATE")
        for statement, values, _ in writes:
            db.execute(statement, values)
        db.execute("COMMIT")
        writes[0][2].get_loop().call_soon_threadsafe(_resolve, [done for _, _, done in writes])


def _resolve(futures: Iterable[asyncio.Future[None]]) -> None:
    for each in futures:
        if not each.done():
            each.set_result(None)


async def write(statement: str, *values: str | bytes) -> None:
    """Write, and return after the commit."""
    if GROUPED:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.put((statement, values, done))
        return await done
    db.execute("BEGIN IMMEDIATE")
    db.execute(statement, values)
    db.execute("COMMIT")
    return None


async def insert(wire_id: str, body: bytes) -> None:
    """Keep a task."""
    await write("INSERT INTO tasks VALUES (?, ?)", wire_id, body)


async def update(wire_id: str, body: bytes) -> None:
    """Keep its end."""
    await write("UPDATE tasks SET body = ? WHERE id = ?", body, wire_id)


app = create_app(insert, update)
if GROUPED:
    threading.Thread(target=commit_groups, daemon=True).start()
