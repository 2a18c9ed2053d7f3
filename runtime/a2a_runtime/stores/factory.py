"""From an address to a store, and from any object to a store that is complete."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.stores.base import DEFAULT_OPTIONS, Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore

MEMORY_URL = "memory"
_URL_FORMS = "memory, sqlite:///tasks.db (a file), sqlite:////var/lib/agent/tasks.db (an absolute one), postgresql://user@host/database"


def create_store(url: str, options: StoreOptions = DEFAULT_OPTIONS, *, attach: bool = False) -> Store:
    """Make the store of an address; it still has to be opened.

    With ``visits`` it is opened beside the process that runs on it, by a command that looks or tidies up.
    """
    if url == MEMORY_URL:
        return MemoryStore(options)
    parts = urlsplit(url)
    match parts.scheme:
        case "sqlite" if not parts.netloc and len(parts.path) > 1:
            return SqliteStore(Path(unquote(parts.path[1:])), options, attach=attach)
        case "postgresql" | "postgres" if parts.netloc or parts.query:
            from a2a_runtime.stores.postgres import PostgresStore  # noqa: PLC0415 - its driver is loaded only where it is used

            return PostgresStore(url, options)
        case _:
            raise UnsupportedStoreError(f"{url!r} is no address of a store. There are: {_URL_FORMS}")


def find_missing_methods(store: object) -> list[str]:
    """Say what an object lacks to be a store."""
    return [name for name in dir(Store) if not name.startswith("_") and not callable(getattr(store, name, None))]


def validate_store(store: object) -> Store:
    """Take an object for a store, or refuse it with what it lacks."""
    missing = find_missing_methods(store)
    if not isinstance(store, Store) or missing:
        raise UnsupportedStoreError(f"{type(store).__name__} is no store: it lacks {', '.join(missing) or 'the attribute durable'}")
    return store
