"""Stores of tasks by the names of apcore."""

from __future__ import annotations

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.simple_stores.codec import REQUIRED
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import validate_store
from a2a_runtime.stores.memory import MemoryStore

DEFAULT_CAPACITY = 10_000
DEFAULT_TTL_SECONDS = 3600.0
MEMORY = "memory"
_SRS_METHODS = frozenset(
    {"save", "get", "list", "delete", "save_push_config", "get_push_config", "delete_push_config"}
)


class InMemoryTaskStore(MemoryStore):
    """Tasks in this process.

    A full store deletes the task that ended first; a task is kept for some time after its end.
    """

    def __init__(
        self,
        *,
        max_capacity: int = DEFAULT_CAPACITY,
        ttl_seconds: float | None = DEFAULT_TTL_SECONDS,
    ) -> None:
        super().__init__(
            StoreOptions(
                max_tasks=max_capacity,
                retention_seconds=ttl_seconds,
                conversation_retention_seconds=ttl_seconds,
            )
        )


def build_store(task_store: object, settings: Settings) -> Store | str:
    """Return the store of an option: a store, the URL of one, or by default that of the
    environment; ``TypeError`` for anything else.
    """
    if task_store is None:
        if settings.store == MEMORY:
            return InMemoryTaskStore()
        return settings.store
    if isinstance(task_store, str):
        return task_store
    if frozenset(dir(task_store)) >= _SRS_METHODS:
        name = type(task_store).__qualname__
        raise TypeError(
            f"task_store: {name}: has the methods of the SRS, which keep no versions and no "
            "events; "
            f"implement {', '.join(REQUIRED)} beside them, and wrap it, "
            f"SimpleStore({name}(…)) of a2a_runtime.features.simple_stores"
        )
    try:
        return validate_store(task_store)
    except UnsupportedStoreError as error:
        raise TypeError(f"task_store: {error}") from error
