"""Version of the database schema, and its upgrade.

Versions only go forward. A release never breaks the code of the previous release, so processes of
both can run during a deployment: the schema is upgraded first. A newer schema is accepted; an older
one is refused at the start, with the command that upgrades it.

Processes of the previous release write while the schema is upgraded: no step has a lock on their
tables for longer than a moment, see ``migrations``.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from importlib.resources import files

import asyncpg

from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.features.postgres.pool import Connection, Pool, PoolSettings
from a2a_runtime.stores import sql

UPGRADE_COMMAND = "a2a-gen db upgrade"

_SQL = sql.load(__package__ or "", "schema.sql")
_FILE = re.compile(r"(\d{4})_\w+\.sql")
_STEP = re.compile(r"^-- step(: concurrently)?$", re.MULTILINE)
_MAX_LOCK_ATTEMPTS = 300
_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """Statements in one transaction, or one statement outside of any."""

    statements: str
    is_concurrent: bool = False


def parse_migration(text: str) -> tuple[MigrationStep, ...]:
    """Split a migration into its steps."""
    head, *rest = _STEP.split(text)
    if not rest:
        return (MigrationStep(head.strip()),)
    return tuple(
        MigrationStep(statements.strip(), mark is not None)
        for mark, statements in zip(rest[::2], rest[1::2], strict=True)
    )


def _load_migrations() -> dict[int, tuple[MigrationStep, ...]]:
    """Load the migrations by version."""
    found = (
        (_FILE.fullmatch(file.name), file) for file in files(f"{__package__}.migrations").iterdir()
    )
    return {
        int(match[1]): parse_migration(file.read_text(encoding="utf-8"))
        for match, file in sorted(found, key=lambda pair: pair[1].name)
        if match
    }


MIGRATIONS = _load_migrations()
REQUIRED_VERSION = max(MIGRATIONS)


async def upgrade(dsn: str, version: int = REQUIRED_VERSION) -> list[int]:
    """Upgrade the schema to a version and return the applied versions.

    Concurrent upgrades wait for each other. Each version is recorded when all its steps are done;
    after a failure, the next upgrade goes on with it.
    """
    pool = Pool(dsn, PoolSettings(size=1, statement_seconds=3600.0))
    await pool.open()
    try:
        async with pool.connection() as connection:
            # Another process has the lock, and no event tells its end.
            while not await connection.fetchval(_SQL["try_lock"]):  # noqa: ASYNC110 - as said
                await asyncio.sleep(_RETRY_SECONDS)
            await connection.execute(_SQL["create_version_table"])
            present: int = await connection.fetchval(_SQL["version"])
            missing = [number for number in MIGRATIONS if present < number <= version]
            for number in missing:
                for step in MIGRATIONS[number]:
                    await _apply_step(pool, connection, step)
                await connection.execute(_SQL["applied"], number)
            return missing
    finally:
        await pool.close()


async def _apply_step(pool: Pool, connection: Connection, step: MigrationStep) -> None:
    if step.is_concurrent:
        for row in await connection.fetch(_SQL["invalid_indexes"]):
            await connection.execute(f'DROP INDEX CONCURRENTLY "{row["name"]}"')
        await connection.execute(step.statements)
        return
    for _ in range(_MAX_LOCK_ATTEMPTS):
        try:
            async with connection.transaction():
                await connection.execute(_SQL["limit_lock_waits"])
                await connection.execute(step.statements)
        except asyncpg.LockNotAvailableError:
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            return
    rows = await connection.fetch(_SQL["blocking"])
    blocking = ", ".join(f"{row['pid']} ({row['name'] or row['state']})" for row in rows)
    raise StoreUnavailableError(
        f"{pool.address}: open transactions lock the tables: {blocking or 'unknown'}; end "
        f"them, then run `{UPGRADE_COMMAND}` again"
    )


async def read_version(dsn: str) -> int:
    """Read the version of the schema of a database; 0 without one."""
    pool = Pool(dsn, PoolSettings(size=1))
    await pool.open()
    try:
        return await _read_version(pool)
    finally:
        await pool.close()


async def read_clock(dsn: str) -> float:
    """Read the time of the database, in seconds."""
    pool = Pool(dsn, PoolSettings(size=1))
    await pool.open()
    try:
        row = await pool.fetchrow(_SQL["clock"])
    finally:
        await pool.close()
    if row:
        return float(row[0])
    return 0.0


def render_upgrade(version: int) -> str:
    """Render the statements that upgrade a schema from a version, for an operator who runs them one
    after the other, as psql does.
    """
    units: list[str] = []
    for number, steps in MIGRATIONS.items():
        if number <= version:
            continue
        for step in steps:
            unit = step.statements
            if not step.is_concurrent:
                unit = f"BEGIN;\n{_SQL['limit_lock_waits']};\n{step.statements}\nCOMMIT;"
            units.append(f"-- version {number}\n{unit}")
        units.append(
            f"-- version {number} is complete\n{_SQL['applied'].replace('$1', str(number))};"
        )
    if units:
        return "\n\n".join([f"-- versions\n{_SQL['create_version_table']};", *units])
    return ""


async def _read_version(pool: Pool) -> int:
    try:
        row = await pool.fetchrow(_SQL["version"])
    except asyncpg.UndefinedTableError:
        return 0
    if row:
        return int(row["version"])
    return 0


async def check_version(pool: Pool) -> None:
    """Raise ``UnsupportedStoreError`` if the schema is older than required."""
    version = await _read_version(pool)
    if version < REQUIRED_VERSION:
        raise UnsupportedStoreError(
            f"{pool.address}: schema at version {version}, but this release needs "
            f"{REQUIRED_VERSION}; run `{UPGRADE_COMMAND}`"
        )
