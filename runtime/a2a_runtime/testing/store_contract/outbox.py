"""Push deliveries: order, claims and outcomes."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio

from a2a_contract.dialects import CANONICAL, V0_3
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_millis
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import Delivery, StoredTask, TaskChange
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    HOUR_SECONDS,
    SCOPE,
    StoreCase,
    append_artifact,
    build_new_task,
    create_task,
    end_task,
)


def build_config(name: str) -> TaskPushNotificationConfig:
    """Build a configuration."""
    return TaskPushNotificationConfig(id=name, url=f"https://example.org/{name}")


class OutboxRules(StoreCase):
    """Rules of deliveries."""

    async def test_every_event_is_delivered_to_every_configuration(self, store: Store) -> None:
        """Once, in order, one at a time."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await store.put_push_config(SCOPE, task.wire_id, build_config("b"))
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        await store.update_task(
            SCOPE, task.key, TaskChange(state=State.COMPLETED, chunks=[append_artifact("r", "x")])
        )
        delivered = await _drain(store)
        assert delivered == {"a": [1, 2, 3, 4], "b": [2, 3, 4]}

    async def test_a_delivery_has_event_configuration_and_task(self, store: Store) -> None:
        """The event as in the log, the configuration, and the task as it is now."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await end_task(store, task)
        (delivery,) = await store.claim_due(30)
        assert delivery.event == (await store.read_events(task.key, 0))[0]
        assert delivery.config == build_config("a").model_copy(update={"task_id": task.wire_id})
        assert (delivery.attempts, delivery.stored.key, delivery.stored.state) == (
            1,
            task.key,
            State.COMPLETED,
        )

    async def test_deliveries_are_filtered_by_surface(self, store: Store) -> None:
        """Agents that share a store send the notifications of their own tasks, with their own
        keys.
        """
        await create_task(store, build_new_task(push_config=build_config("a")))
        await create_task(
            store,
            build_new_task(push_config=build_config("b")),
            TaskScope('/their "own" ü', "acme", "ada"),
        )
        assert list(await store.claim_due(30, surfaces=[])) == []
        assert [
            delivery.config.id
            for delivery in await store.claim_due(30, surfaces=["/x", SCOPE.surface])
        ] == ["a"]
        assert [delivery.config.id for delivery in await store.claim_due(30)] == ["b"]

    async def test_a_claimed_delivery_is_not_claimed_again(
        self, store: Store, clock: FakeClock
    ) -> None:
        """It is due again after its lease; then only the outcome of the second claim counts."""
        await create_task(store, build_new_task(push_config=build_config("a")))
        (first,) = await store.claim_due(30)
        assert list(await store.claim_due(30)) == []
        clock.advance(30)
        (second,) = await store.claim_due(30)
        assert (second.id, second.attempts) == (first.id, 2)
        assert not await store.mark_delivered(first)
        assert not await store.retry(first, 1)
        assert await store.mark_delivered(second)
        assert not await store.mark_delivered(second)
        clock.advance(HOUR_SECONDS)
        assert list(await store.claim_due(30)) == []

    async def test_a_failed_delivery_is_due_later(self, store: Store, clock: FakeClock) -> None:
        """Later events of the same configuration wait; other configurations do not."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await store.put_push_config(SCOPE, task.wire_id, build_config("b"))
        await end_task(store, task)
        claimed = {delivery.config.id: delivery for delivery in await store.claim_due(30)}
        assert await store.retry(claimed["a"], 60)
        assert await store.mark_delivered(claimed["b"])
        clock.advance(59)
        assert list(await store.claim_due(30)) == []
        clock.advance(1)
        assert [
            (each.config.id, each.event.seq, each.attempts) for each in await store.claim_due(30)
        ] == [("a", 1, 2)]

    async def test_concurrent_claims_do_not_overlap(self, store: Store) -> None:
        """Concurrent senders share the deliveries."""
        for _ in range(20):
            await create_task(store, build_new_task(push_config=build_config("a")))
        batches = await asyncio.gather(*[store.claim_due(30, 4) for _ in range(8)])
        ids = [delivery.id for batch in batches for delivery in batch]
        assert len(ids) == len(set(ids)) == 20

    async def test_a_deleted_configuration_gets_no_delivery(self, store: Store) -> None:
        """Neither does one of a deleted task."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        other = await create_task(store, build_new_task(push_config=build_config("b")))
        (claimed, *_) = sorted(await store.claim_due(30), key=lambda each: str(each.config.id))
        await store.delete_push_config(SCOPE, task.wire_id, "a")
        await store.delete_task(SCOPE, other.wire_id)
        assert not await store.mark_delivered(claimed)
        assert await _drain(store) == {}

    async def test_pending_deliveries_use_the_changed_configuration(self, store: Store) -> None:
        """They go to the new URL."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await store.put_push_config(
            SCOPE,
            task.wire_id,
            build_config("a").model_copy(update={"url": "https://example.org/new"}),
        )
        assert [delivery.config.url for delivery in await store.claim_due(30)] == [
            "https://example.org/new"
        ]

    async def test_a_delivery_has_the_dialect_of_its_configuration(self, store: Store) -> None:
        """That of the task if it came with it, else its own; putting it again changes it."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await store.put_push_config(SCOPE, task.wire_id, build_config("b"), V0_3.name)
        await end_task(store, task)
        assert {each.config.id: each.dialect for each in await store.claim_due(0)} == {
            "a": CANONICAL.name,
            "b": V0_3.name,
        }
        await store.put_push_config(SCOPE, task.wire_id, build_config("b"))
        assert {each.config.id: each.dialect for each in await store.claim_due(0)} == {
            "a": CANONICAL.name,
            "b": CANONICAL.name,
        }

    async def test_a_failed_configuration_gets_no_delivery(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Pending deliveries are dropped, later events are not delivered, and time and reason are
        stored; others are not affected.
        """
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await store.put_push_config(SCOPE, task.wire_id, build_config("b"))
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        claimed = {delivery.config.id: delivery for delivery in await store.claim_due(0)}
        assert await store.mark_failed(claimed["a"], "status 410")
        assert not await store.mark_failed(claimed["a"], "once is enough")
        await end_task(store, task)
        clock.advance(HOUR_SECONDS / 2)
        assert await _drain(store) == {"b": [2, 3]}
        failures = await store.list_push_failures(SCOPE, task.wire_id)
        assert {
            name: (to_millis(failure.at), failure.reason) for name, failure in failures.items()
        } == {"a": (clock.millis() - 1_800_000, "status 410")}
        assert await store.get_push_config(SCOPE, task.wire_id, "a") is not None

    async def test_only_the_last_claim_may_fail(self, store: Store) -> None:
        """The outcome of an expired claim is ignored."""
        await create_task(store, build_new_task(push_config=build_config("a")))
        (first,) = await store.claim_due(0)
        (second,) = await store.claim_due(30)
        assert not await store.mark_failed(first, "too late")
        assert await store.mark_delivered(second)

    async def test_a_failed_configuration_can_be_put_again(self, store: Store) -> None:
        """It gets the events from then on, not those it has missed."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        (claimed,) = await store.claim_due(30)
        await store.mark_failed(claimed, "gone")
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        await store.put_push_config(SCOPE, task.wire_id, build_config("a"))
        assert await store.list_push_failures(SCOPE, task.wire_id) == {}
        await end_task(store, task)
        assert await _drain(store) == {"a": [3]}

    async def test_a_change_without_an_event_is_not_delivered(self, store: Store) -> None:
        """For a working task, a terminal one, and with other deliveries pending."""
        working = await create_task(store, build_new_task(push_config=build_config("a")))
        over = await create_task(store, build_new_task(push_config=build_config("b")))
        await end_task(store, over)
        assert await _drain(store) == {"a": [1], "b": [1, 2]}
        for task in (working, over):
            await store.update_task(SCOPE, task.key, TaskChange(metadata={"note": 1}))
        await store.update_task(SCOPE, over.key, TaskChange(messages=[build_new_task().message]))
        assert list(await store.claim_due(0)) == []
        await create_task(store, build_new_task(push_config=build_config("c")))
        assert await _drain(store) == {"c": [1]}

    async def test_late_content_is_not_delivered(self, store: Store) -> None:
        """It is no event."""
        task = await create_task(store, build_new_task(push_config=build_config("a")))
        await end_task(store, task)
        await _append_late(store, task)
        assert await _drain(store) == {"a": [1, 2]}


async def _append_late(store: Store, task: StoredTask) -> None:
    await store.update_task(SCOPE, task.key, TaskChange(chunks=[append_artifact("r", "late")]))


async def _drain(store: Store) -> dict[str | None, list[int]]:
    delivered: dict[str | None, list[int]] = {}
    while batch := await store.claim_due(30):
        assert len({_queue_key(delivery) for delivery in batch}) == len(batch)
        for delivery in batch:
            delivered.setdefault(delivery.config.id, []).append(delivery.event.seq)
            assert await store.mark_delivered(delivery)
    return delivered


def _queue_key(delivery: Delivery) -> tuple[str, str | None]:
    return delivery.stored.key, delivery.config.id
