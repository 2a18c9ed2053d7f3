"""Version of the database schema, and its upgrade.

Versions only go forward. A release never breaks the code of the previous release, so processes of both can run during a deployment: the schema is
upgraded first. A newer schema is accepted; an older one is refused at the start, with the command that upgrades it.
"""

from __future__ import annotations

import re
from importlib.resources import files

import asyncpg

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.stores import sql
from a2a_runtime.stores.postgres.pool import Pool, PoolSettings

UPGRADE_COMMAND = "a2a-gen db upgrade"

_SQL = sql.load(__package__ or "", "schema.sql")
_FILE = re.compile(r"(\d{4})_\w+\.sql")


def _load_migrations() -> dict[int, str]:
    """Load the migrations by version."""
    found = ((_FILE.fullmatch(file.name), file) for file in files(f"{__package__}.migrations").iterdir())
    return {int(match[1]): file.read_text(encoding="utf-8") for match, file in sorted(found, key=lambda pair: pair[1].name) if match}


MIGRATIONS = _load_migrations()
REQUIRED_VERSION = max(MIGRATIONS)


async def upgrade(dsn: str) -> list[int]:
    """Upgrade the schema to the required version and return the applied versions.

    It runs in one transaction under a lock: concurrent upgrades wait for each other, and a failure leaves nothing behind.
    """
    pool = Pool(dsn, PoolSettings(size=1, statement_seconds=3600.0))
    await pool.open()
    try:
        async with pool.transaction() as connection:
            await connection.execute(_SQL["lock"])
            await connection.execute(_SQL["create_version_table"])
            version: int = await connection.fetchval(_SQL["version"])
            missing = [number for number in MIGRATIONS if number > version]
            for number in missing:
                await connection.execute(MIGRATIONS[number])
                await connection.execute(_SQL["applied"], number)
            return missing
    finally:
        await pool.close()


async def read_version(dsn: str) -> int:
    """Read the version of the schema of a database; 0 without one."""
    pool = Pool(dsn, PoolSettings(size=1))
    await pool.open()
    try:
        return await _read_version(pool)
    finally:
        await pool.close()


def render_upgrade(version: int) -> str:
    """Render the statements that upgrade a schema from a version, for an operator who runs them."""
    steps = [f"{MIGRATIONS[number].rstrip()}\n\n{_SQL['applied'].replace('$1', str(number))};" for number in MIGRATIONS if number > version]
    if not steps:
        return ""
    head = [f"{_SQL[name]};" for name in ("lock", "create_version_table")]
    return "\n\n".join(["BEGIN;", *head, *steps, "COMMIT;"])


async def _read_version(pool: Pool) -> int:
    try:
        row = await pool.fetchrow(_SQL["version"])
    except asyncpg.UndefinedTableError:
        return 0
    return int(row["version"]) if row else 0


async def check_version(pool: Pool) -> None:
    """Raise ``UnsupportedStoreError`` if the schema is older than required."""
    version = await _read_version(pool)
    if version < REQUIRED_VERSION:
        raise UnsupportedStoreError(
            f"{pool.address}: schema at version {version}, but this release needs {REQUIRED_VERSION}; run `{UPGRADE_COMMAND}`"
        )
