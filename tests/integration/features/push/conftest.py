"""Stores of each kind, opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def closed_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Make a store of each kind; only one of them needs a server."""
    makes: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "tasks.db"),
        "postgres": lambda: PostgresStore(request.getfixturevalue("postgres_url")),
    }
    return makes[request.param]()


@pytest.fixture
async def store(closed_store: Store) -> AsyncIterator[Store]:
    """Open it."""
    await closed_store.open()
    yield closed_store
    await closed_store.close()
