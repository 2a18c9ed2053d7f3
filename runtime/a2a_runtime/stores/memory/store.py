"""The store in memory, for development, tests and agents whose tasks need not outlive the process."""

from __future__ import annotations

from a2a_runtime.stores.memory.contexts import MemoryContexts
from a2a_runtime.stores.memory.pushes import MemoryPushes
from a2a_runtime.stores.memory.runs import MemoryRuns
from a2a_runtime.stores.memory.tasks import MemoryTasks
from a2a_runtime.stores.values import Count


class MemoryStore(MemoryTasks, MemoryContexts, MemoryRuns, MemoryPushes):
    """Keeps everything in this process, up to a number of tasks; full, it forgets the finished one that ended longest ago."""

    durable = False

    def doorbell(self) -> None:
        """Ring nobody: there is no other process."""

    async def count(self, key: str, seconds: float) -> Count:
        """Count one more under a key."""
        return self._counts.add(key, seconds)

    async def open(self) -> None:
        """Need no preparation."""

    async def close(self) -> None:
        """Need no farewell; what is in memory stays readable until the store itself goes."""
