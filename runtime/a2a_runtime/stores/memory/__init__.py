"""The store in memory: dictionaries, and finished tasks as the bytes they are read as."""

from a2a_runtime.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
