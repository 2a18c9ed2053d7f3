"""Concurrent calls: one winner, no lost update, no partial write."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from a2a_contract.errors import RateLimitedError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.errors import ConcurrencyError, TaskTerminalError
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import ChangeResult, IdempotencyKey, NewTask, TaskChange
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    StoreCase,
    append_artifact,
    build_new_task,
    create_task,
    get_artifact_texts,
    load_task,
)


class RaceRules(StoreCase):
    """Rules of concurrent calls."""

    async def test_concurrent_creations_with_one_key_create_one_task(self, store: Store) -> None:
        """Sixty-four callers get the task that one of them has created."""
        key = IdempotencyKey("key", b"hash")
        made = await asyncio.gather(
            *[
                store.create_task(SCOPE, build_new_task(context_id=f"c-{n}", idempotency_key=key))
                for n in range(64)
            ]
        )
        assert len({each.stored.key for each in made}) == 1
        assert sum(each.is_new for each in made) == 1
        assert len(await store.read_events(made[0].stored.key, 0)) == 1

    async def test_concurrent_creations_with_one_id_create_one_task(self, store: Store) -> None:
        """All others are refused."""
        made = await asyncio.gather(
            *[store.create_task(SCOPE, build_new_task(wire_id="job")) for _ in range(32)],
            return_exceptions=True,
        )
        assert sum(not isinstance(each, BaseException) for each in made) == 1

    async def test_concurrent_creations_keep_to_the_limit_of_open_tasks(self, store: Store) -> None:
        """As many as the limit are created; a repeated creation is none, an ended task makes room,
        and other scopes are not concerned.
        """

        def build_limited(**options: Any) -> NewTask:  # noqa: ANN401 - those of build_new_task
            return replace(build_new_task(**options), max_open=5)

        once = IdempotencyKey("key", b"hash")
        first = await store.create_task(SCOPE, build_limited(idempotency_key=once))
        made = await asyncio.gather(
            *[store.create_task(SCOPE, build_limited(context_id=f"c-{n}")) for n in range(24)],
            return_exceptions=True,
        )
        assert [type(each) for each in made if isinstance(each, BaseException)] == [
            RateLimitedError
        ] * 20
        again = await store.create_task(SCOPE, build_limited(idempotency_key=once))
        assert (again.stored.key, again.is_new) == (first.stored.key, False)
        assert (await store.create_task(SCOPE._replace(owner="eve"), build_limited())).is_new
        await store.update_task(SCOPE, first.stored.key, TaskChange(state=State.COMPLETED))
        assert (await store.create_task(SCOPE, build_limited())).is_new

    async def test_a_task_ends_once(self, store: Store) -> None:
        """One of several concurrent writers ends it, the others are refused, and there is one last
        event.
        """
        for _ in range(20):
            task = await create_task(store)
            changes = [
                TaskChange(state=state) for state in (State.COMPLETED, State.CANCELED, State.FAILED)
            ]
            results = await asyncio.gather(
                *[store.update_task(SCOPE, task.key, change) for change in changes],
                return_exceptions=True,
            )
            assert sorted(isinstance(each, TaskTerminalError) for each in results) == [
                False,
                True,
                True,
            ]
            events = await store.read_events(task.key, 0)
            assert [event.state in TERMINAL for event in events] == [False, True]

    async def test_optimistic_writers_lose_no_update(self, store: Store) -> None:
        """All of sixty writers that load, change and retry succeed in the end."""
        task = await create_task(store)

        async def add(n: int) -> None:
            while True:
                version = await store.get_version(SCOPE, task.wire_id)
                try:
                    await store.update_task(
                        SCOPE, task.key, TaskChange(metadata={f"k{n}": n}, expected_version=version)
                    )
                except ConcurrencyError:
                    continue
                return

        await asyncio.gather(*[add(n) for n in range(60)])
        now = await load_task(store, task)
        assert now.version == 61
        assert sorted((now.task.model.metadata or {}).values(), key=str) == sorted(
            range(60), key=str
        )

    async def test_failed_calls_leave_no_gap_in_the_events(self, store: Store) -> None:
        """Of four hundred calls, fifty at once, every fifth fails in its last part, and leaves
        nothing.
        """
        task = await create_task(store)
        # a store may give up a call that waits for hundreds of others on a busy machine
        turns = asyncio.Semaphore(50)

        async def append(n: int) -> ChangeResult:
            bad: dict[str, object] = {"n": object()}
            metadata = bad if n % 5 == 0 else {f"k{n}": n}
            async with turns:
                return await store.update_task(
                    SCOPE,
                    task.key,
                    TaskChange(chunks=[append_artifact("a", str(n))], metadata=metadata),
                )

        results = await asyncio.gather(*[append(n) for n in range(400)], return_exceptions=True)
        written = [each for each in results if not isinstance(each, BaseException)]
        assert {type(each) for each in results if isinstance(each, BaseException)} == {TypeError}
        assert len(written) == 320
        events = [*await store.read_events(task.key, 0), *await store.read_events(task.key, 256)]
        assert [event.seq for event in events] == list(range(1, 322))
        assert sorted(event.seq for each in written for event in each.events) == list(range(2, 322))
        now = await load_task(store, task)
        assert (now.version, now.last_seq, len(now.task.model.metadata or {})) == (321, 321, 320)
        assert sorted(get_artifact_texts(now)["a"], key=str) == sorted(
            (str(n) for n in range(400) if n % 5), key=str
        )

    async def test_concurrent_claims_have_one_winner(self, store: Store) -> None:
        """One of many processes claims an orphan."""
        task = await create_task(store)
        processes = [f"p-{n}" for n in range(16)]
        for process in processes:
            await store.register(process)
        runs = await asyncio.gather(*[store.claim(task.key, process) for process in processes])
        assert [run.attempt for run in runs if run is not None] == [1]
