"""Numbered writes of runs, cancellations that wait, and cursors beyond the log."""

# ruff: noqa: S101 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.errors import EventsGoneError, FencedError, LostWritesError
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import RunProgress, StoredTask, TaskChange
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    StoreCase,
    append_artifact,
    build_new_task,
    create_task,
    get_artifact_texts,
    load_task,
)


def number(value: int, *texts: str, epoch: int = 1, process: str = "p-1") -> TaskChange:
    """Build a numbered write of texts."""
    chunks = [append_artifact("a", text) for text in texts]
    return TaskChange(chunks=chunks, epoch=epoch, process=process, number=value)


async def begin_run(store: Store) -> StoredTask:
    """Create a task that is claimed by a process."""
    await store.register("p-1")
    return await create_task(store, build_new_task(process="p-1"))


class WriteRules(StoreCase):
    """Rules of what runs write, and of what is left when they are gone."""

    async def test_a_repeated_write_lands_once(self, store: Store) -> None:
        """A write whose answer was lost is sent again; the store says that it has it."""
        task = await begin_run(store)
        first = await store.update_task(SCOPE, task.key, number(1, "1"))
        again = await store.update_task(SCOPE, task.key, number(1, "1"))
        assert (first.is_new, again.is_new, again.last_seq) == (True, False, first.last_seq)
        assert get_artifact_texts(await load_task(store, task)) == {"a": ["1"]}

    async def test_a_repeated_end_lands_once(self, store: Store) -> None:
        """Also after the end of the task, which takes the claim from the run."""
        task = await begin_run(store)
        end = TaskChange(state=State.COMPLETED, epoch=1, process="p-1", number=1)
        assert (await store.update_task(SCOPE, task.key, end)).is_new
        again = await store.update_task(SCOPE, task.key, end)
        assert (again.is_new, again.state) == (False, State.COMPLETED)

    async def test_a_late_write_is_refused(self, store: Store) -> None:
        """The copy of an earlier write that the database executes late changes nothing."""
        task = await begin_run(store)
        await store.update_task(SCOPE, task.key, number(1, "1"))
        await store.update_task(SCOPE, task.key, number(2, "2"))
        with pytest.raises(FencedError):
            await store.update_task(SCOPE, task.key, number(1, "1"))
        assert get_artifact_texts(await load_task(store, task)) == {"a": ["1", "2"]}

    async def test_a_write_after_a_gap_is_refused(self, store: Store) -> None:
        """The store does not have an earlier write of the run: it fell back to an earlier state."""
        task = await begin_run(store)
        await store.update_task(SCOPE, task.key, number(1, "1"))
        with pytest.raises(LostWritesError):
            await store.update_task(SCOPE, task.key, number(3, "3"))

    async def test_numbers_begin_again_with_each_run(self, store: Store, clock: FakeClock) -> None:
        """The lease tells how far the latest run is; messages of clients take no number."""
        task = await begin_run(store)
        await store.update_task(SCOPE, task.key, number(1, "1"))
        await store.update_task(
            SCOPE, task.key, TaskChange(chunks=[append_artifact("a", "unnumbered")])
        )
        assert (await store.renew_lease("p-1")).claimed == {task.key: RunProgress(1, 1)}
        clock.advance(60)
        await store.register("p-2")
        assert await store.claim(task.key, "p-2") is not None
        assert (await store.renew_lease("p-2")).claimed == {task.key: RunProgress(2, 0)}
        await store.update_task(SCOPE, task.key, number(1, "2", epoch=2, process="p-2"))
        assert (await store.renew_lease("p-2")).claimed == {task.key: RunProgress(2, 1)}

    async def test_another_process_cannot_write(self, store: Store) -> None:
        """Two processes may know a run by the same epoch, when the store has lost the claim of the
        first one.
        """
        task = await begin_run(store)
        with pytest.raises(FencedError):
            await store.update_task(SCOPE, task.key, number(1, "1", process="p-2"))

    async def test_a_cursor_beyond_the_log_is_refused(self, store: Store) -> None:
        """The log has lost the event at which the reader is; it does not wait for the next one."""
        task = await begin_run(store)
        await store.update_task(SCOPE, task.key, number(1, "1"))
        assert list(await store.read_events(task.key, 2)) == []
        with pytest.raises(EventsGoneError):
            await store.read_events(task.key, 3)

    async def test_the_mark_of_an_event_identifies_it(self, store: Store) -> None:
        """A reader whose event has another mark in the log has seen what the log lost; stores
        without marks never lose.
        """
        task = await begin_run(store)
        (written,) = (await store.update_task(SCOPE, task.key, number(1, "1"))).events
        assert (await load_task(store, task)).mark == written.mark
        assert list(await store.read_events(task.key, 2, mark=written.mark)) == []
        if written.mark:
            with pytest.raises(EventsGoneError):
                await store.read_events(task.key, 2, mark=written.mark + 1)

    async def test_a_suspended_task_that_is_to_be_canceled_is_an_orphan(self, store: Store) -> None:
        """A process that finds it ends it, even if the process that took the cancellation is
        gone.
        """
        await store.register("p-1")
        waiting, canceled = [
            await create_task(store, build_new_task(process="p-1")) for _ in range(2)
        ]
        suspend = TaskChange(
            state=State.INPUT_REQUIRED, epoch=1, process="p-1", number=1, release_claim=True
        )
        await store.request_cancel(SCOPE, canceled.wire_id)
        for task in (waiting, canceled):
            await store.update_task(SCOPE, task.key, suspend)
        assert list(await store.find_orphans()) == [canceled.key]
        await store.request_cancel(SCOPE, waiting.wire_id)
        assert sorted(await store.find_orphans()) == sorted([waiting.key, canceled.key])
        for task in (waiting, canceled):
            run = await store.claim(task.key, "p-1")
            assert run is not None
            assert run.stored.cancel_requested
            end = TaskChange(state=State.CANCELED, epoch=2, process="p-1", number=1)
            assert (await store.update_task(SCOPE, task.key, end)).state is State.CANCELED
        assert list(await store.find_orphans()) == []
