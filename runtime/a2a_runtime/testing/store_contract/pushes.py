"""Push configurations of a task."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio

import pytest

from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.v1_0 import AuthenticationInfo, TaskPushNotificationConfig
from a2a_runtime.stores.base import Store
from a2a_runtime.testing.store_contract.case import SCOPE, StoreCase, build_new_task, create_task

SENDER = AuthenticationInfo(scheme="Bearer", credentials="c")
FULL = TaskPushNotificationConfig(
    id="hook",
    tenant="acme",
    url="https://example.org/1",
    token="t-1",  # noqa: S106 - a sample
    authentication=SENDER,
)


class PushRules(StoreCase):
    """Rules of push configurations."""

    async def test_a_configuration_gets_the_id_of_its_task(self, store: Store) -> None:
        """All other members are kept."""
        task = await create_task(store)
        put = await store.put_push_config(SCOPE, task.wire_id, FULL)
        assert put == FULL.model_copy(update={"task_id": task.wire_id})
        assert await store.get_push_config(SCOPE, task.wire_id, "hook") == put
        assert await store.get_push_config(SCOPE, task.wire_id, "other") is None

    async def test_a_configuration_without_an_id_gets_one(self, store: Store) -> None:
        """Two without an id are two."""
        task = await create_task(store)
        puts = [
            await store.put_push_config(
                SCOPE, task.wire_id, TaskPushNotificationConfig(url="https://example.org")
            )
            for _ in range(2)
        ]
        assert len({put.id for put in puts}) == 2
        assert all(put.id for put in puts)

    async def test_a_configuration_of_the_same_id_is_replaced(self, store: Store) -> None:
        """Putting twice changes the first."""
        task = await create_task(store)
        await store.put_push_config(SCOPE, task.wire_id, FULL)
        await store.put_push_config(
            SCOPE, task.wire_id, FULL.model_copy(update={"url": "https://example.org/2"})
        )
        configs, token = await store.list_push_configs(SCOPE, task.wire_id)
        assert ([config.url for config in configs], token) == (["https://example.org/2"], "")

    async def test_a_configuration_can_come_with_the_task(self, store: Store) -> None:
        """It exists from the first event."""
        task = await create_task(store, build_new_task(push_config=FULL))
        assert await store.get_push_config(SCOPE, task.wire_id, "hook") == FULL.model_copy(
            update={"task_id": task.wire_id}
        )

    async def test_configurations_are_listed_by_pages(self, store: Store) -> None:
        """Each one once, ordered by id; a token of another task is refused."""
        task = await create_task(store)
        other = await create_task(store)
        for n in range(7):
            await store.put_push_config(
                SCOPE, task.wire_id, FULL.model_copy(update={"id": f"h-{n}"})
            )
        seen: list[str | None] = []
        token = ""
        while True:
            configs, token = await store.list_push_configs(SCOPE, task.wire_id, 3, token)
            seen += [config.id for config in configs]
            if not token:
                break
        assert seen == [f"h-{n}" for n in range(7)]
        _, token = await store.list_push_configs(SCOPE, task.wire_id, 3)
        with pytest.raises(InvalidParamsError):
            await store.list_push_configs(SCOPE, other.wire_id, 3, token)
        with pytest.raises(InvalidParamsError):
            await store.list_push_configs(SCOPE, task.wire_id, 0)

    async def test_a_configuration_is_deleted_once(self, store: Store) -> None:
        """The second deletion returns false."""
        task = await create_task(store)
        await store.put_push_config(SCOPE, task.wire_id, FULL)
        assert await store.delete_push_config(SCOPE, task.wire_id, "hook")
        assert not await store.delete_push_config(SCOPE, task.wire_id, "hook")
        assert (await store.list_push_configs(SCOPE, task.wire_id))[0] == []

    async def test_the_number_of_configurations_is_limited(self, store: Store) -> None:
        """Even for concurrent calls; replacing one is allowed, and so is adding one after a
        deletion.
        """
        task = await create_task(store, build_new_task(push_config=FULL))
        hooks = [FULL.model_copy(update={"id": f"h-{n}"}) for n in range(8)]
        puts = await asyncio.gather(
            *(store.put_push_config(SCOPE, task.wire_id, each, max_configs=4) for each in hooks),
            return_exceptions=True,
        )
        refused = [each for each in puts if isinstance(each, BaseException)]
        assert [(type(each), "at most 4" in str(each)) for each in refused] == [
            (InvalidParamsError, True)
        ] * 5
        kept = (await store.list_push_configs(SCOPE, task.wire_id))[0]
        assert len(kept) == 4
        await store.put_push_config(SCOPE, task.wire_id, kept[0], max_configs=4)
        await store.delete_push_config(SCOPE, task.wire_id, kept[0].id or "")
        await store.put_push_config(
            SCOPE, task.wire_id, FULL.model_copy(update={"id": "new"}), max_configs=4
        )

    async def test_configurations_of_an_unknown_task_are_an_error(self, store: Store) -> None:
        """Every call raises ``TaskNotFoundError``."""
        with pytest.raises(TaskNotFoundError):
            await store.put_push_config(SCOPE, "unknown", FULL)
        with pytest.raises(TaskNotFoundError):
            await store.list_push_configs(SCOPE, "unknown")
