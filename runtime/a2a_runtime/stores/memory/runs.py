"""Who runs what, in memory. There is only one process, but the rules are those of stores that many share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from a2a_contract.errors import TaskNotCancelableError
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.stores.memory.base import MemoryBase
from a2a_runtime.stores.memory.row import Row
from a2a_runtime.stores.values import Run, StoredTask


class MemoryRuns(MemoryBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        self._processes[process] = self._options.clock.millis() + round(self._options.lease * 1000)

    async def beat(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        await self.register(process)
        return [key for key, row in self._cancels.items() if row.process == process]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        self._processes.pop(process, None)

    async def claim(self, key: str, process: str) -> Run | None:
        """Begin a run of a task."""
        row = self._shelf.active.get(key)
        if row is None or self._is_run(row):
            return None
        row.process = process
        row.epoch += 1
        return Run(row.view(), tuple(self._records.get(key, {}).values()))

    async def orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        left = (key for key, row in self._shelf.active.items() if not self._is_run(row) and (surfaces is None or row.scope.surface in surfaces))
        return sorted(left)[:limit]

    async def request_cancel(self, scope: Scope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""
        row = self._need(scope, wire_id)
        if not lifecycle.is_cancelable(row.state):
            raise TaskNotCancelableError(details={"task_id": wire_id})
        row.cancel_requested = True
        self._cancels[row.key] = row
        return row.view()

    def _is_run(self, row: Row) -> bool:
        return row.process is not None and self._processes.get(row.process, 0) > self._options.clock.millis()
