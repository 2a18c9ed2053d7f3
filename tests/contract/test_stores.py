"""The stores pass the store contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.postgres import PostgresStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.store_contract import StoreContract


class TestMemory(StoreContract):
    """The store in memory."""

    @pytest.fixture
    async def store(self, options: StoreOptions) -> AsyncIterator[Store]:
        """Create one for each test."""
        async with open_store(MemoryStore(options)) as store:
            yield store


class TestPostgres(StoreContract):
    """The store in Postgres, on a real server."""

    @pytest.fixture
    async def store(self, options: StoreOptions, postgres_url: str) -> AsyncIterator[Store]:
        """Create one on a database of its own for each test."""
        async with open_store(PostgresStore(postgres_url, options)) as store:
            yield store


class TestSqlite(StoreContract):
    """The store in a file."""

    @pytest.fixture
    async def store(self, options: StoreOptions, tmp_path: Path) -> AsyncIterator[Store]:
        """Create a file for each test."""
        async with open_store(SqliteStore(tmp_path / "tasks.db", options)) as store:
            yield store


@asynccontextmanager
async def open_store(store: Store) -> AsyncIterator[Store]:
    """Open a store and close it at the end."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()
