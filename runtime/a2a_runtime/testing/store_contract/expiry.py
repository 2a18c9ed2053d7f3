"""Expiry of tasks, messages and contexts."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from a2a_contract.dialects import MESH
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import StoredTask, TaskChange
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    HOUR_SECONDS,
    SCOPE,
    StoreCase,
    build_new_task,
    build_reply,
    clean_up,
    create_task,
    end_task,
    load_task,
)
from a2a_runtime.testing.store_contract.outbox import build_config


class ExpiryRules(StoreCase):
    """Rules of the cleanup."""

    async def test_a_task_is_kept_for_its_retention_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        """The time counts from the end; late changes do not prolong it."""
        task = await create_task(store)
        clock.advance(HOUR_SECONDS * 5)
        await end_task(store, task)
        clock.advance(HOUR_SECONDS - 1)
        await store.update_task(SCOPE, task.key, TaskChange(metadata={"late": True}))
        assert await store.delete_expired() == 0
        clock.advance(1)
        assert await store.delete_expired() == 1
        assert await store.load_task(SCOPE, task.wire_id) is None
        with pytest.raises(TaskNotFoundError):
            await store.read_events(task.key, 0)

    async def test_an_expired_task_is_not_read(self, store: Store, clock: FakeClock) -> None:
        """Not even before the cleanup; one of a dialect with a shorter time is over earlier, and
        one with pending deliveries stays.
        """
        mesh = await end_task(
            store, await create_task(store, replace(build_new_task(), dialect=MESH.name))
        )
        pushed = await end_task(
            store, await create_task(store, build_new_task(push_config=build_config("a")))
        )
        running = await create_task(store)
        ended = await end_task(store, await create_task(store))
        clock.advance(HOUR_SECONDS / 2)
        await _check_readable(store, [ended, pushed, running], [mesh])
        clock.advance(HOUR_SECONDS / 2 - 1)
        await _check_readable(store, [ended, pushed, running], [mesh])
        clock.advance(1)
        await _check_readable(store, [pushed, running], [mesh, ended])
        assert await store.delete_expired() == 2
        assert await store.load_task(SCOPE, pushed.wire_id) is not None

    async def test_the_tasks_of_a_dialect_may_be_kept_for_a_shorter_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        """In batches, also those of later; a task with pending deliveries and those of other
        dialects stay.
        """
        first = [
            await end_task(
                store, await create_task(store, replace(build_new_task(), dialect=MESH.name))
            )
            for _ in range(5)
        ]
        pushed = await create_task(
            store, replace(build_new_task(push_config=build_config("a")), dialect=MESH.name)
        )
        other = await end_task(store, await create_task(store))
        await end_task(store, pushed)
        clock.advance(HOUR_SECONDS / 4)
        later = await end_task(
            store, await create_task(store, replace(build_new_task(), dialect=MESH.name))
        )
        assert await store.delete_expired() == 0
        clock.advance(HOUR_SECONDS / 4)
        assert [await store.delete_expired(2) for _ in range(4)] == [2, 2, 1, 0]
        assert [await store.load_task(SCOPE, task.wire_id) for task in first] == [None] * 5
        clock.advance(HOUR_SECONDS / 4)
        assert await store.delete_expired() == 1
        assert await store.load_task(SCOPE, later.wire_id) is None
        assert [(await load_task(store, task)).wire_id for task in (other, pushed)] == [
            other.wire_id,
            pushed.wire_id,
        ]

    @pytest.mark.parametrize("state", [State.WORKING, State.INPUT_REQUIRED])
    async def test_an_active_task_never_expires(
        self, store: Store, clock: FakeClock, state: State
    ) -> None:
        """However long it runs or waits."""
        task = await create_task(store)
        await store.update_task(SCOPE, task.key, TaskChange(state=state))
        clock.advance(HOUR_SECONDS * 1000)
        assert await store.delete_expired() == 0
        assert (await load_task(store, task)).state is state

    async def test_the_cleanup_waits_for_deliveries(self, store: Store, clock: FakeClock) -> None:
        """A task with pending deliveries stays, and does not block others."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await end_task(store, task)
        other = await end_task(store, await create_task(store))
        clock.advance(HOUR_SECONDS)
        assert await store.delete_expired() == 1
        assert await store.load_task(SCOPE, other.wire_id) is None
        for _ in range(2):
            for delivery in await store.claim_due(30):
                await store.mark_delivered(delivery)
        assert await store.delete_expired() == 1
        assert await store.load_task(SCOPE, task.wire_id) is None

    async def test_the_cleanup_has_a_limit(self, store: Store, clock: FakeClock) -> None:
        """Several calls delete tasks, then messages and contexts."""
        for n in range(7):
            await end_task(store, await create_task(store))
            await store.update_context(SCOPE, f"context-{n}", {})
        clock.advance(HOUR_SECONDS)
        assert [await store.delete_expired(3) for _ in range(4)] == [3, 3, 1, 0]
        clock.advance(HOUR_SECONDS * 100)
        assert await clean_up(store) > 0
        assert list(await store.list_scopes()) == []

    async def test_old_generations_expire_too(self, store: Store, clock: FakeClock) -> None:
        """A task whose id was taken by a newer one expires, and the newer one stays."""
        old = await end_task(store, await create_task(store, build_new_task(wire_id="job")))
        clock.advance(HOUR_SECONDS / 2)
        new = await create_task(store, build_new_task(wire_id="job"))
        clock.advance(HOUR_SECONDS / 2)
        assert await store.delete_expired() == 1
        with pytest.raises(TaskNotFoundError):
            await store.read_events(old.key, 0)
        assert (await load_task(store, new)).key == new.key

    async def test_a_conversation_outlives_its_tasks(self, store: Store, clock: FakeClock) -> None:
        """The newest messages of expired tasks stay for the retention time of the conversation."""
        for n in range(4):
            clock.advance(1)
            task = await create_task(store, build_new_task(text=f"{n}"))
            await store.update_task(
                SCOPE,
                task.key,
                TaskChange(state=State.COMPLETED, messages=[build_reply(task, f"{n}-reply")]),
            )
        await store.update_context(SCOPE, "c-1", {"k": 1})
        clock.advance(HOUR_SECONDS)
        assert await store.delete_expired() == 4
        assert await _texts(store) == ["1-reply", "2", "2-reply", "3", "3-reply"]
        clock.advance(1)
        await create_task(store, build_new_task(text="new"))
        assert (await _texts(store))[-2:] == ["3-reply", "new"]
        assert await store.load_context(SCOPE, "c-1") == {"k": 1}

    async def test_a_conversation_has_its_own_retention_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Messages expire by their own time, with or without their task; unused data expires as
        well.
        """
        task = await create_task(store, build_new_task(text="old"))
        await store.update_context(SCOPE, "c-1", {"k": 1})
        await store.update_context(SCOPE, "c-2", {"k": 2})
        clock.advance(HOUR_SECONDS)
        await store.update_task(SCOPE, task.key, TaskChange(messages=[build_reply(task, "young")]))
        clock.advance(HOUR_SECONDS)
        await clean_up(store)
        assert await _texts(store) == ["young"]
        assert len((await load_task(store, task)).task.model.history or []) == 2
        assert await store.load_context(SCOPE, "c-1") == {"k": 1}
        assert await store.load_context(SCOPE, "c-2") is None
        await end_task(store, task)
        clock.advance(HOUR_SECONDS)
        await clean_up(store)
        assert await _texts(store) == []
        assert await store.load_context(SCOPE, "c-1") is None
        assert list(await store.list_scopes()) == []


async def _check_readable(
    store: Store, found: Sequence[StoredTask], gone: Sequence[StoredTask]
) -> None:
    """Check which tasks readers find."""
    for task in found:
        assert (await load_task(store, task)).key == task.key
        assert await store.get_version(SCOPE, task.wire_id) is not None
        assert await store.read_events(task.key, 0)
    for task in gone:
        assert await store.load_task(SCOPE, task.wire_id) is None
        assert await store.get_version(SCOPE, task.wire_id) is None
        with pytest.raises(TaskNotFoundError):
            await store.read_events(task.key, 0)
        with pytest.raises(TaskNotFoundError):
            await store.request_cancel(SCOPE, task.wire_id)


async def _texts(store: Store) -> list[str | None]:
    return [each.parts[0].text for each in await store.load_conversation(SCOPE, "c-1")]
