"""The store in one file: the standard library's SQLite, one writer that commits for many callers at once."""

from a2a_runtime.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
