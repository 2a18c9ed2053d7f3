"""The store in memory."""

from a2a_runtime.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
