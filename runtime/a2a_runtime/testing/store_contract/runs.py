"""Leases, claims, orphans, cancellation and replay records."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import FencedError
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import RecordKind, ReplayRecord, TaskChange
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    LEASE_SECONDS,
    SCOPE,
    StoreCase,
    build_new_task,
    create_task,
    end_task,
    load_task,
)


class RunRules(StoreCase):
    """Rules of processes and their runs."""

    async def test_a_task_without_a_process_is_an_orphan(self, store: Store) -> None:
        """It can be claimed once."""
        task = await create_task(store)
        await store.register("p-1")
        assert list(await store.find_orphans()) == [task.key]
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert (run.attempt, run.stored.process, run.stored.epoch, run.stored.key) == (
            1,
            "p-1",
            1,
            task.key,
        )
        assert run.stored.task.json == task.task.json
        assert list(await store.find_orphans()) == []
        assert await store.claim(task.key, "p-1") is None

    async def test_the_tasks_of_a_live_process_are_no_orphans(
        self, store: Store, clock: FakeClock
    ) -> None:
        """As long as it renews its lease, no other process can claim them."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        for _ in range(5):
            clock.advance(LEASE_SECONDS - 1)
            await store.renew_lease("p-1")
            assert await store.claim(task.key, "p-2") is None
            assert list(await store.find_orphans()) == []

    async def test_the_tasks_of_a_dead_process_are_taken_over(
        self, store: Store, clock: FakeClock
    ) -> None:
        """After the end of the lease another process claims the task, and the epoch grows."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        clock.advance(LEASE_SECONDS)
        await store.register("p-2")
        assert list(await store.find_orphans()) == [task.key]
        run = await store.claim(task.key, "p-2")
        assert run is not None
        assert (run.attempt, run.stored.process) == (2, "p-2")

    async def test_a_process_never_claims_what_it_has_claimed(
        self, store: Store, clock: FakeClock
    ) -> None:
        """It runs the task, however late it renews its lease; it releases what it does not run."""
        await store.register("p-1")
        created = await create_task(store, build_new_task(process="p-1"))
        claimed = await create_task(store)
        assert await store.claim(claimed.key, "p-1") is not None
        clock.advance(LEASE_SECONDS * 3)
        assert [await store.claim(task.key, "p-1") for task in (created, claimed)] == [None, None]
        await store.release_claims("p-1", [created.key])
        assert await store.claim(created.key, "p-1") is not None

    async def test_a_wall_clock_that_is_set_ends_no_lease(
        self, store: Store, clock: FakeClock
    ) -> None:
        """A machine was suspended, or its time was corrected: its processes are as alive as
        before.
        """
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        for seconds in (3600, -3600, -3600):
            clock.jump(seconds)
            assert list(await store.find_orphans()) == []
            assert await store.claim(task.key, "p-2") is None
        await store.renew_lease("p-1")
        clock.advance(LEASE_SECONDS)
        assert list(await store.find_orphans()) == [task.key]

    async def test_a_claim_on_a_task_that_was_not_released_counts_as_a_crash(
        self, store: Store, clock: FakeClock
    ) -> None:
        """A task that was released, or that waited for its caller, has not crashed."""
        task = await create_task(store)
        crashes: list[int] = []
        for number in range(3):
            await store.register(f"p-{number}")
            run = await store.claim(task.key, f"p-{number}")
            assert run is not None
            crashes.append(run.crashes)
            clock.advance(LEASE_SECONDS)
        await store.update_task(SCOPE, task.key, TaskChange(epoch=3, release_claim=True))
        run = await store.claim(task.key, "p-3")
        assert run is not None
        assert (crashes, run.crashes) == ([0, 1, 2], 2)

    async def test_only_the_suspect_of_a_blocked_process_crashes(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Its neighbours do not, however late they are claimed."""
        await store.register("p-1")
        suspect, neighbour = [
            await create_task(store, build_new_task(process="p-1")) for _ in range(2)
        ]
        await asyncio.to_thread(asyncio.run, store.mark_suspect("p-1", suspect.key))
        clock.advance(LEASE_SECONDS * 100)
        await store.delete_expired()
        await store.register("p-2")
        runs = [await store.claim(task.key, "p-2") for task in (suspect, neighbour)]
        assert [run and run.crashes for run in runs] == [1, 0]

    async def test_a_process_that_renews_its_lease_has_no_suspect(
        self, store: Store, clock: FakeClock
    ) -> None:
        """All of its tasks crash when it dies later."""
        await store.register("p-1")
        suspect, neighbour = [
            await create_task(store, build_new_task(process="p-1")) for _ in range(2)
        ]
        await store.mark_suspect("p-1", suspect.key)
        await store.renew_lease("p-1")
        clock.advance(LEASE_SECONDS)
        runs = [await store.claim(task.key, "p-2") for task in (suspect, neighbour)]
        assert [run and run.crashes for run in runs] == [1, 1]

    async def test_a_late_renewal_begins_a_new_lease(self, store: Store, clock: FakeClock) -> None:
        """A slow process keeps the tasks that no other process has claimed."""
        await store.register("p-1")
        await create_task(store, build_new_task(process="p-1"))
        clock.advance(LEASE_SECONDS * 3)
        await store.delete_expired()
        await store.renew_lease("p-1")
        assert list(await store.find_orphans()) == []

    async def test_the_tasks_of_an_unregistered_process_are_orphans(self, store: Store) -> None:
        """They and released tasks can be claimed before the end of the lease."""
        await store.register("p-1")
        await store.register("p-2")
        left = await create_task(store, build_new_task(process="p-1"))
        released = await create_task(store, build_new_task(process="p-2"))
        await store.update_task(SCOPE, released.key, TaskChange(epoch=1, release_claim=True))
        await store.unregister("p-1")
        assert list(await store.find_orphans()) == sorted([left.key, released.key])
        assert await store.claim(released.key, "p-2") is not None

    async def test_a_renewal_returns_the_claims_of_its_process(self, store: Store) -> None:
        """Created or claimed, until they are suspended, released or ended."""
        await store.register("p-1")
        created = await create_task(store, build_new_task(process="p-1"))
        claimed = await create_task(store)
        await create_task(store, build_new_task(process="p-2"))
        assert await store.claim(claimed.key, "p-1") is not None
        assert sorted((await store.renew_lease("p-1")).claimed) == sorted(
            [created.key, claimed.key]
        )
        await store.update_task(
            SCOPE, created.key, TaskChange(state=State.INPUT_REQUIRED, epoch=1, release_claim=True)
        )
        assert list((await store.renew_lease("p-1")).claimed) == [claimed.key]
        await end_task(store, claimed)
        assert list((await store.renew_lease("p-1")).claimed) == []

    async def test_released_claims_are_orphans(self, store: Store) -> None:
        """The run that may have begun is over; claims of other processes, ended and unknown tasks
        are left as they are.
        """
        await store.register("p-1")
        await store.register("p-2")
        task = await create_task(store, build_new_task(process="p-1"))
        other = await create_task(store, build_new_task(process="p-2"))
        ended = await end_task(store, await create_task(store, build_new_task(process="p-1")))
        deleted = await create_task(store, build_new_task(process="p-1"))
        await store.delete_task(SCOPE, deleted.wire_id)
        await store.release_claims("p-1", [])
        await store.release_claims("p-1", {task.key, other.key, ended.key, deleted.key})
        assert list(await store.find_orphans()) == [task.key]
        with pytest.raises(FencedError):
            await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING, epoch=1))
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert run.attempt == 2

    @pytest.mark.parametrize("steps", range(8))
    async def test_a_cancelled_creation_leaves_no_doubt(self, store: Store, steps: int) -> None:
        """Its task does not exist, or the next renewals return it."""
        await store.register("p-1")
        creation = asyncio.ensure_future(
            store.create_task(SCOPE, build_new_task(process="p-1", wire_id="w-1"))
        )
        for _ in range(steps):
            await asyncio.sleep(0)
        creation.cancel()
        await asyncio.wait([creation])
        # the writes of a store are in order
        await create_task(store)
        stored = await store.load_task(SCOPE, "w-1")
        assert list((await store.renew_lease("p-1")).claimed) == (
            [] if stored is None else [stored.key]
        )

    @pytest.mark.parametrize(
        "state", [State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.COMPLETED, State.CANCELED]
    )
    async def test_suspended_and_ended_tasks_are_no_orphans(
        self, store: Store, clock: FakeClock, state: State
    ) -> None:
        """They cannot be claimed, even if their process is dead."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        await store.update_task(
            SCOPE, task.key, TaskChange(state=state, epoch=1, release_claim=True)
        )
        clock.advance(LEASE_SECONDS * 100)
        assert list(await store.find_orphans()) == []
        assert await store.claim(task.key, "p-1") is None

    async def test_an_answered_task_is_an_orphan(self, store: Store) -> None:
        """It is active again, and can be claimed for its second run."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        await store.update_task(
            SCOPE, task.key, TaskChange(state=State.INPUT_REQUIRED, epoch=1, release_claim=True)
        )
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        assert list(await store.find_orphans()) == [task.key]
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert run.attempt == 2

    async def test_a_deleted_task_cannot_be_claimed(self, store: Store) -> None:
        """An unknown key is no error."""
        task = await create_task(store)
        await store.delete_task(SCOPE, task.wire_id)
        assert await store.claim(task.key, "p-1") is None

    async def test_orphans_are_ordered_and_limited(self, store: Store) -> None:
        """The oldest come first."""
        keys = [(await create_task(store)).key for _ in range(5)]
        assert list(await store.find_orphans(3)) == keys[:3]

    async def test_orphans_are_filtered_by_surface(self, store: Store) -> None:
        """Agents that share a store claim only tasks of their own surfaces."""
        mine = await create_task(store)
        theirs = (
            await store.create_task(TaskScope('/their "own" ü', "acme", "ada"), build_new_task())
        ).stored
        assert list(await store.find_orphans(surfaces=["/x", SCOPE.surface])) == [mine.key]
        assert list(await store.find_orphans(surfaces=[theirs.scope.surface])) == [theirs.key]
        assert list(await store.find_orphans(surfaces=[])) == []
        assert list(await store.find_orphans()) == sorted([mine.key, theirs.key])

    async def test_every_run_gets_the_record_of_the_creation(self, store: Store) -> None:
        """It precedes the records of runs, and belongs to this task only."""
        await store.register("p-1")
        created = ReplayRecord(RecordKind.REQUEST, "", b'{"n":1.10}')
        once = ReplayRecord(RecordKind.ONCE, "", b"2")
        task = await create_task(store, replace(build_new_task(), record=created))
        await create_task(store)
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert list(run.records) == [created]
        await store.update_task(
            SCOPE, task.key, TaskChange(records=(once,), epoch=1, release_claim=True)
        )
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert list(run.records) == [created, once]

    async def test_a_run_gets_the_records_of_earlier_runs(self, store: Store) -> None:
        """Oldest first; the same kind and key replace a record."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        question = ReplayRecord(RecordKind.QUESTION, "1", b'{"q":1}', "schema-1")
        once = ReplayRecord(RecordKind.ONCE, "1", b"[1]")
        other = ReplayRecord(RecordKind.ONCE, "2", b"null")
        answer = ReplayRecord(RecordKind.ANSWER, "1", b'{"a":%d}' % (10**39), "schema-1")
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(records=[ReplayRecord(RecordKind.ONCE, "1", b"[0]"), question], epoch=1),
        )
        await store.update_task(SCOPE, task.key, TaskChange(records=[answer, once], epoch=1))
        await store.update_task(
            SCOPE, task.key, TaskChange(records=[other], epoch=1, release_claim=True)
        )
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert sorted(run.records, key=str) == sorted([once, question, answer, other], key=str)
        assert [record for record in run.records if record.kind is not RecordKind.ONCE] == [
            question,
            answer,
        ]

    async def test_a_cancel_request_reaches_the_process_of_the_task(self, store: Store) -> None:
        """Each renewal of its lease returns the task until it has ended."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        other = await create_task(store, build_new_task(process="p-2"))
        assert (await store.renew_lease("p-1")).cancel_requested == []
        for running in (task, other):
            assert (await store.request_cancel(SCOPE, running.wire_id)).cancel_requested
        assert (await store.request_cancel(SCOPE, task.wire_id)).key == task.key
        assert (
            (await store.renew_lease("p-1")).cancel_requested
            == (await store.renew_lease("p-1")).cancel_requested
            == [task.key]
        )
        await end_task(store, task, State.CANCELED)
        assert (await store.renew_lease("p-1")).cancel_requested == []

    async def test_a_claimed_run_has_the_cancel_request(self, store: Store) -> None:
        """A takeover learns of it at once."""
        task = await create_task(store)
        await store.request_cancel(SCOPE, task.wire_id)
        run = await store.claim(task.key, "p-1")
        assert run is not None
        assert run.stored.cancel_requested

    async def test_a_terminal_task_cannot_be_canceled(self, store: Store) -> None:
        """The error names the task; an unknown task is not found."""
        task = await end_task(store, await create_task(store))
        with pytest.raises(TaskNotCancelableError):
            await store.request_cancel(SCOPE, task.wire_id)
        with pytest.raises(TaskNotFoundError):
            await store.request_cancel(SCOPE, "unknown")
        assert not (await load_task(store, task)).cancel_requested
