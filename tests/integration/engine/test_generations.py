"""The log of a task has its generations: 1 for the creation, one more for each change that a client
can see, and one event for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integration.engine.conftest import MakeStore

from a2a_contract.errors import TaskGenerationMismatchError
from a2a_contract.lifecycle import ACTIVE, INTERRUPTED, TERMINAL, State
from a2a_contract.v1_0 import Role
from a2a_runtime.engine.follow_ups import AcceptedMessage, build_answer_change
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.questions import mark_question
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.features.draft_1_1.timeline import TaskRecord, read_history
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import RecordKind, ReplayRecord, StoredTask, TaskChange
from a2a_runtime.testing.agent import build_user_message, run_agent
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_message,
    build_new_task,
    replace_artifact,
)

CALLERS = 64
STEPS = (
    "work",
    "say",
    "write",
    "append",
    "write two and say",
    "message",
    "two messages",
    "ask",
    "answer",
    "record",
    "note",
    "end",
)


@dataclass
class Expectation:
    """Everything that a client may see of a task: its generation, the kinds of its timeline, and
    the spans of its artifacts.
    """

    generation: int = 1
    timeline: list[tuple[str, int]] = field(default_factory=lambda: [("message", 1), ("status", 1)])
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def see(self, *kinds: str) -> None:
        """Expect one change, with entries of the timeline."""
        self.generation += 1
        self.timeline += [(kind, self.generation) for kind in kinds]

    def see_chunk(self, artifact_id: str, *, append: bool) -> None:
        """Expect the change of an artifact."""
        self.see()
        start = self.spans[artifact_id][0] if append else self.generation
        self.spans[artifact_id] = (start, self.generation)


def plan(step: str, task: StoredTask, seen: Expectation) -> TaskChange | None:  # noqa: C901, PLR0911, PLR0912 - a table
    """Build the change of a step and expect what it shows; ``None`` if the task is in no state for
    it.
    """
    if step == "record":
        return TaskChange(records=(ReplayRecord(RecordKind.ONCE, "k", b"1"),))
    if step == "note":
        return TaskChange(metadata={"n": 1})
    if step == "answer" and task.state in INTERRUPTED:
        seen.see("message", "status")
        return build_answer_change(task, build_message(f"answer {seen.generation}"))
    if task.state not in ACTIVE:
        return None
    match step:
        case "work":
            seen.see("status")
            return TaskChange(state=State.WORKING)
        case "say":
            seen.see("status")
            return TaskChange(
                state=State.WORKING, status_message=build_message("at it", role=Role.AGENT)
            )
        case "write":
            seen.see_chunk("a", append=False)
            return TaskChange(chunks=(replace_artifact("a", "x"),))
        case "append" if "a" in seen.spans:
            seen.see_chunk("a", append=True)
            return TaskChange(chunks=(append_artifact("a", "y"),))
        case "write two and say":
            seen.see_chunk("a", append=False)
            seen.see_chunk("b", append=False)
            seen.see("status")
            return TaskChange(
                state=State.WORKING, chunks=(replace_artifact("a", "1"), replace_artifact("b", "2"))
            )
        case "message":
            seen.see("message")
            return TaskChange(messages=(build_message(f"message {seen.generation}"),))
        case "two messages":
            seen.see("message")
            seen.see("message")
            return TaskChange(messages=(build_message("one"), build_message("two")))
        case "ask":
            seen.see("status")
            question = mark_question(build_message("What?", role=Role.AGENT), "#1", None)
            return TaskChange(
                state=State.INPUT_REQUIRED, status_message=question, release_claim=True
            )
        case "end":
            seen.see("status")
            return TaskChange(state=State.COMPLETED)
    return None


async def walk(store: Store, steps: list[str]) -> None:
    """Take the steps on a new task, and compare it with what is expected after each of them."""
    task = (await store.create_task(SCOPE, build_new_task())).stored
    seen = Expectation()
    for step in steps:
        before = seen.generation
        change = plan(step, task, seen)
        if change is None:
            continue
        result = await store.update_task(SCOPE, task.key, change)
        assert [event.seq for event in result.events] == list(
            range(before + 1, seen.generation + 1)
        )
        loaded = await store.load_task(SCOPE, task.wire_id)
        assert loaded is not None
        assert loaded.last_seq == seen.generation
        task = loaded
    events = await store.read_events(task.key, 0)
    assert [event.seq for event in events] == list(range(1, seen.generation + 1))
    check_timeline(task, events, seen)


def check_timeline(task: StoredTask, events: object, seen: Expectation) -> None:
    """See that the timeline has every status and message of the log, in its order, with its
    content.
    """
    messages = [each for each in read_history(task.task.json) if each["role"] == "ROLE_USER"]  # type: ignore[index, call-overload]  # JSON
    record = TaskRecord(messages)
    for event in events:  # type: ignore[attr-defined]  # logged events
        record.add(event.seq, event.body)
    kinds = [
        (next(kind for kind in ("message", "status") if kind in each), each["generation"])
        for each in record.timeline
    ]
    assert kinds == seen.timeline
    assert [each["message"] for each in record.timeline if "message" in each] == messages
    assert record.generation == task.last_seq
    members = record.show_task({"artifacts": [{"artifactId": name} for name in seen.spans]})
    expected = [
        {
            "artifactId": name,
            "startGeneration": start,
            **({"endGeneration": newest} if task.state in TERMINAL else {}),
        }
        for name, (start, newest) in seen.spans.items()
    ]
    assert members["artifacts"] == expected


@contextmanager
def run_loop() -> Iterator[asyncio.Runner]:
    """Run coroutines on one event loop."""
    with asyncio.Runner() as runner:
        yield runner


def test_generations_have_no_holes_and_the_timeline_is_the_log(make_store: MakeStore) -> None:
    """Over random runs: every change that can be seen is one event, nothing else is, and the
    timeline tells the same.
    """
    store = make_store()
    with run_loop() as runner:
        runner.run(store.open())
        try:

            @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
            @given(st.lists(st.sampled_from(STEPS), max_size=14))
            def walks(steps: list[str]) -> None:
                runner.run(walk(store, steps))

            walks()
        finally:
            runner.run(store.close())


async def asking(ctx: TaskContext) -> str:
    """Ask once, then return the answer."""
    return (await ctx.ask("Who?")).text


async def listening(ctx: TaskContext) -> str:
    """Return the first further message."""
    async for message in ctx.incoming():
        return message.parts[0].text or ""
    return ""


SKILLS = (Skill("asking", asking), Skill("listening", listening, accepts_messages=True))


@pytest.mark.anyio
@pytest.mark.parametrize("skill", ["asking", "listening"])
async def test_of_many_callers_with_one_generation_one_is_accepted(
    make_store: MakeStore, skill: str
) -> None:
    """Also where the state does not change by the message: 64 callers have read the same task, and
    one of them is in time.
    """
    async with run_agent(*SKILLS, store=make_store()) as one:
        started = await one.start("x", skill=skill)
        expected = State.INPUT_REQUIRED if skill == "asking" else State.WORKING
        generation = (await one.wait_for_state(started, expected)).seq
        sending = [
            one.engine.send_message(
                one.scope,
                started.wire_id,
                build_user_message(f"{n}", message_id=f"m-{n}"),
                if_last_seq=generation,
            )
            for n in range(CALLERS)
        ]
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
        accepted = [each for each in outcomes if isinstance(each, AcceptedMessage)]
        refused = [each for each in outcomes if isinstance(each, TaskGenerationMismatchError)]
        assert (len(accepted), len(refused)) == (1, CALLERS - 1), outcomes
        assert all(int(each.details["current_generation"]) > generation for each in refused)
        await one.wait_terminal(started)
        stored = await one.engine.load(one.scope, started.wire_id)
        assert sum(each.role == "ROLE_USER" for each in stored.task.model.history or []) == 2


@pytest.mark.anyio
async def test_readers_without_generations_do_not_get_messages_of_clients(
    make_store: MakeStore,
) -> None:
    """A message to a running task is an event, which only readers that want it get; numbers skip
    it.
    """
    async with run_agent(*SKILLS, store=make_store()) as one:
        started = await one.start("x", skill="listening")
        generation = (await one.wait_for_state(started, State.WORKING)).seq
        accepted = await one.send_to_task(started, "more")
        assert accepted.cursor == generation + 1
        assert (await one.wait_terminal(started)).status.state == State.COMPLETED
        everything = await one.engine.store.read_events(started.key, 0)
        assert [event.seq for event in everything if event.is_message] == [generation + 1]
        assert await one.collect_events(started) == [
            event for event in everything if not event.is_message
        ]
