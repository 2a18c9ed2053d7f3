"""What is true: tasks, their events, conversations, runs and deliveries, in memory, in a file or in Postgres."""

from a2a_runtime.stores.opening import complete, missing_methods, open_store
from a2a_runtime.stores.options import StoreOptions
from a2a_runtime.stores.port import Store

__all__ = ["Store", "StoreOptions", "complete", "missing_methods", "open_store"]
