"""Isolation of scopes: a task of another scope does not exist."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import pytest

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import IdempotencyKey, TaskChange, TaskQuery
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    StoreCase,
    build_new_task,
    create_task,
    load_task,
)

OTHER_SCOPES = pytest.mark.parametrize(
    "other_scope",
    [
        TaskScope("/other", "acme", "ada"),
        TaskScope("/agent", "other", "ada"),
        TaskScope("/agent", "acme", "eve"),
        TaskScope("/agent", "", "acmeada"),
    ],
    ids=["other surface", "other tenant", "other owner", "same letters"],
)
HOOK = TaskPushNotificationConfig(id="hook", url="https://example.org/hook")


class ScopeRules(StoreCase):
    """Rules of isolation."""

    @OTHER_SCOPES
    async def test_tasks_of_other_scopes_do_not_exist(
        self, store: Store, other_scope: TaskScope
    ) -> None:
        """They cannot be read, changed, listed, canceled or deleted."""
        task = await create_task(store)
        assert await store.load_task(other_scope, task.wire_id) is None
        assert await store.get_version(other_scope, task.wire_id) is None
        assert not await store.delete_task(other_scope, task.wire_id)
        assert (await store.list_tasks(other_scope, TaskQuery())).total_size == 0
        assert (await store.list_tasks(other_scope, TaskQuery(context_id="c-1"))).total_size == 0
        with pytest.raises(TaskNotFoundError):
            await store.update_task(other_scope, task.key, TaskChange(metadata={"k": 1}))
        with pytest.raises(TaskNotFoundError):
            await store.request_cancel(other_scope, task.wire_id)
        assert (await load_task(store, task)).version == 1

    @OTHER_SCOPES
    async def test_conversations_of_other_scopes_do_not_exist(
        self, store: Store, other_scope: TaskScope
    ) -> None:
        """Two callers may use the same id for different conversations."""
        await create_task(store)
        await store.update_context(SCOPE, "c-1", {"k": 1})
        assert await store.load_context(other_scope, "c-1") is None
        assert list(await store.load_conversation(other_scope, "c-1")) == []
        assert await store.delete_context(other_scope, "c-1") == 0
        await store.update_context(other_scope, "c-1", {"k": 2})
        assert await store.load_context(SCOPE, "c-1") == {"k": 1}
        assert len(await store.load_conversation(SCOPE, "c-1")) == 1

    @OTHER_SCOPES
    async def test_push_configurations_of_other_scopes_do_not_exist(
        self, store: Store, other_scope: TaskScope
    ) -> None:
        """They belong to the owner of the task."""
        task = await create_task(store)
        await store.put_push_config(SCOPE, task.wire_id, HOOK)
        with pytest.raises(TaskNotFoundError):
            await store.put_push_config(other_scope, task.wire_id, HOOK)
        with pytest.raises(TaskNotFoundError):
            await store.get_push_config(other_scope, task.wire_id, "hook")
        with pytest.raises(TaskNotFoundError):
            await store.list_push_configs(other_scope, task.wire_id)
        with pytest.raises(TaskNotFoundError):
            await store.delete_push_config(other_scope, task.wire_id, "hook")
        assert await store.get_push_config(SCOPE, task.wire_id, "hook") is not None

    @OTHER_SCOPES
    async def test_ids_and_idempotency_keys_are_unique_per_scope(
        self, store: Store, other_scope: TaskScope
    ) -> None:
        """Two callers may choose the same ones."""
        key = IdempotencyKey("key", b"hash")
        ours = await create_task(store, build_new_task(wire_id="job", idempotency_key=key))
        theirs = await create_task(
            store,
            build_new_task(wire_id="job", idempotency_key=IdempotencyKey("key", b"other hash")),
            other_scope,
        )
        assert ours.key != theirs.key
        assert (await load_task(store, theirs)).scope == other_scope

    async def test_an_operator_lists_and_deletes_scopes(self, store: Store) -> None:
        """A scope is listed as long as it has tasks or contexts; deleting one keeps the others."""
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
