"""Creation of a task: first event, ids, idempotency."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import pytest

from a2a_contract.errors import IdempotencyConflictError, TaskIdInUseError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import StreamResponse
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import IdempotencyKey, TaskChange
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    REUSE_SECONDS,
    SCOPE,
    StoreCase,
    build_new_task,
    create_task,
    end_task,
    load_task,
    replace_artifact,
)

ONCE = IdempotencyKey("key-1", b"hash-1", "c-1")


class CreationRules(StoreCase):
    """Rules of a new task."""

    async def test_a_new_task_is_submitted_and_holds_its_message(self, store: Store) -> None:
        """It has the initial state, version 1, and the message with its ids."""
        task = await create_task(store)
        model = task.task.model
        assert (task.state, task.version, task.last_seq, task.epoch, task.process) == (
            State.SUBMITTED,
            1,
            1,
            0,
            None,
        )
        assert (model.id, model.context_id) == (task.wire_id, "c-1")
        assert [(message.task_id, message.context_id) for message in model.history or []] == [
            (task.wire_id, "c-1")
        ]
        assert (await load_task(store, task)) == task or (
            await load_task(store, task)
        ).task.json == task.task.json

    async def test_the_first_event_is_the_task_itself(self, store: Store) -> None:
        """A reader from the start gets the task as it was created."""
        made = await store.create_task(SCOPE, build_new_task())
        event = (await store.read_events(made.stored.key, 0))[0]
        assert list(made.events) == [event]
        assert event.seq == 1
        assert event.state is State.SUBMITTED
        assert StreamResponse.model_validate_json(event.body).task == made.stored.task.model

    async def test_a_task_created_by_a_process_is_in_its_first_run(self, store: Store) -> None:
        """Creation and claim are one call, so that no other process can claim it in between."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        assert (task.process, task.epoch) == ("p-1", 1)
        assert await store.claim(task.key, "p-2") is None

    async def test_generated_ids_are_unique(self, store: Store) -> None:
        """No two tasks share a key or a wire id, and a key is never on the wire."""
        tasks = [await create_task(store) for _ in range(20)]
        ids = [task.key for task in tasks] + [task.wire_id for task in tasks]
        assert len(set(ids)) == 40

    async def test_an_idempotency_key_gives_the_same_task(self, store: Store) -> None:
        """The same key with the same request finds the task, in its current state."""
        first = await create_task(store, build_new_task(idempotency_key=ONCE))
        await end_task(store, first)
        again = await store.create_task(SCOPE, build_new_task(idempotency_key=ONCE))
        assert (again.is_new, again.stored.key, again.stored.state, list(again.events)) == (
            False,
            first.key,
            State.COMPLETED,
            [],
        )

    async def test_an_idempotency_key_with_another_request_is_a_conflict(
        self, store: Store
    ) -> None:
        """The second request changes nothing."""
        first = await create_task(store, build_new_task(idempotency_key=ONCE))
        with pytest.raises(IdempotencyConflictError):
            await store.create_task(
                SCOPE,
                build_new_task(
                    idempotency_key=IdempotencyKey("key-1", b"hash-2", "c-1"), wire_id="other"
                ),
            )
        assert await store.load_task(SCOPE, "other") is None
        assert (await load_task(store, first)).version == 1

    async def test_an_idempotency_key_belongs_to_the_given_conversation(self, store: Store) -> None:
        """The same key in two conversations, or without one, finds different tasks."""
        tasks = {
            (
                await create_task(
                    store,
                    build_new_task(
                        context_id=f"c-{n}",
                        idempotency_key=IdempotencyKey("key-1", b"hash", context_id),
                    ),
                )
            ).key
            for n, context_id in enumerate(("c-1", "c-2", ""))
        }
        assert len(tasks) == 3

    async def test_without_a_given_conversation_the_key_belongs_to_the_scope(
        self, store: Store
    ) -> None:
        """A client without a conversation gets a new one each time, but the same task for its
        key.
        """
        key = IdempotencyKey("key-1", b"hash")
        first = await create_task(store, build_new_task(context_id="fresh-1", idempotency_key=key))
        again = await create_task(store, build_new_task(context_id="fresh-2", idempotency_key=key))
        assert (again.key, again.context_id) == (first.key, "fresh-1")

    async def test_a_repeated_change_is_not_applied_again(self, store: Store) -> None:
        """A change with an idempotency key is applied once; its repetition is no error even after
        the end.
        """
        task = await create_task(store)
        change = TaskChange(chunks=[replace_artifact("a", "x")], idempotency_key=ONCE)
        first = await store.update_task(SCOPE, task.key, change)
        await end_task(store, task)
        again = await store.update_task(SCOPE, task.key, change)
        assert (first.is_new, len(first.events)) == (True, 1)
        assert (again.is_new, list(again.events), again.state) == (False, [], State.COMPLETED)
        assert len(await store.read_events(task.key, 0)) == 3

    async def test_a_repeated_change_with_another_request_is_a_conflict(self, store: Store) -> None:
        """A key of a change cannot be used for another request."""
        task = await create_task(store, build_new_task(idempotency_key=ONCE))
        with pytest.raises(IdempotencyConflictError):
            await store.update_task(
                SCOPE,
                task.key,
                TaskChange(idempotency_key=IdempotencyKey("key-1", b"hash-2", "c-1")),
            )

    async def test_a_chosen_id_is_kept(self, store: Store) -> None:
        """A client finds its task by the id that it chose."""
        task = await create_task(store, build_new_task(wire_id="job 7/é"))
        assert task.wire_id == "job 7/é"
        assert (await load_task(store, task)).task.model.id == "job 7/é"

    @pytest.mark.parametrize(
        "state",
        [None, State.INPUT_REQUIRED, State.COMPLETED],
        ids=["running", "suspended", "just ended"],
    )
    async def test_a_chosen_id_in_use_is_refused(self, store: Store, state: State | None) -> None:
        """The id of a task that is active or ended recently is in use."""
        task = await create_task(store, build_new_task(wire_id="job-7"))
        if state is not None:
            await store.update_task(SCOPE, task.key, TaskChange(state=state))
        with pytest.raises(TaskIdInUseError) as caught:
            await create_task(store, build_new_task(wire_id="job-7"))
        assert caught.value.details == {"task_id": "job-7"}

    async def test_a_chosen_id_can_be_used_again_some_time_after_the_end(
        self, store: Store, clock: FakeClock
    ) -> None:
        """The new task has the id; the old one is found by its key, so that its streams can end."""
        old = await end_task(store, await create_task(store, build_new_task(wire_id="job-7")))
        clock.advance(REUSE_SECONDS - 0.001)
        with pytest.raises(TaskIdInUseError):
            await create_task(store, build_new_task(wire_id="job-7"))
        clock.advance(0.001)
        new = await create_task(store, build_new_task(wire_id="job-7"))
        assert new.key != old.key
        assert (await load_task(store, old)).key == new.key
        assert [event.seq for event in await store.read_events(old.key, 0)] == [1, 2]
        assert (await end_task(store, new)).key == new.key

    async def test_an_unknown_task_is_not_found(self, store: Store) -> None:
        """Reads return nothing, changes raise an error."""
        assert await store.load_task(SCOPE, "unknown") is None
        assert await store.get_version(SCOPE, "unknown") is None
        assert not await store.delete_task(SCOPE, "unknown")
        with pytest.raises(TaskNotFoundError):
            await store.update_task(SCOPE, "01a1ee28-4a05-7001-a8e0-3165da43c045", TaskChange())

    async def test_a_deleted_task_leaves_nothing_behind(self, store: Store) -> None:
        """Its events are gone; its idempotency key and id can be used again."""
        task = await create_task(store, build_new_task(wire_id="job-7", idempotency_key=ONCE))
        assert await store.delete_task(SCOPE, "job-7")
        assert not await store.delete_task(SCOPE, "job-7")
        with pytest.raises(TaskNotFoundError):
            await store.read_events(task.key, 0)
        again = await store.create_task(
            SCOPE, build_new_task(wire_id="job-7", idempotency_key=ONCE)
        )
        assert again.is_new
        assert again.stored.key != task.key
