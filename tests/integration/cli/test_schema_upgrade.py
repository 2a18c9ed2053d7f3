"""``a2a-gen db status`` and ``upgrade``: what an operator sees before and after."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from a2a_runtime.cli.db import command
from a2a_runtime.features.postgres import schema
from a2a_runtime.testing.embedded_postgres import DatabaseFactory

FIRST_VERSIONS = 5
"""Versions that were applied to empty tables only."""


def run_command(*words: str) -> Result:
    """Run ``a2a-gen db``."""
    return CliRunner().invoke(command, words)


def execute(url: str, statements: str) -> None:
    """Execute statements as an operator would with psql: one transaction after the other."""

    async def run() -> None:
        connection = await asyncpg.connect(url)
        for unit in statements.split("\n-- version"):
            await connection.execute(unit.partition("\n")[2])
        await connection.close()

    asyncio.run(run())


@pytest.fixture
def empty_url(postgres_databases: DatabaseFactory) -> str:
    """A database without tables."""
    return asyncio.run(postgres_databases.create_empty())


def test_an_upgrade_can_be_seen_before_it_is_made(empty_url: str) -> None:
    """The dry run and the statements change nothing; the status says which version is there, and
    fails while it is too old.
    """
    versions = ", ".join(map(str, schema.MIGRATIONS))
    before = run_command("status", "--store", empty_url)
    assert (before.exit_code, before.stdout) == (
        1,
        f"schema 0, this release needs {schema.REQUIRED_VERSION}\n",
    )
    assert "run a2a-gen db upgrade" in before.stderr
    for _ in range(2):
        assert (
            run_command("upgrade", "--dry-run", "--store", empty_url).stdout
            == f"would apply {versions}\n"
        )
    assert run_command("upgrade", "--sql", "--store", empty_url).exit_code == 0
    assert run_command("upgrade", "--store", empty_url).stdout.startswith(f"applied {versions}")
    after = run_command("status", "--store", empty_url)
    assert (after.exit_code, after.stdout) == (
        0,
        f"up to date: schema {schema.REQUIRED_VERSION}, as this release needs\n",
    )
    assert run_command("upgrade", "--dry-run", "--store", empty_url).stdout == "up to date\n"
    assert run_command("upgrade", "--sql", "--store", empty_url).stdout == "-- up to date\n"


def test_the_status_of_a_file(tmp_path: Path) -> None:
    """It is read and not upgraded, not even created; a file that is no database is a problem."""
    file = tmp_path / "tasks.db"
    url = f"sqlite:///{file}"
    assert (
        run_command("status", "--store", url).stdout
        == f"{file}: not there; the agent creates it at its first start\n"
    )
    assert not file.exists()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 1")
    before = file.read_bytes()
    assert run_command("status", "--store", url).stdout.startswith(
        f"{file}: schema 1, this release needs "
    )
    assert file.read_bytes() == before
    file.unlink()
    assert run_command("upgrade", "--store", url).exit_code == 0
    assert run_command("status", "--store", url).stdout.startswith(f"{file}: up to date: schema ")
    file.write_text("no database" * 100)
    assert "not a database" in run_command("status", "--store", url).stderr


def test_the_printed_statements_make_the_upgrade(empty_url: str) -> None:
    """They leave the version behind, and build indexes outside of transactions."""
    assert (
        "CREATE INDEX CONCURRENTLY" in run_command("upgrade", "--sql", "--store", empty_url).stdout
    )
    execute(empty_url, run_command("upgrade", "--sql", "--store", empty_url).stdout)
    assert run_command("status", "--store", empty_url).exit_code == 0


def test_files_are_upgraded_when_they_are_opened() -> None:
    """There is nothing to print for them."""
    assert run_command("status", "--store", "sqlite:///tasks.db").exit_code == 0
    assert (
        "use them with a Postgres store"
        in run_command("upgrade", "--sql", "--store", "sqlite:///tasks.db").stderr
    )


def test_an_address_of_sqlalchemy_is_upgraded(empty_url: str) -> None:
    """The commands take the addresses that the store takes."""
    url = empty_url.replace("postgresql://", "postgresql+asyncpg://")
    assert run_command("upgrade", "--store", url).exit_code == 0
    assert run_command("status", "--store", url).exit_code == 0


def test_indexes_of_tables_with_rows_are_built_concurrently() -> None:
    """A build within a transaction would lock out the writers of a large table for as long as it
    takes.
    """
    made = set[str]()
    for version, steps in schema.MIGRATIONS.items():
        text = "\n".join(step.statements for step in steps)
        for name, table in re.findall(
            r"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)(?:IF NOT EXISTS )?(\w+) ON (\w+)", text
        ):
            assert version <= FIRST_VERSIONS or table not in made, name
        assert version <= FIRST_VERSIONS or not re.search(r"DROP INDEX (?!CONCURRENTLY)", text)
        made.update(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", text))
