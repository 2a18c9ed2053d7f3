"""A task of another scope is one that does not exist, in every call."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import pytest

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import TaskScope
from a2a_runtime.stores.base import IdempotencyKey, Store, TaskChange, TaskQuery
from a2a_runtime.testing.store_contract.case import SCOPE, StoreCase, build_new_task, create_task, load_task

OTHER_SCOPES = pytest.mark.parametrize(
    "stranger",
    [TaskScope("/other", "acme", "ada"), TaskScope("/agent", "other", "ada"), TaskScope("/agent", "acme", "eve"), TaskScope("/agent", "", "acmeada")],
    ids=["other surface", "other tenant", "other owner", "same letters"],
)
HOOK = TaskPushNotificationConfig(id="hook", url="https://example.org/hook")


class ScopeRules(StoreCase):
    """What holds for strangers."""

    @OTHER_SCOPES
    async def test_a_stranger_meets_no_task(self, store: Store, stranger: TaskScope) -> None:
        """Reading, changing, listing, canceling and deleting are for the scope that the task was created in."""
        task = await create_task(store)
        assert await store.load_task(stranger, task.wire_id) is None
        assert await store.get_version(stranger, task.wire_id) is None
        assert not await store.delete_task(stranger, task.wire_id)
        assert (await store.list_tasks(stranger, TaskQuery())).total_size == 0
        assert (await store.list_tasks(stranger, TaskQuery(context_id="c-1"))).total_size == 0
        with pytest.raises(TaskNotFoundError):
            await store.update_task(stranger, task.key, TaskChange(metadata={"k": 1}))
        with pytest.raises(TaskNotFoundError):
            await store.request_cancel(stranger, task.wire_id)
        assert (await load_task(store, task)).version == 1

    @OTHER_SCOPES
    async def test_a_stranger_meets_no_conversation(self, store: Store, stranger: TaskScope) -> None:
        """Two callers may use the same id for their conversations and never meet."""
        await create_task(store)
        await store.update_context(SCOPE, "c-1", {"k": 1})
        assert await store.load_context(stranger, "c-1") is None
        assert list(await store.load_conversation(stranger, "c-1")) == []
        assert await store.delete_context(stranger, "c-1") == 0
        await store.update_context(stranger, "c-1", {"k": 2})
        assert await store.load_context(SCOPE, "c-1") == {"k": 1}
        assert len(await store.load_conversation(SCOPE, "c-1")) == 1

    @OTHER_SCOPES
    async def test_a_stranger_meets_no_push_configuration(self, store: Store, stranger: TaskScope) -> None:
        """Where notifications go is for the owner of the task alone."""
        task = await create_task(store)
        await store.put_push_config(SCOPE, task.wire_id, HOOK)
        with pytest.raises(TaskNotFoundError):
            await store.put_push_config(stranger, task.wire_id, HOOK)
        with pytest.raises(TaskNotFoundError):
            await store.get_push_config(stranger, task.wire_id, "hook")
        with pytest.raises(TaskNotFoundError):
            await store.list_push_configs(stranger, task.wire_id)
        with pytest.raises(TaskNotFoundError):
            await store.delete_push_config(stranger, task.wire_id, "hook")
        assert await store.get_push_config(SCOPE, task.wire_id, "hook") is not None

    @OTHER_SCOPES
    async def test_ids_and_idempotency_keys_of_others_are_no_obstacle(self, store: Store, stranger: TaskScope) -> None:
        """Two callers may choose the same id and the same idempotency key."""
        promise = IdempotencyKey("key", b"hash")
        ours = await create_task(store, build_new_task(wire_id="job", idempotency_key=promise))
        theirs = await create_task(store, build_new_task(wire_id="job", idempotency_key=IdempotencyKey("key", b"other hash")), stranger)
        assert ours.key != theirs.key
        assert (await load_task(store, theirs)).scope == stranger

    async def test_an_operator_sees_and_deletes_everybodys(self, store: Store) -> None:
        """Scopes are listed while anything of theirs is there; deleting one leaves the others."""
        other = TaskScope("/other", "acme", "eve")
        await create_task(store)
        await create_task(store, build_new_task(context_id="c-2"))
        kept = await create_task(store, scope=other)
        await store.update_context(SCOPE, "c-3", {"k": 1})
        assert set(await store.list_scopes()) == {SCOPE, other}
        assert await store.delete_scope(SCOPE) == 2
        assert list(await store.list_scopes()) == [other]
        assert await store.load_context(SCOPE, "c-3") is None
        assert (await load_task(store, kept)).key == kept.key
