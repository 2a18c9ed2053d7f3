"""Storages of a2akit behind our adapter: the contract of storages, run by the interpreter of that
peer's environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from a2akit.storage import InMemoryStorage
from a2akit.storage.sqlite import SQLiteStorage

from a2a_runtime.testing.storage_contract import StorageContract


class TestMemory(StorageContract):
    """Its storage in memory."""

    @pytest.fixture
    def storage(self) -> InMemoryStorage[object]:
        """Create one for each test."""
        return InMemoryStorage()


class TestSqlite(StorageContract):
    """Its storage in a file, through SQLAlchemy."""

    @pytest.fixture
    async def storage(self, tmp_path: Path) -> AsyncIterator[SQLiteStorage[object]]:
        """Create a file for each test."""
        async with SQLiteStorage(f"sqlite+aiosqlite:///{tmp_path}/tasks.db") as storage:
            yield storage
