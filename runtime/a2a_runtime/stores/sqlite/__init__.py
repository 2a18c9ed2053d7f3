"""The store in one SQLite file, with one writer that commits for many callers at once."""

from a2a_runtime.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
