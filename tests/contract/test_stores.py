"""The stores pass the store contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.simple_stores import SimpleStore
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.dict_storage import DictStorage
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


class TestSimple(StoreContract):
    """The store made of a storage with nine methods, except for what it says that it does not
    do.
    """

    @pytest.fixture
    async def store(self, options: StoreOptions) -> AsyncIterator[Store]:
        """Create one for each test."""
        async with open_store(SimpleStore(DictStorage(), options)) as store:
            yield store


_LEFT_OUT = {
    "clients choose no ids": (
        "test_a_chosen_id_is_kept",
        "test_a_chosen_id_in_use_is_refused",
        "test_a_chosen_id_can_be_used_again_some_time_after_the_end",
        "test_a_deleted_task_leaves_nothing_behind",
        "test_an_idempotency_key_with_another_request_is_a_conflict",
        "test_concurrent_creations_with_one_id_create_one_task",
        "test_deleted_tasks_and_old_generations_are_not_listed",
        "test_ids_and_idempotency_keys_are_unique_per_scope",
        "test_old_generations_expire_too",
        "test_totals_follow_every_change",
    ),
    "the storage decides how long it keeps tasks": (
        "test_a_conversation_has_its_own_retention_time",
        "test_a_conversation_outlives_its_tasks",
        "test_a_task_is_kept_for_its_retention_time",
        "test_an_expired_task_is_not_read",
        "test_the_cleanup_has_a_limit",
        "test_the_tasks_of_a_dialect_may_be_kept_for_a_shorter_time",
        "test_the_cleanup_waits_for_deliveries",
    ),
    "a key without a conversation gives the task one that follows from it": (
        "test_without_a_given_conversation_the_key_belongs_to_the_scope",
    ),
    "every list is counted for its first page": (
        "test_the_total_of_a_counted_list_is_that_of_its_first_page",
    ),
    "the data of a conversation without tasks cannot be found by its owner": (
        "test_an_operator_lists_and_deletes_scopes",
    ),
}
for _name in (each for names in _LEFT_OUT.values() for each in names):
    if not callable(getattr(StoreContract, _name)):
        raise TypeError(f"{_name} is no test of the contract")
    setattr(TestSimple, _name, None)


@asynccontextmanager
async def open_store(store: Store) -> AsyncIterator[Store]:
    """Open a store and close it at the end."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()
