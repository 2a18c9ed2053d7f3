"""Lists of tasks: order, filters, pages."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import StoredTask, TaskChange, TaskQuery
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    HOUR_SECONDS,
    REUSE_SECONDS,
    SCOPE,
    StoreCase,
    build_new_task,
    build_reply,
    clean_up,
    create_task,
    end_task,
    replace_artifact,
)

_LIVES = (
    [State.COMPLETED],
    [State.WORKING, State.FAILED],
    [State.INPUT_REQUIRED],
    [State.INPUT_REQUIRED, State.SUBMITTED, State.WORKING, State.WORKING, State.COMPLETED],
    [State.AUTH_REQUIRED, State.CANCELED],
    [State.AUTH_REQUIRED, State.SUBMITTED],
    [State.WORKING, State.WORKING],
)
"""States of the tasks of a test, one after another."""


class ListRules(StoreCase):
    """Rules of a list of tasks."""

    async def test_the_newest_status_comes_first(self, store: Store, clock: FakeClock) -> None:
        """A change of state moves a task to the front; appending does not."""
        one, two, three = [await _create_after(store, clock, 1) for _ in range(3)]
        clock.advance(1)
        await store.update_task(SCOPE, one.key, TaskChange(state=State.WORKING))
        clock.advance(1)
        await store.update_task(SCOPE, two.key, TaskChange(chunks=[replace_artifact("a", "x")]))
        page = await store.list_tasks(SCOPE, TaskQuery())
        assert [task.key for task in page.tasks] == [one.key, three.key, two.key]
        assert (page.total_size, page.next_page_token) == (3, "")

    async def test_pages_contain_every_task_once(self, store: Store, clock: FakeClock) -> None:
        """Tasks of the same millisecond have a stable order, without gaps or repetitions."""
        expected = {(await create_task(store)).key for _ in range(17)}
        clock.advance(1)
        expected |= {(await create_task(store)).key for _ in range(6)}
        seen: list[str] = []
        token = ""
        while True:
            page = await store.list_tasks(SCOPE, TaskQuery(page_size=5, page_token=token))
            assert page.total_size == 23
            seen += [task.key for task in page.tasks]
            token = page.next_page_token
            if not token:
                break
            assert len(page.tasks) == 5
        assert len(seen) == 23
        assert set(seen) == expected

    async def test_tasks_are_listed_by_creation(self, store: Store, clock: FakeClock) -> None:
        """The newest first, whatever has changed since; in pages, and with every filter."""
        tasks = [
            await create_task(store, build_new_task(context_id=f"c-{number % 2}"))
            for number in range(5)
        ]
        for changed in (tasks[0], tasks[3]):
            clock.advance(1)
            await store.update_task(SCOPE, changed.key, TaskChange(state=State.WORKING))
        changed_after = to_datetime(clock.millis())
        await store.delete_task(SCOPE, tasks[2].wire_id)
        newest = [tasks[4].key, tasks[3].key, tasks[1].key, tasks[0].key]
        first = await store.list_tasks(SCOPE, TaskQuery(page_size=3, by_creation=True))
        assert ([task.key for task in first.tasks], first.total_size) == (newest[:3], 4)
        last = await store.list_tasks(
            SCOPE, TaskQuery(page_size=3, page_token=first.next_page_token, by_creation=True)
        )
        assert ([task.key for task in last.tasks], last.total_size, last.next_page_token) == (
            newest[3:],
            4,
            "",
        )
        for query, expected in (
            (TaskQuery("c-1", by_creation=True), [tasks[3].key, tasks[1].key]),
            (TaskQuery(state=State.WORKING, by_creation=True), [tasks[3].key, tasks[0].key]),
            (TaskQuery("c-0", State.WORKING, by_creation=True), [tasks[0].key]),
            (TaskQuery(changed_after=changed_after, by_creation=True), [tasks[3].key]),
        ):
            page = await store.list_tasks(SCOPE, query)
            assert ([task.key for task in page.tasks], page.total_size, page.next_page_token) == (
                expected,
                len(expected),
                "",
            )
        with pytest.raises(InvalidParamsError):
            await store.list_tasks(SCOPE, TaskQuery(page_size=3, page_token=first.next_page_token))

    async def test_a_full_last_page_has_no_next_one(self, store: Store) -> None:
        """There is a token only if something follows."""
        for _ in range(4):
            await create_task(store)
        first = await store.list_tasks(SCOPE, TaskQuery(page_size=2))
        last = await store.list_tasks(
            SCOPE, TaskQuery(page_size=2, page_token=first.next_page_token)
        )
        assert (
            len(first.tasks),
            bool(first.next_page_token),
            len(last.tasks),
            last.next_page_token,
        ) == (2, True, 2, "")

    async def test_filters_apply_to_the_list_and_its_size(
        self, store: Store, clock: FakeClock
    ) -> None:
        """By conversation, state, time of the status (inclusive), and all of them."""
        old = await create_task(store, build_new_task(context_id="c-1"))
        clock.advance(10)
        done = await end_task(store, await create_task(store, build_new_task(context_id="c-1")))
        other = await end_task(store, await create_task(store, build_new_task(context_id="c-2")))
        queries: dict[TaskQuery, set[str]] = {
            TaskQuery(context_id="c-1"): {old.key, done.key},
            TaskQuery(state=State.COMPLETED): {done.key, other.key},
            TaskQuery(state=State.FAILED): set(),
            TaskQuery(changed_after=done.updated_at): {done.key, other.key},
            TaskQuery(changed_after=done.updated_at + timedelta(milliseconds=1)): set(),
            TaskQuery(context_id="c-1", state=State.COMPLETED, changed_after=old.updated_at): {
                done.key
            },
            TaskQuery(context_id="c-9"): set(),
        }
        for query, expected in queries.items():
            page = await store.list_tasks(SCOPE, query)
            assert ({task.key for task in page.tasks}, page.total_size) == (
                expected,
                len(expected),
            ), query

    async def test_totals_follow_every_change(self, store: Store, clock: FakeClock) -> None:
        """Suspended, answered, ended, deleted, replaced and expired tasks: each total is the number
        of tasks in the pages.
        """
        tasks = [await create_task(store, build_new_task(wire_id=f"t-{n}")) for n in range(9)]
        for n, states in enumerate(_LIVES):
            for state in states:
                await store.update_task(SCOPE, tasks[n].key, TaskChange(state=state))
            await _check_totals(store)
        await store.update_task(SCOPE, tasks[0].key, TaskChange(metadata={"late": True}))
        await store.delete_task(SCOPE, "t-3")
        await store.delete_task(SCOPE, "t-4")
        await _check_totals(store)
        clock.advance(REUSE_SECONDS)
        await create_task(store, build_new_task(wire_id="t-0"))
        assert await _check_totals(store) == 7
        clock.advance(HOUR_SECONDS)
        await clean_up(store)
        assert await _check_totals(store) == 6
        await store.delete_context(SCOPE, "c-1")
        assert await _check_totals(store) == 0

    async def test_the_total_of_a_counted_list_is_that_of_its_first_page(
        self, store: Store
    ) -> None:
        """It is counted once; a list with at most a filter by state has the present total."""
        for _ in range(2):
            await create_task(store)
        queries = [TaskQuery(page_size=1), TaskQuery(context_id="c-1", page_size=1)]
        pages = [await store.list_tasks(SCOPE, query) for query in queries]
        await create_task(store)
        following = [
            await store.list_tasks(SCOPE, replace(query, page_token=page.next_page_token))
            for query, page in zip(queries, pages, strict=True)
        ]
        assert [page.total_size for page in (*pages, *following)] == [2, 2, 3, 2]

    async def test_filtered_lists_have_pages(self, store: Store, clock: FakeClock) -> None:
        """The filter applies to the next page, and the size is that of the whole list."""
        start = (await create_task(store)).updated_at
        clock.advance(1)
        tasks = [
            await end_task(store, await create_task(store, build_new_task(context_id=f"c-{n % 2}")))
            for n in range(8)
        ]
        for query, size in (
            (TaskQuery(context_id="c-1", page_size=3), 5),
            (TaskQuery(state=State.COMPLETED, page_size=3), 8),
        ):
            late = TaskQuery(
                query.context_id, query.state, start + timedelta(milliseconds=1), page_size=3
            )
            assert len(await _all_pages(store, query)) == size
            assert len(await _all_pages(store, late)) == (4 if query.context_id else len(tasks))

    async def test_the_tasks_of_hidden_skills_are_neither_listed_nor_counted(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Whatever the filter, the order and the page: a reader gets a total of the tasks that it
        may see.
        """
        seen = set[str]()
        for number in range(9):
            clock.advance(1)
            skill = "pay" if number % 3 == 0 else "echo"
            task = await create_task(store, replace(build_new_task(), skill=skill))
            if number > 4:
                await end_task(store, task)
            if skill == "echo":
                seen.add(task.key)
        hidden = frozenset({"pay", "unknown"})
        start = to_datetime(0)
        for filters, total in (
            (TaskQuery(), 6),
            (TaskQuery("c-1"), 6),
            (TaskQuery(state=State.COMPLETED), 3),
            (TaskQuery("c-1", State.SUBMITTED), 3),
            (TaskQuery(changed_after=start), 6),
        ):
            for by_creation in (False, True):
                query = replace(filters, hidden_skills=hidden, page_size=2, by_creation=by_creation)
                found = await _all_pages(store, query)
                assert (len(found), found <= seen) == (total, True), query
        query = TaskQuery(hidden_skills=frozenset({"pay", "echo"}))
        page = await store.list_tasks(SCOPE, query)
        assert (page.tasks, page.next_page_token, page.total_size) == ([], "", 0)

    async def test_a_page_token_goes_on_for_a_reader_of_other_skills(
        self, store: Store, clock: FakeClock
    ) -> None:
        """Its rights may change between two pages: the list goes on where it was, with the total
        that holds from then on.
        """
        for number in range(9):
            clock.advance(1)
            await create_task(
                store, replace(build_new_task(), skill="pay" if number % 3 == 0 else "echo")
            )
        everything = TaskQuery("c-1", page_size=3)
        visible = replace(everything, hidden_skills=frozenset({"pay"}))
        for before, after, following in ((everything, visible, 4), (visible, everything, 5)):
            first = await store.list_tasks(SCOPE, before)
            rest = await store.list_tasks(
                SCOPE, replace(after, page_token=first.next_page_token, page_size=9)
            )
            assert (len(rest.tasks), rest.total_size) == (
                following,
                6 if after.hidden_skills else 9,
            )

    async def test_a_list_has_the_requested_detail(self, store: Store) -> None:
        """Artifacts on request, histories up to their length."""
        task = await create_task(store)
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(chunks=[replace_artifact("a", "x")], messages=[build_reply(task, "b")]),
        )
        plain = (await store.list_tasks(SCOPE, TaskQuery())).tasks[0].task.model
        short = (
            (await store.list_tasks(SCOPE, TaskQuery(history_length=1, include_artifacts=True)))
            .tasks[0]
            .task.model
        )
        assert (plain.artifacts, len(plain.history or [])) == (None, 2)
        assert (
            [each.artifact_id for each in short.artifacts or []],
            [each.message_id for each in short.history or []],
        ) == (["a"], ["m-b"])

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            (TaskQuery(page_size=0), "pageSize"),
            (TaskQuery(page_size=101), "pageSize"),
            (TaskQuery(history_length=-1), "historyLength"),
            (TaskQuery(page_token="!"), "pageToken"),  # noqa: S106 - a page token is no password
            (TaskQuery(page_token="bm9uc2Vuc2U"), "pageToken"),  # noqa: S106 - as above
            (TaskQuery(page_token="é"), "pageToken"),  # noqa: S106 - as above
        ],
        ids=[
            "no page",
            "page too large",
            "negative history",
            "not base64",
            "not a token",
            "not ascii",
        ],
    )
    async def test_invalid_parameters_are_field_errors(
        self, store: Store, query: TaskQuery, field: str
    ) -> None:
        """The error contains the name of the parameter."""
        with pytest.raises(InvalidParamsError) as caught:
            await store.list_tasks(SCOPE, query)
        assert [name for name, _ in caught.value.fields] == [field]

    async def test_a_token_is_bound_to_its_filter(self, store: Store) -> None:
        """A token of one list cannot be used for another."""
        for _ in range(3):
            await create_task(store)
        token = (await store.list_tasks(SCOPE, TaskQuery(page_size=1))).next_page_token
        with pytest.raises(InvalidParamsError):
            await store.list_tasks(
                SCOPE, TaskQuery(context_id="c-1", page_size=1, page_token=token)
            )
        assert (
            len((await store.list_tasks(TaskScope("other"), TaskQuery(page_token=token))).tasks)
            == 0
        )

    async def test_deleted_tasks_and_old_generations_are_not_listed(
        self, store: Store, clock: FakeClock
    ) -> None:
        """A list has each wire id once, and no deleted task."""
        await end_task(store, await create_task(store, build_new_task(wire_id="job")))
        gone = await create_task(store)
        clock.advance(REUSE_SECONDS)
        new = await create_task(store, build_new_task(wire_id="job"))
        await store.delete_task(SCOPE, gone.wire_id)
        for query in (TaskQuery(), TaskQuery(context_id="c-1"), TaskQuery(state=State.SUBMITTED)):
            page = await store.list_tasks(SCOPE, query)
            assert ([task.key for task in page.tasks], page.total_size) == ([new.key], 1)
        assert (await store.list_tasks(SCOPE, TaskQuery(state=State.COMPLETED))).total_size == 0


async def _check_totals(store: Store) -> int:
    """Compare the total of each list with its pages, and return that of all tasks."""
    for state in State:
        await _all_pages(store, TaskQuery(state=state, page_size=2))
    return len(await _all_pages(store, TaskQuery(page_size=2)))


async def _create_after(store: Store, clock: FakeClock, seconds: float) -> StoredTask:
    clock.advance(seconds)
    return await create_task(store)


async def _all_pages(store: Store, query: TaskQuery) -> set[str]:
    seen: list[str] = []
    while True:
        page = await store.list_tasks(SCOPE, query)
        seen += [task.key for task in page.tasks]
        if not page.next_page_token:
            assert len(seen) == len(set(seen)) == page.total_size
            return set(seen)
        query = replace(query, page_token=page.next_page_token)
