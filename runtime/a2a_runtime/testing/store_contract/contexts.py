"""Conversations: data, history over all tasks, deletion."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from a2a_contract.errors import PermissionDeniedError
from a2a_contract.lifecycle import State
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import TaskChange
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


class ContextRules(StoreCase):
    """Rules of a conversation."""

    async def test_the_data_of_a_conversation_is_replaced_whole(self, store: Store) -> None:
        """The last update wins; before the first one there is no data."""
        assert await store.load_context(SCOPE, "c-1") is None
        await store.update_context(SCOPE, "c-1", {"a": 1, "b": 2})
        await store.update_context(SCOPE, "c-1", {"b": 3})
        assert await store.load_context(SCOPE, "c-1") == {"b": 3}

    @pytest.mark.parametrize("data", [[], [1, 2], [["a", 1]], "text", None], ids=repr)
    async def test_the_data_of_a_conversation_is_an_object(
        self,
        store: Store,
        data: Any,  # noqa: ANN401 - what no type allows
    ) -> None:
        """Anything else is refused, and what was there before stays."""
        await store.update_context(SCOPE, "c-1", {"a": 1})
        with pytest.raises(TypeError, match="no JSON object"):
            await store.update_context(SCOPE, "c-1", data)
        assert await store.load_context(SCOPE, "c-1") == {"a": 1}

    async def test_a_conversation_is_the_messages_of_all_its_tasks(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Messages are ordered by time, across tasks."""
        one = await create_task(store, build_new_task(text="1"))
        clock.advance(1)
        two = await create_task(store, build_new_task(text="2"))
        clock.advance(1)
        await store.update_task(
            SCOPE, one.key, TaskChange(messages=[build_reply(one, "3"), build_reply(one, "4")])
        )
        clock.advance(1)
        await store.update_task(
            SCOPE, two.key, TaskChange(state=State.COMPLETED, messages=[build_reply(two, "5")])
        )
        assert await _texts(store) == ["1", "2", "3", "4", "5"]
        assert await _texts(store, 2) == ["4", "5"]
        assert await _texts(store, 0) == []

    async def test_the_default_limit_is_a_hundred_messages(
        self, store: Store, clock: FakeClock
    ) -> None:
        """The oldest ones are left out."""
        task = await create_task(store, build_new_task(text="first"))
        for n in range(12):
            clock.advance(1)
            await store.update_task(
                SCOPE,
                task.key,
                TaskChange(messages=[build_reply(task, f"{n}-{i}") for i in range(10)]),
            )
        texts = await _texts(store)
        assert (len(texts), texts[0], texts[-1]) == (100, "2-0", "11-9")
        assert len((await load_task(store, task)).task.model.history or []) == 121

    async def test_deleting_a_conversation_deletes_its_tasks(self, store: Store) -> None:
        """All of them, running ones too, and nothing of other conversations."""
        running = await create_task(store)
        done = await end_task(store, await create_task(store))
        other = await create_task(store, build_new_task(context_id="c-2"))
        await store.update_context(SCOPE, "c-1", {"k": 1})
        assert await store.delete_context(SCOPE, "c-1") == 2
        assert await store.delete_context(SCOPE, "c-1") == 0
        assert [await store.load_task(SCOPE, task.wire_id) for task in (running, done)] == [
            None,
            None,
        ]
        assert await store.load_context(SCOPE, "c-1") is None
        assert await _texts(store) == []
        assert (await load_task(store, other)).key == other.key

    async def test_messages_remember_the_skill_of_their_task(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Those of hidden skills are left out before the newest are counted, also when their tasks
        have expired.
        """
        for text, skill in (("1", "echo"), ("2", "pay"), ("3", "echo"), ("4", "audit")):
            clock.advance(1)
            await end_task(
                store, await create_task(store, replace(build_new_task(text=text), skill=skill))
            )
        running = await create_task(
            store,
            replace(build_new_task(text="5"), skill="pay", hidden_skills=["audit", 'odd " skill']),
        )
        for _ in range(2):
            assert await _texts(store) == ["1", "2", "3", "4", "5"]
            assert await _texts(store, 2, ["pay"]) == ["3", "4"]
            assert await _texts(store, 100, ["audit", "pay"]) == ["1", "3"]
            clock.advance(HOUR_SECONDS)
            await clean_up(store)
        assert (await load_task(store, running)).hidden_skills == ("audit", 'odd " skill')

    async def test_the_data_of_a_conversation_remembers_all_skills_that_have_written_to_it(
        self, store: Store
    ) -> None:
        """A caller who may not use one of them reads nothing and changes nothing."""
        await store.update_context(SCOPE, "c-1", {"n": 1}, "echo")
        await store.update_context(SCOPE, "c-1", {"n": 2}, "pay", ["audit"])
        await store.update_context(SCOPE, "c-1", {"n": 3}, "echo")
        assert [
            await store.load_context(SCOPE, "c-1", hidden)
            for hidden in ([], ["audit"], ["audit", "pay"])
        ] == [{"n": 3}, {"n": 3}, None]
        with pytest.raises(PermissionDeniedError):
            await store.update_context(SCOPE, "c-1", {"n": 4}, "echo", ["pay"])
        assert await store.load_context(SCOPE, "c-1") == {"n": 3}
        await store.update_context(SCOPE, "c-2", {"n": 1}, "echo", ["pay"])
        assert await store.load_context(SCOPE, "c-2", ["pay"]) == {"n": 1}

    async def test_the_messages_of_a_deleted_task_are_deleted(self, store: Store) -> None:
        """They do not outlive it."""
        task = await create_task(store, build_new_task(text="secret"))
        await create_task(store, build_new_task(text="other"))
        await store.delete_task(SCOPE, task.wire_id)
        assert await _texts(store) == ["other"]


async def _texts(
    store: Store, limit: int | None = None, hidden_skills: Sequence[str] = ()
) -> list[str | None]:
    if limit is None:
        messages = await store.load_conversation(SCOPE, "c-1")
    else:
        messages = await store.load_conversation(SCOPE, "c-1", limit, hidden_skills)
    return [each.parts[0].text for each in messages]
