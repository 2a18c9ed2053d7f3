"""What is true: tasks, their events, conversations, runs and deliveries, in memory, in a file or in Postgres."""

from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import complete, missing_methods, open_store

__all__ = ["Store", "StoreOptions", "complete", "missing_methods", "open_store"]
