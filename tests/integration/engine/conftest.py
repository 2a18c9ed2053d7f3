"""Agents on every store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.postgres import PostgresStore
from a2a_runtime.stores.sqlite import SqliteStore

MakeStore = Callable[[], Store]

OPTIONS = StoreOptions(lease_seconds=2.0)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Make stores on one and the same medium."""
    match request.param:
        case "memory":
            store = MemoryStore(OPTIONS)
            return lambda: store
        case "sqlite":
            return lambda: SqliteStore(tmp_path / "tasks.db", OPTIONS)
        case _:
            url = request.getfixturevalue("postgres_url")
            return lambda: PostgresStore(url, OPTIONS)


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    """A store that an agent opens and closes."""
    return make_store()
