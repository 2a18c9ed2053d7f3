"""An unavailable store: consumers of mesh read that their tasks are working."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conformance.mesh.producer import Consumer, job, producer, summarize_event
from integration.outcome_agent import serve_on_socket

from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import LoggedEvent, StoredTask


class UnavailableStore(MemoryStore):
    """A store that can be made unreadable."""

    is_unavailable = False

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Read, or fail."""
        self._check_available()
        return await super().load_task(
            scope, wire_id, history_length, include_artifacts=include_artifacts
        )

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> tuple[LoggedEvent, ...]:
        """Read, or fail."""
        self._check_available()
        return tuple(await super().read_events(key, after, limit, mark=mark))

    def _check_available(self) -> None:
        if self.is_unavailable:
            raise StoreUnavailableError("the disk is on fire")

    @contextmanager
    def interrupt(self) -> Iterator[None]:
        """Make the store unreadable for a while."""
        self.is_unavailable = True
        try:
            yield
        finally:
            self.is_unavailable = False


@pytest.fixture
def store() -> UnavailableStore:
    """A store that can be made unreadable."""
    return UnavailableStore()


@pytest.fixture
def report(store: UnavailableStore) -> Iterator[Consumer]:
    """Consumer of a surface on that store."""
    with serve_on_socket(producer(store)) as client:
        yield Consumer(client, "/agents/report")


@pytest.mark.requirement("mesh", "G5")
def test_an_unreadable_task_is_reported_as_working(
    report: Consumer, store: UnavailableStore
) -> None:
    """A consumer gives up at the first error: it gets a working task with the reason, without
    internals.
    """
    task_id = report.task("tasks/send", message=job(end="forever"))["id"]
    with store.interrupt():
        task = report.task("tasks/get", id=task_id)
    assert (task["id"], task["status"]["state"], task["artifacts"]) == (task_id, "working", [])
    text = task["status"]["message"]["parts"][0]["text"]
    assert text == "status unavailable: Service is temporarily unavailable"
    assert report.task("tasks/get", id=task_id)["history"] != []
    report.task("tasks/cancel", id=task_id)


def test_an_unreadable_task_is_accepted(report: Consumer, store: UnavailableStore) -> None:
    """It can be read when the store is back."""
    with store.interrupt():
        task = report.task("tasks/send", id="sent", message=job())
        assert (task["id"], task["status"]["state"]) == ("sent", "working")
    assert report.until("sent", "completed")["artifacts"]


@pytest.mark.requirement("mesh", "D23")
def test_a_stream_outlives_an_outage(report: Consumer, store: UnavailableStore) -> None:
    """It waits for the store, and sends the final event."""
    with report.open_stream(
        "tasks/sendSubscribe", id="told", message=job((0.5, None), (0.6, None), (0.7, None))
    ) as response:
        lines = (line for line in response.iter_lines() if line.startswith("data: "))
        next(lines)
        with store.interrupt():
            next(lines)
        assert '"completed"' in list(lines)[-1]
    assert summarize_event(report.stream("tasks/resubscribe", id="told")[-1]) == (
        "completed",
        None,
        None,
        True,
    )
