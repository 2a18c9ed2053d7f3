"""What is true: tasks, their events, conversations, runs and deliveries, in memory, in a file or in Postgres."""

from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import create_store, find_missing_methods, validate_store

__all__ = ["Store", "StoreOptions", "create_store", "find_missing_methods", "validate_store"]
