"""Stores full of ended tasks, written by SQL: of one caller, with one message each, ten to a
conversation, one in ten failed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg

from a2a_runtime.base.caller import TaskScope

SCOPE = TaskScope("/bench", "acme", "ada")
ROW = """SELECT
    n, {key} AS key, 't-' || n AS wire_id, 'c-' || n / 10 AS context_id, {now} - n AS at,
    CASE WHEN n % 10 = 0 THEN 'TASK_STATE_FAILED' ELSE 'TASK_STATE_COMPLETED' END AS state
FROM {numbers}"""
STATUS = """'{"state":"TASK_STATE_COMPLETED"}'"""
MESSAGE = """'{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello"}]}'"""
NUMBERS = (
    "(WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {size}) SELECT n "
    "FROM c)"
)
FILE_TASKS = """
INSERT INTO tasks (key, scope, wire_id, context_id, skill, dialect, state, active,
    status_at, ended_at, status, metadata, epoch)
SELECT key, ?, wire_id, context_id, 'echo', 'v1_0', state, 0,
    at, at, CAST({status} AS BLOB), CAST('{{}}' AS BLOB), 1
FROM ({rows})"""
FILE_MESSAGES = (
    "INSERT INTO messages (task_key, version, n, at, body) SELECT key, 1, 0, at, CAST({message} "
    "AS BLOB) FROM ({rows})"
)
TASKS = """
INSERT INTO a2a_tasks (key, scope, wire_id, context_id, skill, dialect, state, state_before,
    is_active, status, status_at, ended_at, metadata)
SELECT key, $1, wire_id, context_id, 'echo', 'v1_0', state, state,
    false, {status}::bytea, at, at, '{{}}'::bytea
FROM ({rows}) AS r"""
MESSAGES = (
    "INSERT INTO a2a_messages (task, scope, context_id, said_at, body) SELECT key, $1, "
    "context_id, at, {message}::bytea FROM ({rows}) AS r"
)


def fill_sqlite(path: Path, size: int, now: int) -> None:
    """Write ended tasks into a file."""
    rows = ROW.format(key="printf('%032d', n)", now=now, numbers=NUMBERS.format(size=size))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(FILE_TASKS.format(status=STATUS, rows=rows), (SCOPE.to_text(),))
        db.execute(FILE_MESSAGES.format(message=MESSAGE, rows=rows))


async def fill_postgres(url: str, size: int, now: int) -> None:
    """Write ended tasks into a database."""
    connection = await asyncpg.connect(url)
    rows = ROW.format(
        key="lpad(to_hex(n), 32, '0')::uuid", now=now, numbers=f"generate_series(1, {size}) AS n"
    )
    await connection.execute(TASKS.format(status=STATUS, rows=rows), SCOPE.to_text())
    await connection.execute(MESSAGES.format(message=MESSAGE, rows=rows), SCOPE.to_text())
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
