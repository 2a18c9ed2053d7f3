"""Addresses of stores, and what an object lacks to be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.stores import Store, create_store, find_missing_methods, validate_store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///tasks.db", "tasks.db"),
        ("sqlite:////var/lib/agent/tasks.db", "/var/lib/agent/tasks.db"),
        ("sqlite:///my%20tasks.db", "my tasks.db"),
    ],
    ids=["relative", "absolute", "with a space"],
)
def test_an_address_of_a_file_names_its_path(url: str, path: str) -> None:
    """Three slashes for a path from here, four for one from the root."""
    store = create_store(url)
    assert isinstance(store, SqliteStore)
    assert store.path == Path(path)
    assert isinstance(create_store("memory"), MemoryStore)


@pytest.mark.parametrize("url", ["", "redis://localhost", "sqlite://", "sqlite:///", "sqlite://host/file", "postgresql:", "tasks.db"])
def test_what_is_no_address_is_refused_with_the_forms_there_are(url: str) -> None:
    """The error shows how an address is written."""
    with pytest.raises(UnsupportedStoreError, match=r"sqlite:///tasks\.db"):
        create_store(url)


def test_a_store_that_lacks_a_method_is_refused_with_its_name() -> None:
    """Before the first request, and with everything that is missing at once."""
    part = MemoryTasks()
    missing = find_missing_methods(part)
    assert {"claim", "due", "load_context", "open", "put_push_config", "sweep"} <= set(missing)
    assert not {"create_task", "read_events", "update_task"} & set(missing)
    with pytest.raises(UnsupportedStoreError, match=r"MemoryTasks is no store: it lacks .*claim.*sweep"):
        validate_store(part)


def test_a_whole_store_is_complete() -> None:
    """Nothing is missing from the stores of this package."""
    store: Store = MemoryStore()
    assert find_missing_methods(store) == []
    assert validate_store(store) is store
    assert find_missing_methods(create_store("sqlite:///tasks.db")) == []
