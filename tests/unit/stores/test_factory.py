"""Store URLs, and validation of store objects."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.simple_stores import SimpleStore
from a2a_runtime.ports.registry import STORES
from a2a_runtime.stores import Store, create_store, find_missing_methods, validate_store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.dict_storage import DictStorage


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
    [
        "",
        "redis://localhost",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/file",
        "postgresql:",
        "tasks.db",
        "sqlite:///:memory:",
        "sqlite+other:///f",
        "sqlite:tasks",
    ],
)
def test_an_invalid_url_is_refused_with_the_valid_forms(url: str) -> None:
    """The error for an invalid URL names the forms of all stores."""
    forms = [row.forms for row in STORES.values() if row.forms]
    assert "sqlite:///tasks.db" in ", ".join(forms)
    with pytest.raises(UnsupportedStoreError) as raised:
        create_store(url)
    assert str(raised.value) == (
        f"store: {url!r} is not a store URL; use {', '.join(forms)}, "
        "or module:attribute for a store of your own"
    )


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("postgresql+asyncpg://user:pass@localhost/db", "postgresql://user:pass@localhost/db"),
        (
            "postgresql+psycopg://user@host/db?ssl=require&application_name=a+b",
            "postgresql://user@host/db?sslmode=require&application_name=a%20b",
        ),
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
    assert {
        "claim",
        "claim_due",
        "delete_expired",
        "load_context",
        "open",
        "put_push_config",
    } <= set(missing)
    assert not {"create_task", "read_events", "update_task"} & set(missing)
    with pytest.raises(
        UnsupportedStoreError, match=r"MemoryTasks: not a store; add .*claim.*delete_expired"
    ):
        validate_store(incomplete)


def test_the_stores_of_the_package_are_complete() -> None:
    """No store of the package lacks a method of the port."""
    store: Store = MemoryStore()
    assert find_missing_methods(store) == []
    assert validate_store(store) is store
    assert find_missing_methods(create_store("sqlite:///tasks.db")) == []


def _build_store(path: str) -> MemoryStore:
    raise AssertionError(path)


async def _open_store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with stores of one's own."""
    module = ModuleType("own_stores")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.__dict__.update(
        storage=DictStorage(),
        Storage=DictStorage,
        store=MemoryStore(),
        build=MemoryStore,
        with_path=_build_store,
        later=_open_store,
        number=5,
    )
    return module


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("storage", SimpleStore),
        ("Storage", SimpleStore),
        ("store", MemoryStore),
        ("build", MemoryStore),
    ],
    ids=["storage", "class of storages", "store", "factory"],
)
def test_a_store_of_ones_own_is_an_object_of_a_module(
    stores: ModuleType, name: str, kind: type[Store]
) -> None:
    """A storage gets the store that it needs; a class or a function is called."""
    store = create_store(f"own_stores:{name}")
    assert type(store) is kind
    assert not isinstance(store, SimpleStore) or type(store.storage) is DictStorage
    assert name != "store" or store is stores.store


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "own_stores:missing",
            (
                r"store: 'own_stores:missing': there is no missing in own_stores; "
                r"use .*memory, sqlite:///tasks\.db"
            ),
        ),
        ("no_such_module:store", r"there is no module no_such_module; use .*memory"),
        (
            "own_stores:with_path",
            (
                r"'own_stores:with_path': missing a required argument: 'path'; "
                r"name an object, or a function without parameters"
            ),
        ),
        ("own_stores:later", r"an async function; write a plain one"),
        ("own_stores:number", r"int: not a store; add "),
    ],
    ids=["attribute", "module", "parameters", "async", "no store"],
)
@pytest.mark.usefixtures("stores")
def test_an_object_that_is_no_store_is_refused(name: str, said: str) -> None:
    """The error says what to write instead."""
    with pytest.raises(UnsupportedStoreError, match=said):
        create_store(name)


@pytest.mark.usefixtures("stores")
def test_a_store_of_ones_own_is_not_opened_twice() -> None:
    """A command finds its tasks nowhere, and says so."""
    with pytest.raises(UnsupportedStoreError, match=r"belongs to the process that serves"):
        create_store("own_stores:storage", attach=True)
