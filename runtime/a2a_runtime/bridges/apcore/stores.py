"""Stores of tasks by the names of apcore."""

from __future__ import annotations

from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import find_missing_methods
from a2a_runtime.stores.memory import MemoryStore

DEFAULT_CAPACITY, DEFAULT_TTL_SECONDS = 10_000, 3600.0
MEMORY = "memory"


class InMemoryTaskStore(MemoryStore):
    """Tasks in this process. A full store deletes the task that ended first; a task is kept for some time after its end."""

    def __init__(self, *, max_capacity: int = DEFAULT_CAPACITY, ttl_seconds: float | None = DEFAULT_TTL_SECONDS) -> None:
        super().__init__(StoreOptions(max_tasks=max_capacity, retention_seconds=ttl_seconds, conversation_retention_seconds=ttl_seconds))


def build_store(task_store: object, settings: Settings) -> Store | str:
    """Return the store of an option: a store, the URL of one, or by default that of the environment; ``TypeError`` for anything else."""
    if task_store is None:
        return InMemoryTaskStore() if settings.store == MEMORY else settings.store
    if isinstance(task_store, str):
        return task_store
    if missing := find_missing_methods(task_store):
        raise TypeError(
            f"task_store: {type(task_store).__qualname__} lacks {', '.join(missing)}; implement the port a2a_runtime.stores.base.Store, or give a URL"
        )
    assert isinstance(task_store, Store), "has all methods"  # noqa: S101 - as above
    return task_store
