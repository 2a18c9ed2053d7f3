"""Stores of tasks, events, conversations, runs and push deliveries: in memory, in an SQLite file or
in Postgres.
"""

from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import create_store, find_missing_methods, validate_store

__all__ = ["Store", "StoreOptions", "create_store", "find_missing_methods", "validate_store"]
