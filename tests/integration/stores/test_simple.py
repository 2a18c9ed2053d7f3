"""Agents on a store made of a storage: what survives a restart, and who sees what."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from a2a_contract.errors import (
    IdempotencyConflictError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreInUseError
from a2a_runtime.features.simple_stores import (
    ConcurrencyError,
    SimpleStore,
    TaskState,
)
from a2a_runtime.features.simple_stores.codec import OPTIONAL
from a2a_runtime.features.simple_stores.exclusive import PROCESS_CONTEXT, ProcessRecord
from a2a_runtime.features.simple_stores.reserved import PREFIX
from a2a_runtime.features.simple_stores.restored import LOST
from a2a_runtime.stores.models import IdempotencyKey, TaskChange, TaskQuery
from a2a_runtime.stores.pagination import encode_page_token
from a2a_runtime.testing.agent import artifact_texts, run_agent
from a2a_runtime.testing.dict_storage import DictStorage
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_new_task,
    create_task,
    get_artifact_texts,
    load_task,
)

from .storages import Partly, open_store, read_stored_state

pytestmark = pytest.mark.anyio

KEY = IdempotencyKey("key-1", b"hash-1")


async def read_metadata(storage: DictStorage, task_id: str) -> dict[str, object]:
    """Return the metadata of a task as the storage has it."""
    task = await storage.load_task(task_id)
    assert task is not None
    return task.metadata or {}


async def test_an_unfinished_task_fails_when_it_is_read_after_a_crash() -> None:
    """By its owner only; the end is stored, and readers of the next process get it too."""
    storage = DictStorage()
    async with open_store(storage) as store:
        task = await create_task(store, build_new_task(process="p-1"))
        await store.update_task(
            SCOPE, task.key, TaskChange(state=State.WORKING, chunks=(append_artifact("a", "part"),))
        )
        crashed = copy.deepcopy(storage)
    await crashed.update_context(PROCESS_CONTEXT, {})
    for before in (State.WORKING, State.FAILED):
        async with open_store(crashed) as store:
            assert await store.load_task(SCOPE._replace(owner="eve"), task.wire_id) is None
            assert await read_stored_state(crashed, task.wire_id) is before
            found = await load_task(store, task)
            assert (found.state, found.last_seq, found.skill, found.dialect) == (
                State.FAILED,
                4,
                task.skill,
                task.dialect,
            )
            assert found.task.model.status.message is not None
            assert (found.task.model.status.message.parts[0].text, get_artifact_texts(found)) == (
                LOST,
                {"a": ["part"]},
            )
            assert await read_stored_state(crashed, task.wire_id) is State.FAILED


async def test_answers_and_results_of_a_suspended_task_survive() -> None:
    """The next process replays them; they are gone from the storage as soon as the task has
    ended.
    """
    storage = DictStorage()
    calls = list[str]()

    async def compute() -> int:
        calls.append("computed")
        return 42

    async def handler(ctx: TaskContext) -> str:
        number = await ctx.once("number", compute)
        first = await ctx.ask("first?")
        second = await ctx.ask("second?")
        return f"{number} {first.text} {second.text}"

    async with run_agent(handler, store=SimpleStore(storage)) as one, asyncio.timeout(30):
        task = await one.answer(await one.send("go"), "a")
    async with run_agent(handler, store=SimpleStore(storage)) as one, asyncio.timeout(30):
        assert State((await one.engine.load(one.scope, task.id)).state) is State.INPUT_REQUIRED
        done = await one.answer(task, "b")
    assert (artifact_texts(done), calls, done.metadata) == (
        {"result": ["42 a b"]},
        ["computed"],
        None,
    )
    records = [
        value
        for name, value in (await read_metadata(storage, task.id)).items()
        if name.startswith(f"{PREFIX}record/")
    ]
    assert records
    assert set(records) == {None}


async def test_a_task_without_an_owner_belongs_to_no_caller() -> None:
    """It is neither read nor listed nor canceled, whatever its metadata say."""
    storage = DictStorage()
    async with open_store(storage) as store:
        ours = await create_task(store)
        found = await storage.load_task(ours.wire_id)
        assert found is not None
        foreign = await storage.create_task("c-1", (found.history or [])[0])
        for metadata in (
            {},
            {f"{PREFIX}task": {"scope": list(SCOPE)}},
            {f"{PREFIX}task": None, f"{PREFIX}progress": "x"},
        ):
            await storage.update_task(foreign.id, task_metadata=metadata)
            assert await store.load_task(SCOPE, foreign.id) is None
            assert [
                task.wire_id for task in (await store.list_tasks(SCOPE, TaskQuery())).tasks
            ] == [ours.wire_id]
            with pytest.raises(TaskNotFoundError):
                await store.request_cancel(SCOPE, foreign.id)
            assert await store.delete_task(SCOPE, foreign.id) is False
            assert len(await store.load_conversation(SCOPE, "c-1")) == 1


async def test_data_of_a_conversation_belong_to_their_scope() -> None:
    """Two owners may use one context id, and what another program has stored with it stays."""
    storage = DictStorage()
    eve = SCOPE._replace(owner="eve")
    await storage.update_context("c-1", {"theirs": 1})
    for _ in range(2):
        async with open_store(storage) as store:
            await store.update_context(SCOPE, "c-1", {"mine": 1})
            await store.update_context(eve, "c-1", {"mine": 2})
            assert [await store.load_context(scope, "c-1") for scope in (SCOPE, eve)] == [
                {"mine": 1},
                {"mine": 2},
            ]
            await store.delete_context(SCOPE, "c-1")
            assert [await store.load_context(scope, "c-1") for scope in (SCOPE, eve)] == [
                None,
                {"mine": 2},
            ]
    stored = await storage.load_context("c-1")
    assert isinstance(stored, dict)
    assert stored["theirs"] == 1


async def test_idempotency_keys_carry_their_scope_and_survive() -> None:
    """A repeated request finds its task in the next process; the key of another owner is another
    key.
    """
    storage = DictStorage()
    async with open_store(storage) as store:
        first = await store.create_task(
            SCOPE, build_new_task(context_id="fresh-1", idempotency_key=KEY)
        )
        other = await store.create_task(
            SCOPE._replace(owner="eve"), build_new_task(context_id="fresh-1", idempotency_key=KEY)
        )
        await store.update_task(SCOPE, first.stored.key, TaskChange(state=State.COMPLETED))
        assert first.stored.wire_id != other.stored.wire_id
    async with open_store(storage) as store:
        again = await store.create_task(
            SCOPE, build_new_task(context_id="fresh-2", idempotency_key=KEY)
        )
        assert (again.is_new, again.stored.wire_id, again.stored.state) == (
            False,
            first.stored.wire_id,
            State.COMPLETED,
        )
        with pytest.raises(IdempotencyConflictError):
            await store.create_task(
                SCOPE,
                build_new_task(
                    context_id="fresh-3", idempotency_key=replace(KEY, request_hash=b"hash-2")
                ),
            )


async def test_a_task_that_something_else_has_changed_is_read_again() -> None:
    """The write is refused, and the next read shows what the storage has."""
    storage = DictStorage()
    async with open_store(storage) as store:
        task = await create_task(store)
        await storage.update_task(task.wire_id, TaskState.COMPLETED)
        with pytest.raises(ConcurrencyError):
            await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        assert (await load_task(store, task)).state is State.COMPLETED


async def test_reserved_metadata_is_refused_and_never_leaves() -> None:
    """A client or a handler cannot write it, and no event, task or list shows it."""
    storage = DictStorage()

    async def handler(ctx: TaskContext) -> str:
        await ctx.status("half", progress=0.5)
        return "done"

    async with run_agent(handler, store=SimpleStore(storage)) as one, asyncio.timeout(30):
        task = await one.send("go")
        bodies = [event.body for event in await one.collect_events(task)]
        page = await one.engine.store.list_tasks(one.scope, TaskQuery(include_artifacts=True))
        assert not any(
            PREFIX.encode() in body for body in (*bodies, task.to_json(), page.tasks[0].task.json)
        )
        assert any(name.startswith(PREFIX) for name in await read_metadata(storage, task.id))
        with pytest.raises(InvalidParamsError, match=r"a2a-gen/task.*reserved"):
            await one.engine.store.create_task(
                one.scope, replace(build_new_task(), metadata={f"{PREFIX}task": 1})
            )


async def test_a_list_is_that_of_the_owner_in_pages() -> None:
    """The tasks of others do not count, also when they fill pages of the storage; old ones come
    from the storage.
    """
    storage = DictStorage()
    eve = SCOPE._replace(owner="eve")
    async with open_store(storage) as store:
        for number in range(130):
            await create_task(store, build_new_task(text=str(number)), eve if number % 5 else SCOPE)
    async with open_store(storage) as store:
        ids = list[str]()
        query = TaskQuery(page_size=7)
        while True:
            page = await store.list_tasks(SCOPE, query)
            assert page.total_size == 26
            ids += [task.wire_id for task in page.tasks]
            if not page.next_page_token:
                break
            query = replace(query, page_token=page.next_page_token)
        assert len(ids) == len(set(ids)) == 26
        assert (await store.list_tasks(SCOPE, TaskQuery(state=State.SUBMITTED))).total_size == 0


async def test_a_token_that_the_storage_cannot_read_is_no_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A page token that the storage cannot read is an invalid parameter, not an outage."""
    token = encode_page_token(("nonsense", 0, 1), None, None, None)
    async with open_store(DictStorage()) as store:
        with pytest.raises(InvalidParamsError) as refused:
            await store.list_tasks(SCOPE, TaskQuery(page_token=token))
    assert [path for path, _ in refused.value.fields] == ["pageToken"]
    assert "unavailable" not in caplog.text


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("list_tasks", lambda store: store.list_tasks(SCOPE, TaskQuery())),
        ("delete_task", lambda store: store.delete_context(SCOPE, "c-1")),
    ],
    ids=["list", "delete"],
)
async def test_what_a_storage_lacks_is_unsupported(
    missing: str, call: Callable[[SimpleStore], Any]
) -> None:
    """A list that the storage cannot make is an unsupported operation, not an empty list."""
    async with open_store(Partly(*(name for name in OPTIONAL if name != missing))) as store:
        await create_task(store)
        with pytest.raises(UnsupportedOperationError, match=f"Partly has no {missing}"):
            await call(store)


async def test_without_contexts_their_data_live_in_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The start says what the storage lacks."""
    caplog.set_level(logging.INFO)
    async with open_store(Partly()) as store:
        await store.update_context(SCOPE, "c-1", {"k": 1})
        assert await store.load_context(SCOPE, "c-1") == {"k": 1}
    assert "Partly keeps tasks for one process only" in caplog.text
    assert (
        "without list_tasks, delete_task, delete_context, get_version, load_context, update_context"
        in caplog.text
    )


async def test_webhooks_of_an_earlier_process_are_gone_and_new_ones_can_be_added() -> None:
    """The task itself is still there."""
    storage = DictStorage()
    config = TaskPushNotificationConfig(url="https://example.com/hook")
    async with open_store(storage) as store:
        task = await create_task(store, build_new_task(push_config=config))
        await store.update_task(SCOPE, task.key, TaskChange(state=State.INPUT_REQUIRED))
    async with open_store(storage) as store:
        assert await store.list_push_configs(SCOPE, task.wire_id) == ([], "")
        await store.put_push_config(SCOPE, task.wire_id, config)
        found = await load_task(store, task)
        await store.update_task(SCOPE, found.key, TaskChange(state=State.CANCELED))
        assert [delivery.event.seq for delivery in await store.claim_due(60)] == [3]


async def test_a_second_process_is_refused() -> None:
    """Until the first has closed; a record of a process that is gone is no obstacle."""
    storage = DictStorage()
    async with open_store(storage):
        with pytest.raises(
            StoreInUseError,
            match=rf"process {os.getpid()} on .* uses it; run one process, or use Postgres",
        ):
            await SimpleStore(storage).open()
    async with open_store(storage):
        record = await storage.load_context(PROCESS_CONTEXT)
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ended.wait()
    assert isinstance(record, dict)
    await storage.update_context(
        PROCESS_CONTEXT, {**record, "pid": ended.pid, "token": "other", "until": 2**60}
    )
    async with open_store(storage):
        found = ProcessRecord(**(await storage.load_context(PROCESS_CONTEXT)))  # type: ignore[arg-type]
        assert found.pid == os.getpid()
