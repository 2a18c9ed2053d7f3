"""The memory store beyond the contract: capacity, limited logs, packed tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import pytest
from msgspec.structs import replace

from a2a_contract.dialects import MESH
from a2a_contract.errors import RateLimitedError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import EventsGoneError, StoreFullError
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.memory.index import MemoryTask, Timeline
from a2a_runtime.stores.models import ChunkWrite, IdempotencyKey, StoredTask, TaskChange, TaskQuery
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_artifact,
    build_message,
    build_new_task,
    create_task,
    end_task,
    get_artifact_texts,
    load_task,
    replace_artifact,
    write_artifact,
)

pytestmark = pytest.mark.anyio


def small_store(clock: FakeClock | None = None) -> MemoryStore:
    """Create a store for three tasks and one finished log."""
    return MemoryStore(
        StoreOptions(clock=clock or FakeClock(), max_tasks=3, caller_share=1, max_finished_logs=1)
    )


def build_result(text: str, artifact_id: str = "result") -> ChunkWrite:
    """Build the result of a handler that ends at once."""
    return write_artifact(build_artifact(artifact_id, text), last_chunk=True)


def _has_log(store: MemoryStore, stored: StoredTask) -> bool:
    task = store._index.tasks[stored.key]
    return task.has_plain_log or task.read_content().events is not None


async def test_a_full_store_deletes_the_task_that_ended_first() -> None:
    """Its conversation and all other tasks stay."""
    store = small_store()
    tasks = [await create_task(store, build_new_task(text=str(n))) for n in range(3)]
    for task in (tasks[1], tasks[0]):
        await end_task(store, task)
    new = await create_task(store, build_new_task(text="new"))
    page = await store.list_tasks(SCOPE, TaskQuery())
    assert {task.key for task in page.tasks} == {tasks[0].key, tasks[2].key, new.key}
    assert sorted(
        str(each.parts[0].text) for each in await store.load_conversation(SCOPE, "c-1")
    ) == ["0", "1", "2", "new"]


async def test_a_full_store_deletes_a_conversation_with_its_last_task() -> None:
    """Its messages and data go with the task that ended first; a conversation that has another task
    keeps all of them.
    """
    store = small_store()
    for context_id in ("c-1", "c-2", "c-2"):
        await end_task(store, await create_task(store, build_new_task(context_id=context_id)))
    for context_id in ("c-1", "c-2"):
        await store.update_context(SCOPE, context_id, {"n": 1})
    for context_id, messages, data in (("c-1", 0, None), ("c-2", 2, {"n": 1}), ("c-2", 0, None)):
        await create_task(store, build_new_task(context_id="c-3"))
        assert len(await store.load_conversation(SCOPE, context_id)) == messages
        assert await store.load_context(SCOPE, context_id) == data


async def test_a_task_is_read_the_same_after_its_log_is_dropped() -> None:
    """Also one whose status has a message, and one that is changed later; the ids need escapes."""
    store = small_store()
    task = await create_task(store, build_new_task(context_id='a "c\u00e9"'))
    said = await create_task(store)
    last = await create_task(store)
    for each in (task, said, last):
        await store.update_task(SCOPE, each.key, TaskChange(state=State.WORKING))
    await end_task(store, task)
    await store.update_task(
        SCOPE, said.key, TaskChange(state=State.COMPLETED, status_message=build_message("done"))
    )
    before = [(await load_task(store, each)).task.json for each in (task, said)]
    await end_task(store, last)
    with pytest.raises(EventsGoneError):
        await store.read_events(said.key, 0)
    assert [(await load_task(store, each)).task.json for each in (task, said)] == before
    await store.update_task(SCOPE, task.key, TaskChange(chunks=[replace_artifact("late", "x")]))
    assert get_artifact_texts(await load_task(store, task)) == {"late": ["x"]}


async def test_a_full_store_keeps_unfinished_and_undelivered_tasks() -> None:
    """Another task is an error with a fix, and nothing is lost."""
    store = small_store()
    hook = TaskPushNotificationConfig(id="h", url="https://example.org")
    undelivered = await end_task(store, await create_task(store, build_new_task(push_config=hook)))
    for _ in range(2):
        await create_task(store)
    with pytest.raises(StoreFullError, match="max_tasks"):
        await create_task(store)
    assert (await store.list_tasks(SCOPE, TaskQuery())).total_size == 3
    for _ in range(2):
        for delivery in await store.claim_due(30):
            await store.mark_delivered(delivery)
    await create_task(store)
    assert await store.load_task(SCOPE, undelivered.wire_id) is None


async def test_a_store_is_limited_by_its_content() -> None:
    """Finished tasks go first, then conversations; while all tasks are unfinished, another one is
    an error with a fix.
    """
    store = MemoryStore(StoreOptions(clock=FakeClock(), max_bytes=100_000, caller_share=1))
    for n in range(50):
        task = await create_task(store, build_new_task(context_id=f"c-{n}", text="x" * 10_000))
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(state=State.COMPLETED, chunks=[replace_artifact("a", "y" * 10_000)]),
        )
        assert _count_bytes(store) < 150_000
    assert 1 <= (await store.list_tasks(SCOPE, TaskQuery())).total_size < 5
    assert len(await store.load_conversation(SCOPE, "c-0")) == 0
    task = await create_task(store)
    for _ in range(3):  # replaced content does not count
        await store.update_task(
            SCOPE, task.key, TaskChange(chunks=[replace_artifact("a", "z" * 30_000)])
        )
    with pytest.raises(StoreFullError, match="A2A_MEMORY_MAX_BYTES"):
        await create_task(store)
    await end_task(store, task)
    await create_task(store)


async def test_the_size_of_the_content_returns_to_nothing() -> None:
    """Whatever tasks and conversations go through, and however they are deleted."""
    clock = FakeClock()
    store = MemoryStore(
        StoreOptions(
            clock=clock,
            retention_seconds=10,
            conversation_retention_seconds=20,
            max_finished_logs=2,
        )
    )
    for n in range(30):
        task = await create_task(store, build_new_task(context_id=f"c-{n % 7}", text="hello"))
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(chunks=[append_artifact("a", "1"), replace_artifact("b", "2")]),
        )
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(chunks=[append_artifact("a", "1"), replace_artifact("b", "2")]),
        )
        await store.update_context(SCOPE, f"c-{n % 5}", {"n": n})
        if n % 3:
            await end_task(store, task)
            await store.update_task(
                SCOPE, task.key, TaskChange(chunks=[replace_artifact("b", "late")])
            )
        clock.advance(1)
        await store.delete_expired(3)
    assert _count_bytes(store) > 0
    await store.delete_scope(SCOPE)
    assert _count_bytes(store) == 0
    assert not store._index.holdings._by_name


@pytest.mark.parametrize("end", ["delivered", "failed", "removed", "deleted"])
async def test_tasks_with_pending_deliveries_count_as_unfinished(end: str) -> None:
    """A webhook that never answers would keep them in the store for hours; its owner is refused
    until it is over with the deliveries.
    """
    store = MemoryStore(StoreOptions(clock=FakeClock(), max_tasks=8))
    hook = TaskPushNotificationConfig(id="h", url="https://example.org")
    tasks = [await create_task(store, build_new_task(push_config=hook)) for _ in range(2)]
    for task in tasks:
        await end_task(store, task)
    with pytest.raises(RateLimitedError):
        await create_task(store)
    while end in {"delivered", "failed"} and (due := await store.claim_due(30)):
        for each in due:
            assert await (
                store.mark_delivered(each)
                if end == "delivered"
                else store.mark_failed(each, "gone")
            )
    if end == "removed":
        assert await store.delete_push_config(SCOPE, tasks[0].wire_id, "h")
    elif end == "deleted":
        await store.delete_task(SCOPE, tasks[0].wire_id)
    await create_task(store)


async def test_whoever_holds_most_makes_room() -> None:
    """By the number of tasks too, and conversations go like tasks; others keep theirs, though they
    are older.
    """
    store = MemoryStore(StoreOptions(clock=FakeClock(), max_tasks=20, max_bytes=20_000_000))
    ada, eve = (TaskScope("s", "", name) for name in ("ada", "eve"))
    old = await end_task(store, await create_task(store, build_new_task(context_id="old"), ada))
    await store.update_context(ada, "old", {"n": 1})
    for n in range(30):
        await end_task(store, await create_task(store, build_new_task(context_id=f"c-{n}"), eve))
        await store.update_context(eve, f"c-{n}", {"n": n})
    assert await store.load_task(ada, old.wire_id) is not None
    assert await store.load_context(ada, "old") == {"n": 1}
    assert (await store.list_tasks(eve, TaskQuery())).total_size == 19
    assert await store.load_context(eve, "c-0") is None


async def test_the_cleanup_checks_many_conversations_in_turn() -> None:
    """Each call checks some of them, and the calls go on until all are checked."""
    clock = FakeClock()
    store = MemoryStore(StoreOptions(clock=clock, conversation_retention_seconds=10))
    for n in range(5_000):
        await store.update_context(SCOPE, f"c-{n}", {"n": n})
    clock.advance(11)
    left: list[int] = []
    while await store.delete_expired():
        left.append(len(store._conversations))
    assert left == [4_000, 3_000, 2_000, 1_000]
    assert not store._conversations


async def test_conversations_are_limited() -> None:
    """The least recently used conversation is dropped."""
    store = small_store()
    for n in range(5):
        await store.update_context(SCOPE, f"c-{n}", {"n": n})
        await store.update_context(SCOPE, "c-0", {"n": 0})
    assert [await store.load_context(SCOPE, f"c-{n}") for n in range(5)] == [
        {"n": 0},
        None,
        None,
        {"n": 3},
        {"n": 4},
    ]


async def test_finished_logs_are_limited_by_their_bytes() -> None:
    """The oldest ones go first, and the newest one stays, whatever its size; the tasks stay
    whole.
    """
    store = MemoryStore(StoreOptions(clock=FakeClock(), max_finished_log_bytes=50_000))
    tasks = [
        await create_task(store, build_new_task(text="x" * size))
        for size in (20_000, 20_000, 20_000, 90_000)
    ]
    has_log: list[list[bool]] = []
    for task in tasks:
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        await end_task(store, task)
        has_log.append([_has_log(store, each) for each in tasks])
    assert has_log == [
        [True] * 4,
        [True] * 4,
        [False, True, True, True],
        [False, False, False, True],
    ]
    assert [len((await load_task(store, each)).task.json) > 20_000 for each in tasks] == [True] * 4
    await store.delete_scope(SCOPE)
    assert _count_bytes(store) == 0


async def test_finished_logs_are_limited() -> None:
    """A late reader gets ``EventsGoneError``, unless it has read all events."""
    store = small_store()
    first = await create_task(store)
    second = await create_task(store)
    for task in (first, second):
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
    await end_task(store, first)
    assert len(await store.read_events(first.key, 0)) == 3
    await end_task(store, second)
    with pytest.raises(EventsGoneError):
        await store.read_events(first.key, 1)
    assert list(await store.read_events(first.key, 3)) == []
    assert len(await store.read_events(second.key, 0)) == 3


@pytest.mark.parametrize(
    "status_message",
    [None, build_message("bye", "m-2")],
    ids=["without a message", "with a message"],
)
@pytest.mark.parametrize(
    "chunks",
    [(), (build_result("done"),), (build_result("a"), build_result("b", "other"))],
    ids=["nothing", "a result", "two results"],
)
async def test_the_log_of_a_task_that_ends_at_once_is_encoded_from_it(
    chunks: Sequence[ChunkWrite], status_message: Message | None
) -> None:
    """The same events as those of a log that was kept, at any age of the task and from any cursor;
    a later change leaves them as they were.
    """
    clock = FakeClock()
    store = small_store(clock)
    keeping = small_store(clock)
    for each in (store, keeping):
        await create_task(each, build_new_task(context_id='c "1"', wire_id="t-1"))
    key = next(iter(store._index.tasks))
    kept_key = next(iter(keeping._index.tasks))
    living = keeping._index.tasks[kept_key]
    living.list_log(living.read_content())
    clock.advance(2.5)
    change = TaskChange(
        state=State.COMPLETED,
        status_message=status_message,
        messages=[build_message("said", "m-3")],
        chunks=chunks,
    )
    written = await store.update_task(SCOPE, key, change)
    kept = await keeping.update_task(SCOPE, kept_key, change)
    assert store._index.tasks[key].has_plain_log
    assert list(written.events) == list(kept.events)
    for _ in range(2):
        for cursor in range(written.last_seq + 1):
            assert await store.read_events(key, cursor) == await keeping.read_events(
                kept_key, cursor
            )
        assert (await store.load_task(SCOPE, "t-1")).task.json == (
            await keeping.load_task(SCOPE, "t-1")
        ).task.json
        for each, of_each in ((store, key), (keeping, kept_key)):
            await each.update_task(
                SCOPE,
                of_each,
                TaskChange(chunks=[replace_artifact("late", "x")], metadata={"late": True}),
            )


@pytest.mark.parametrize("max_logs", [0, 1])
@pytest.mark.parametrize(
    "result",
    [replace_artifact("a", "1"), build_result("1", "a")],
    ids=["with a log", "with a plain log"],
)
async def test_a_packed_task_can_be_changed(max_logs: int, result: ChunkWrite) -> None:
    """Artifacts after the end are packed again, whether or not the logs of finished tasks are
    kept.
    """
    store = MemoryStore(StoreOptions(clock=FakeClock(), max_finished_logs=max_logs))
    task = await create_task(store)
    await store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED, chunks=[result]))
    for text in "23":
        await store.update_task(SCOPE, task.key, TaskChange(chunks=[replace_artifact(text, text)]))
    found = await store.load_task(SCOPE, task.wire_id)
    assert found is not None
    assert get_artifact_texts(found) == {"a": ["1"], "2": ["2"], "3": ["3"]}
    await store.delete_scope(SCOPE)
    assert _count_bytes(store) == 0


async def test_a_long_artifact_is_kept_in_few_chunks() -> None:
    """They are joined as they come, so that neither a read nor the end of a task joins thousands;
    what is read is the same.
    """
    store = small_store()
    task = await create_task(store)
    texts = [str(n) for n in range(5_000)]
    for text in texts:
        await store.update_task(SCOPE, task.key, TaskChange(chunks=[append_artifact("a", text)]))
    artifacts = store._index.tasks[task.key].read_content().artifacts
    assert isinstance(artifacts, dict)
    assert len(artifacts["a"]) < 150
    assert get_artifact_texts(await load_task(store, task)) == {"a": texts}
    assert store._index.tasks[task.key].read_content().size_bytes == pytest.approx(
        len((await load_task(store, task)).task.json), rel=0.2
    )
    assert get_artifact_texts(await end_task(store, task)) == {"a": texts}
    await store.delete_scope(SCOPE)
    assert _count_bytes(store) == 0


async def test_an_expired_task_is_gone_before_the_cleanup() -> None:
    """It is neither read nor listed nor counted, and its key makes another task; one with a pending
    delivery stays.
    """
    clock = FakeClock()
    store = MemoryStore(
        StoreOptions(clock=clock, retention_seconds=100, dialect_retention_seconds={MESH.name: 50})
    )
    keyed = await create_task(store, build_new_task(idempotency_key=IdempotencyKey("k", b"1")))
    pushed = await create_task(
        store,
        build_new_task(
            push_config=TaskPushNotificationConfig(id="hook", url="https://example.org")
        ),
    )
    mesh = [
        await create_task(store, replace(build_new_task(), dialect=MESH.name)) for _ in range(3)
    ]
    running = await create_task(store)
    for task in (keyed, pushed, *mesh):
        await end_task(store, task)
    clock.advance(50)
    late = await end_task(store, await create_task(store))
    for seconds, gone, left in (
        (0, mesh, [late, running, pushed, keyed]),
        (50, [*mesh, keyed], [late, running, pushed]),
    ):
        clock.advance(seconds)
        for query in (TaskQuery(), TaskQuery("c-1"), TaskQuery(by_creation=True)):
            page = await store.list_tasks(SCOPE, query)
            assert ({task.key for task in page.tasks}, page.total_size) == (
                {task.key for task in left},
                len(left),
            )
        completed = await store.list_tasks(SCOPE, TaskQuery(state=State.COMPLETED, page_size=1))
        assert completed.total_size == len(left) - 1
        for task in gone:
            assert (
                await store.load_task(SCOPE, task.wire_id)
                is await store.get_version(SCOPE, task.wire_id)
                is None
            )
            with pytest.raises(TaskNotFoundError):
                await store.read_events(task.key, 0)
    again = await store.create_task(
        SCOPE, build_new_task(idempotency_key=IdempotencyKey("k", b"1"))
    )
    assert again.is_new
    assert await store.delete_expired() == len(mesh)
    assert (await store.list_tasks(SCOPE, TaskQuery())).total_size == 4


async def test_time_never_steps_back_in_a_list() -> None:
    """The order of positions is the order of times, even if the clock steps back."""
    clock = FakeClock()
    store = small_store(clock)
    await create_task(store)
    clock.set_back(1000)
    await create_task(store)
    first, second = (await store.list_tasks(SCOPE, TaskQuery())).tasks
    assert first.updated_at == second.updated_at


def test_a_timeline_removes_stale_entries() -> None:
    """The number of stale entries is limited."""
    timeline = Timeline()
    tasks = [MemoryTask(SCOPE, str(n), str(n), "c", "echo", "1.0", None, 0, b"") for n in range(3)]
    for task, position in zip(cycle(tasks), range(1, 10_001), strict=False):
        if task.position:
            timeline.mark_stale()
        task.position = position
        timeline.add(task)
    assert [task.position for task in timeline.iter_newest_first()] == [10_000, 9_999, 9_998]
    assert [task.position for task in timeline.iter_newest_first(9_999)] == [9_998]
    assert len(timeline._tasks) < 200


async def test_deleted_tasks_leave_the_timeline_in_small_steps() -> None:
    """The oldest entries go while tasks expire, not all at once when the next task comes."""
    clock = FakeClock()
    store = MemoryStore(StoreOptions(clock=clock, retention_seconds=10))
    for _ in range(3_000):
        await end_task(store, await create_task(store))
    clock.advance(11)
    (index,) = store._index.scopes.values()
    left: list[int] = []
    while await store.delete_expired(500) and store._index.scopes:
        left.append(len(index.by_state[State.COMPLETED]._tasks))
    assert [
        most - kept for most, kept in zip(left, range(2_500, 0, -500), strict=True)
    ] == pytest.approx([256] * 5, abs=256)


def _count_bytes(store: MemoryStore) -> int:
    return store._index.size_bytes + store._conversation_bytes
