"""Store URLs, and validation of store objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.stores import Store, create_store, find_missing_methods, validate_store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.postgres import PostgresStore
from a2a_runtime.stores.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///tasks.db", "tasks.db"),
        ("sqlite:////var/lib/agent/tasks.db", "/var/lib/agent/tasks.db"),
        ("sqlite:///my%20tasks.db", "my tasks.db"),
        ("sqlite+aiosqlite:///tasks.db", "tasks.db"),
        ("sqlite+pysqlite:////var/lib/agent/tasks.db?timeout=5", "/var/lib/agent/tasks.db"),
    ],
    ids=["relative", "absolute", "with a space", "of SQLAlchemy", "of SQLAlchemy, absolute"],
)
def test_a_file_url_contains_the_path(url: str, path: str) -> None:
    """Three slashes for a relative path, four for an absolute one."""
    store = create_store(url)
    assert isinstance(store, SqliteStore)
    assert store.path == Path(path)
    assert isinstance(create_store("memory"), MemoryStore)


@pytest.mark.parametrize(
    "url",
    ["", "redis://localhost", "sqlite://", "sqlite:///", "sqlite://host/file", "postgresql:", "tasks.db", "sqlite:///:memory:", "sqlite+other:///f"],
)
def test_an_invalid_url_is_refused_with_the_valid_forms(url: str) -> None:
    """The error contains an example."""
    with pytest.raises(UnsupportedStoreError, match=r"sqlite:///tasks\.db"):
        create_store(url)


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("postgresql+asyncpg://user:pass@localhost/db", "postgresql://user:pass@localhost/db"),
        ("postgresql+psycopg://user@host/db?ssl=require&application_name=a+b", "postgresql://user@host/db?sslmode=require&application_name=a%20b"),
    ],
    ids=["driver", "parameters"],
)
def test_an_address_of_sqlalchemy_is_that_of_the_server(url: str, dsn: str) -> None:
    """The driver is left out, and TLS has the name that Postgres gives it."""
    store = create_store(url)
    assert isinstance(store, PostgresStore)
    assert store.queue_address == create_store(dsn).queue_address == dsn


def test_an_incomplete_store_is_refused_with_the_missing_methods() -> None:
    """All missing methods are listed at once."""
    incomplete = MemoryTasks()
    missing = find_missing_methods(incomplete)
    assert {"claim", "claim_due", "delete_expired", "load_context", "open", "put_push_config"} <= set(missing)
    assert not {"create_task", "read_events", "update_task"} & set(missing)
    with pytest.raises(UnsupportedStoreError, match=r"MemoryTasks: not a store; add .*claim.*delete_expired"):
        validate_store(incomplete)


def test_the_stores_of_the_package_are_complete() -> None:
    """No method is missing."""
    store: Store = MemoryStore()
    assert find_missing_methods(store) == []
    assert validate_store(store) is store
    assert find_missing_methods(create_store("sqlite:///tasks.db")) == []
