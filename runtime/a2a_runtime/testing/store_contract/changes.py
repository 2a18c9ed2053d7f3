"""Changes of a task: rules, events and results."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace
from pydantic_core import PydanticSerializationError

from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import StreamResponse
from a2a_runtime.errors import ConcurrencyError, FencedError, TaskStateError, TaskTerminalError
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import StoredTask, TaskChange
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    StoreCase,
    append_artifact,
    build_artifact,
    build_message,
    build_new_task,
    build_reply,
    create_task,
    end_task,
    get_artifact_texts,
    load_task,
    replace_artifact,
    to_comparable,
    write_artifact,
)

_FINAL_CHANGES: Mapping[str, Callable[[StoredTask], TaskChange]] = {
    "nothing-to-say": lambda _: TaskChange(state=State.COMPLETED),
    "artifacts": lambda _: TaskChange(
        state=State.COMPLETED,
        chunks=[replace_artifact("b", "1"), append_artifact("a", "2"), append_artifact("b", "3")],
    ),
    "messages": lambda task: TaskChange(
        state=State.COMPLETED,
        status_message=build_reply(task, "so"),
        messages=[build_reply(task, "so")],
    ),
    "failure": lambda task: TaskChange(
        state=State.FAILED, status_message=build_reply(task, "no"), event_metadata={"n": 1}
    ),
    "metadata": lambda _: TaskChange(state=State.CANCELED, metadata={"c": 3}),
    "question": lambda task: TaskChange(
        state=State.INPUT_REQUIRED, status_message=build_reply(task, "what?"), release_claim=True
    ),
}
FINAL_CHANGES = [pytest.param(change, id=name) for name, change in _FINAL_CHANGES.items()]
"""Changes after which waiting callers read the task."""


class ChangeRules(StoreCase):
    """Rules of a change."""

    async def test_a_change_of_state_is_an_event(self, store: Store, clock: FakeClock) -> None:
        """Version, status time and event follow the change."""
        task = await create_task(store)
        clock.advance(1.5)
        written = await store.update_task(
            SCOPE,
            task.key,
            TaskChange(state=State.WORKING, status_message=build_reply(task, "at it")),
        )
        now = await load_task(store, task)
        event = written.events[0]
        update = StreamResponse.model_validate_json(event.body).status_update
        assert (written.version, written.state, event.seq, event.state) == (
            2,
            State.WORKING,
            2,
            State.WORKING,
        )
        assert (now.version, now.state, now.last_seq) == (2, State.WORKING, 2)
        assert now.updated_at - task.updated_at == timedelta(seconds=1.5)
        assert update is not None
        assert update.status == now.task.model.status
        assert update.status.timestamp == now.updated_at
        assert await store.get_version(SCOPE, task.wire_id) == 2

    async def test_without_a_state_the_status_stays(self, store: Store, clock: FakeClock) -> None:
        """Messages and metadata change the version, not the status; metadata alone append no
        event.
        """
        task = await create_task(store)
        clock.advance(5)
        noted = await store.update_task(SCOPE, task.key, TaskChange(metadata={"k": 1}))
        change = TaskChange(
            messages=[build_reply(task, "more")], status_message=build_reply(task, "ignored")
        )
        written = await store.update_task(SCOPE, task.key, change)
        now = await load_task(store, task)
        assert (noted.version, list(noted.events), written.version, written.state) == (
            2,
            [],
            3,
            State.SUBMITTED,
        )
        assert now.task.model.status == task.task.model.status
        assert [each.message_id for each in now.task.model.history or []] == ["m-1", "m-more"]

    async def test_a_message_to_an_active_task_is_an_event(self, store: Store) -> None:
        """One event for each message, with the message as its body; one that changes the state
        belongs to the event of the state.
        """
        task = await create_task(store)
        first = build_reply(task, "one")
        second = build_reply(task, "two")
        written = await store.update_task(SCOPE, task.key, TaskChange(messages=[first, second]))
        assert [(event.seq, event.state, event.is_message) for event in written.events] == [
            (2, State.SUBMITTED, True),
            (3, State.SUBMITTED, True),
        ]
        assert [
            StreamResponse.model_validate_json(event.body).message for event in written.events
        ] == [first, second]
        assert (await load_task(store, task)).last_seq == 3
        ended = await store.update_task(
            SCOPE,
            task.key,
            TaskChange(state=State.COMPLETED, messages=[build_reply(task, "three")]),
        )
        assert [(event.seq, event.is_message) for event in ended.events] == [(4, False)]
        late = await store.update_task(
            SCOPE, task.key, TaskChange(messages=[build_reply(task, "four")])
        )
        assert list(late.events) == []

    async def test_a_status_is_never_older_than_the_one_before(
        self, store: Store, clock: FakeClock
    ) -> None:
        """If the clock steps back, the status keeps its time."""
        task = await create_task(store)
        clock.set_back(60)
        now = await end_task(store, task)
        assert now.updated_at == task.updated_at

    async def test_the_events_of_a_change_are_numbered(self, store: Store) -> None:
        """One event for each artifact with the state before, then one for the state."""
        task = await create_task(store)
        change = TaskChange(
            state=State.COMPLETED,
            chunks=[replace_artifact("a", "1"), append_artifact("b", "2")],
            event_metadata={"n": 1},
        )
        written = await store.update_task(SCOPE, task.key, change)
        assert [(event.seq, event.state) for event in written.events] == [
            (2, State.SUBMITTED),
            (3, State.SUBMITTED),
            (4, State.COMPLETED),
        ]
        assert list(written.events) == list(await store.read_events(task.key, 1))
        events = [StreamResponse.model_validate_json(event.body) for event in written.events]
        assert [each.artifact_update.append for each in events if each.artifact_update] == [
            None,
            True,
        ]
        assert [each.status_update.metadata for each in events if each.status_update] == [{"n": 1}]

    @pytest.mark.parametrize("changed_before", [False, True], ids=["first-change", "later-change"])
    @pytest.mark.parametrize("last", FINAL_CHANGES)
    async def test_the_task_of_a_result_is_that_of_a_read(
        self,
        store: Store,
        clock: FakeClock,
        last: Callable[[StoredTask], TaskChange],
        *,
        changed_before: bool,
    ) -> None:
        """A store need not attach the task to the result of a change; if it does, it equals a
        read.
        """
        task = (
            await store.create_task(
                SCOPE, replace(build_new_task(), metadata={"b": 1, "a": 2}, process="p-1")
            )
        ).stored
        if changed_before:
            await store.update_task(
                SCOPE,
                task.key,
                TaskChange(
                    messages=[build_reply(task, "more")], chunks=[replace_artifact("0", "zero")]
                ),
            )
        clock.advance(1.5)
        written = await store.update_task(SCOPE, task.key, replace(last(task), epoch=1))
        assert written.stored is None or to_comparable(written.stored) == to_comparable(
            await load_task(store, task)
        )

    async def test_events_are_read_by_cursor(self, store: Store) -> None:
        """A page begins after the cursor and has at most ``limit`` events; at the end it is
        empty.
        """
        task = await create_task(store)
        for n in range(9):
            await store.update_task(
                SCOPE, task.key, TaskChange(chunks=[append_artifact("a", str(n))])
            )
        assert [event.seq for event in await store.read_events(task.key, 0, 4)] == [1, 2, 3, 4]
        assert [event.seq for event in await store.read_events(task.key, 4, 4)] == [5, 6, 7, 8]
        assert [event.seq for event in await store.read_events(task.key, 8)] == [9, 10]
        assert list(await store.read_events(task.key, 10)) == []

    @pytest.mark.parametrize("end", sorted(TERMINAL))
    async def test_a_terminal_state_is_final(self, store: Store, end: State) -> None:
        """A later change of state is refused as a whole."""
        task = await end_task(store, await create_task(store), end)
        for state in State:
            with pytest.raises(TaskTerminalError):
                await store.update_task(
                    SCOPE,
                    task.key,
                    TaskChange(
                        state=state,
                        messages=[build_reply(task, "late")],
                        chunks=[replace_artifact("a", "late")],
                    ),
                )
        now = await load_task(store, task)
        assert (now.version, now.task.json) == (task.version, task.task.json)

    async def test_late_content_is_stored_without_an_event(self, store: Store) -> None:
        """Messages, artifacts and metadata may still be appended after the end."""
        task = await create_task(store)
        await store.update_task(
            SCOPE, task.key, TaskChange(state=State.COMPLETED, chunks=[replace_artifact("a", "1")])
        )
        change = TaskChange(
            chunks=[append_artifact("a", "2"), replace_artifact("b", "3")],
            messages=[build_reply(task, "late")],
            metadata={"late": True},
        )
        written = await store.update_task(SCOPE, task.key, change)
        now = await load_task(store, task)
        assert (written.version, list(written.events), now.last_seq) == (3, [], 3)
        assert get_artifact_texts(now) == {"a": ["1", "2"], "b": ["3"]}
        assert now.task.model.metadata == {"late": True}
        assert [each.message_id for each in now.task.model.history or []] == ["m-1", "m-late"]

    async def test_a_forbidden_transition_is_refused(self, store: Store) -> None:
        """The store checks the lifecycle table."""
        task = await create_task(store)
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        with pytest.raises(TaskStateError):
            await store.update_task(SCOPE, task.key, TaskChange(state=State.SUBMITTED))

    async def test_an_expected_version_must_match(self, store: Store) -> None:
        """A writer that has not seen the last change is refused."""
        task = await create_task(store)
        written = await store.update_task(
            SCOPE, task.key, TaskChange(metadata={"n": 1}, expected_version=1)
        )
        with pytest.raises(ConcurrencyError):
            await store.update_task(
                SCOPE, task.key, TaskChange(metadata={"n": 2}, expected_version=1)
            )
        assert (await load_task(store, task)).task.model.metadata == {"n": 1}
        await store.update_task(
            SCOPE, task.key, TaskChange(metadata={"n": 3}, expected_version=written.version)
        )

    async def test_an_expected_state_must_match(self, store: Store) -> None:
        """A writer that expects another state is refused."""
        task = await create_task(store)
        suspended = frozenset({State.INPUT_REQUIRED})
        with pytest.raises(ConcurrencyError):
            await store.update_task(
                SCOPE, task.key, TaskChange(state=State.WORKING, expected_states=suspended)
            )
        with pytest.raises(ConcurrencyError):
            await store.update_task(
                SCOPE,
                task.key,
                TaskChange(messages=[build_reply(task, "x")], expected_states=suspended),
            )
        await store.update_task(SCOPE, task.key, TaskChange(state=State.INPUT_REQUIRED))
        assert (
            await store.update_task(
                SCOPE, task.key, TaskChange(state=State.WORKING, expected_states=suspended)
            )
        ).state is State.WORKING

    async def test_an_old_run_is_refused(self, store: Store, clock: FakeClock) -> None:
        """After a takeover, writes of the previous run change nothing."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING, epoch=1))
        clock.advance(60)
        await store.register("p-2")
        assert await store.claim(task.key, "p-2") is not None
        for change in (
            TaskChange(state=State.COMPLETED, epoch=1),
            TaskChange(chunks=[replace_artifact("a", "late")], epoch=1),
        ):
            with pytest.raises(FencedError):
                await store.update_task(SCOPE, task.key, change)
        assert (
            await store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED, epoch=2))
        ).state is State.COMPLETED

    @pytest.mark.parametrize(
        "over",
        [
            TaskChange(state=State.CANCELED),
            TaskChange(state=State.INPUT_REQUIRED, epoch=1, release_claim=True),
        ],
        ids=["ended", "suspended"],
    )
    async def test_an_ended_run_is_refused(self, store: Store, over: TaskChange) -> None:
        """A handler that still runs after the end or the release of its task cannot write."""
        await store.register("p-1")
        task = await create_task(store, build_new_task(process="p-1"))
        await store.update_task(SCOPE, task.key, over)
        with pytest.raises(FencedError):
            await store.update_task(
                SCOPE, task.key, TaskChange(chunks=[replace_artifact("a", "late")], epoch=1)
            )
        assert (await load_task(store, task)).process is None

    async def test_a_failed_change_leaves_nothing(self, store: Store) -> None:
        """A part that cannot be written fails the whole change."""
        task = await create_task(store)
        broken: dict[str, object] = {"not JSON": object()}
        for change in (
            TaskChange(
                messages=[build_reply(task, "x")],
                chunks=[replace_artifact("a", "x")],
                state=State.WORKING,
                metadata=broken,
            ),
            TaskChange(
                messages=[build_reply(task, "x")],
                chunks=[replace_artifact("a", "x")],
                state=State.COMPLETED,
                event_metadata=broken,
            ),
            TaskChange(
                chunks=[replace_artifact("a", "x")],
                messages=[build_reply(task, "x").model_copy(update={"parts": [object()]})],
            ),
        ):
            with pytest.raises((TypeError, AttributeError, PydanticSerializationError)):
                await store.update_task(SCOPE, task.key, change)
        now = await load_task(store, task)
        assert (now.version, now.last_seq, now.task.json) == (1, 1, task.task.json)
        assert len(await store.read_events(task.key, 0)) == 1

    async def test_models_passed_in_are_not_changed(self, store: Store) -> None:
        """The store writes copies."""
        first = build_message("hi")
        second = build_message("there", "m-2", task_id="t", context_id="c-1")
        made = build_artifact("a", "x", name="n", metadata={"k": 1})
        before = [each.model_dump_json() for each in (first, second, made)]
        task = await create_task(store)
        change = TaskChange(
            state=State.WORKING,
            status_message=second,
            messages=[second],
            chunks=[write_artifact(made), write_artifact(made, append=True)],
        )
        await store.update_task(SCOPE, task.key, change)
        assert [each.model_dump_json() for each in (first, second, made)] == before
