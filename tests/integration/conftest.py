"""Fixtures of the integration tests: asyncio as the backend, every store, and a pool of
connections.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from integration.shouting_project import PROJECT, SKILLS

from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.postgres.pool import Pool
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store that the test opens and closes, or its engine or app."""
    match request.param:
        case "memory":
            return MemoryStore()
        case "sqlite":
            return SqliteStore(tmp_path / "tasks.db")
        case _:
            return PostgresStore(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """A pool of connections to a database of its own."""
    pool = Pool(postgres_url)
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
def shouting_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a project whose skill shouts."""
    (tmp_path / "a2a.toml").write_text(PROJECT)
    (tmp_path / "shouting.py").write_text(SKILLS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("shouting", None)
