"""A storage that fails, or answers late, while an agent writes to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.simple_stores import (
    ListTasksQuery,
    SimpleStore,
    TaskState,
)
from a2a_runtime.features.simple_stores.codec import OPTIONAL, REQUIRED
from a2a_runtime.stores.models import IdempotencyKey, TaskChange, TaskQuery
from a2a_runtime.testing.agent import artifact_texts, run_agent
from a2a_runtime.testing.dict_storage import DictStorage
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_new_task,
    create_task,
    load_task,
)

from .storages import Partly, open_store, read_stored_state

pytestmark = pytest.mark.anyio


KEY = IdempotencyKey("key-1", b"hash-1")


async def test_a_creation_that_was_cut_in_half_is_repeated_with_its_key() -> None:
    """The task without an owner is adopted: the key is the caller's own."""
    storage = DictStorage()
    async with open_store(storage) as store:
        failing, storage.update_task = storage.update_task, _fail_with(OSError("gone"))  # type: ignore[method-assign]
        with pytest.raises(StoreUnavailableError, match=r"DictStorage.update_task: OSError: gone"):
            await store.create_task(SCOPE, build_new_task(idempotency_key=KEY))
        storage.update_task = failing  # type: ignore[method-assign]
        created = await store.create_task(SCOPE, build_new_task(idempotency_key=KEY))
        assert created.is_new
        page = await store.list_tasks(SCOPE, TaskQuery())
        assert ([task.wire_id for task in page.tasks], page.total_size) == (
            [created.stored.wire_id],
            1,
        )


def _fail_with(error: Exception) -> Callable[..., Any]:
    async def fail(*_args: object, **_options: object) -> int:
        raise error

    return fail


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
async def test_a_write_of_unknown_outcome_is_applied_once(
    is_written: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    """The storage tells, by the counters of the task; nothing is appended twice and nothing is
    lost.
    """
    storage = DictStorage()
    failures = [1]
    write = storage.update_task

    async def lose_answer(*args: Any, **options: Any) -> int:  # noqa: ANN401 - as the method
        if failures and any(write.append for write in options.get("artifacts") or ()):
            failures.pop()
            if is_written:
                await write(*args, **options)
            raise ConnectionError("reset")
        return await write(*args, **options)

    async def handler(_ctx: TaskContext) -> AsyncIterator[str]:
        for text in "abc":
            yield text

    storage.update_task = lose_answer  # type: ignore[method-assign]
    async with run_agent(handler, store=SimpleStore(storage)) as one, asyncio.timeout(30):
        task = await one.send("go")
        events = await one.collect_events(task)
        assert (artifact_texts(task), [event.seq for event in events]) == (
            {"result": ["a", "b", "c"]},
            list(range(1, len(events) + 1)),
        )
    in_storage = await storage.load_task(task.id)
    assert in_storage is not None
    assert artifact_texts(in_storage) == {"result": ["a", "b", "c"]}


async def test_a_cancelled_writer_does_not_part_memory_and_storage() -> None:
    """The write goes on without its caller."""
    storage = DictStorage()
    write = storage.update_task
    entered = asyncio.Event()
    release = asyncio.Event()

    async def wait_and_write(*args: Any, **options: Any) -> int:  # noqa: ANN401 - as the method
        entered.set()
        await release.wait()
        return await write(*args, **options)

    async with open_store(storage) as store:
        task = await create_task(store)
        storage.update_task = wait_and_write  # type: ignore[method-assign]
        writing = asyncio.create_task(
            store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        )
        await entered.wait()
        writing.cancel()
        await asyncio.wait([writing])
        release.set()
        await store.update_task(SCOPE, task.key, TaskChange(chunks=(append_artifact("a", "1"),)))
        found = await load_task(store, task)
        assert (found.state, found.last_seq, await read_stored_state(storage, task.wire_id)) == (
            State.WORKING,
            3,
            State.WORKING,
        )


async def test_a_reader_does_not_fail_a_task_that_is_being_created() -> None:
    """It finds it in the storage before it is in memory, and waits."""
    storage = DictStorage()
    readers = list[asyncio.Task[Any]]()
    write = storage.update_task
    async with open_store(storage) as store:

        async def write_and_be_read(
            task_id: str,
            *args: Any,  # noqa: ANN401 - as the method
            **options: Any,  # noqa: ANN401 - as the method
        ) -> int:
            version = await write(task_id, *args, **options)
            readers.append(asyncio.create_task(store.load_task(SCOPE, task_id)))
            for _ in range(20):
                await asyncio.sleep(0)
            return version

        storage.update_task = write_and_be_read  # type: ignore[method-assign]
        task = await create_task(store)
        found = [await reader for reader in readers]
        assert [each.key for each in found] == [task.key]
        assert await read_stored_state(storage, task.wire_id) is State.SUBMITTED


class Failing(DictStorage):
    """A storage that refuses some calls after a task was created."""

    outage = 0

    def _check(self) -> None:
        if self.outage:
            self.outage -= 1
            raise ConnectionError("the disk is away")

    async def update_task(self, *args: Any, **change: Any) -> int:  # noqa: ANN401 - passed on
        """Fail, or apply a change."""
        self._check()
        return await super().update_task(*args, **change)

    async def delete_task(self, task_id: str) -> bool:
        """Fail, or delete a task."""
        self._check()
        return await super().delete_task(task_id)


@pytest.mark.parametrize("outage", [1, 2, 3])
@pytest.mark.parametrize("can_delete", [True, False])
async def test_an_outage_leaves_no_task_without_an_owner(
    outage: int,
    can_delete: bool,  # noqa: FBT001 - a table
) -> None:
    """It is deleted, or rejected, as soon as the storage answers again; one under a key waits for
    its message.
    """
    storage = Failing()
    names = [name for name in OPTIONAL if can_delete or name != "delete_task"]
    part = Partly(*names)
    part.whole = storage
    for name in (*REQUIRED, *names):
        setattr(part, name, getattr(storage, name))
    async with open_store(part) as store:
        storage.outage = outage
        with pytest.raises(StoreUnavailableError):
            await store.create_task(SCOPE, build_new_task())
        while storage.outage:
            assert await store.delete_expired() == 0
        await store.delete_expired()
        states = [task.status.state for task in (await storage.list_tasks(ListTasksQuery())).tasks]
        assert states == ([] if can_delete else [TaskState.REJECTED])
        storage.outage = 1
        with pytest.raises(StoreUnavailableError):
            await store.create_task(SCOPE, build_new_task(idempotency_key=KEY))
        await store.delete_expired()
        again = await store.create_task(SCOPE, build_new_task(idempotency_key=KEY))
        assert (again.is_new, (await store.list_tasks(SCOPE, TaskQuery())).total_size) == (True, 1)
