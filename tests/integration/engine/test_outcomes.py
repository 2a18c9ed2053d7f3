"""Every way in which a handler can end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from a2a_contract.base import JSON_NULL
from a2a_contract.errors import InvalidAgentResponseError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.engine.handlers.jobs import BackgroundJob
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.run import HANDLER_FAILED
from a2a_runtime.testing.agent import artifact_texts, build_user_message, run_agent

from .conftest import RunAgent

pytestmark = pytest.mark.anyio


async def echo(ctx: TaskContext) -> str:
    """Give back the text."""
    return ctx.text


async def counting(ctx: TaskContext):  # noqa: ANN201 - what a user may leave out
    """Yield three chunks and a status."""
    for number in range(3):
        yield f"{number}"
    yield ctx.reply("nearly done")
    yield Artifact(artifact_id="extra", parts=[Part(text="more")])


def in_thread(ctx: TaskContext) -> str:
    """Work in a thread, and say so."""
    ctx.block_on(ctx.status("at it", progress=0.5))
    return threading.current_thread().name


async def rejects(ctx: TaskContext) -> None:
    """Refuse, from within what would swallow an exception."""
    try:
        ctx.reject("not today")
    except Exception:  # noqa: BLE001 - what careless handlers do
        await ctx.status("swallowed")


async def fails(ctx: TaskContext) -> None:
    """Give up, from within a task group."""
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(10))
        ctx.fail("no data")


async def raises(_ctx: TaskContext) -> None:
    """Raise with a text that callers must not read."""
    raise ValueError("secret: /etc/passwd")


async def exits(_ctx: TaskContext) -> None:
    """Raise SystemExit."""
    raise SystemExit(3)


async def cancels_itself(_ctx: TaskContext) -> None:
    """Raise what only others should."""
    raise asyncio.CancelledError


async def senseless(_ctx: TaskContext) -> object:
    """Answer with something that cannot be sent."""
    return object()


async def says(ctx: TaskContext) -> object:
    """Answer with a message."""
    return ctx.reply("well", {"done": True})


async def nothing(_ctx: TaskContext) -> None:
    """Do it, and have nothing to show."""


async def detached(_ctx: TaskContext) -> BackgroundJob:
    """Return a job."""

    async def work(job: BackgroundJob) -> str:
        job.report(0.5, "half way")
        await asyncio.sleep(0.1)
        return "built"

    return BackgroundJob(work)


async def broken_job(_ctx: TaskContext) -> BackgroundJob:
    """Return a job that raises."""

    async def work(_job: BackgroundJob) -> str:
        raise OSError("secret")

    return BackgroundJob(work)


@pytest.mark.parametrize(
    ("handler", "state", "artifacts", "said"),
    [
        (echo, State.COMPLETED, {"result": ["hi"]}, None),
        (counting, State.COMPLETED, {"result": ["0", "1", "2"], "extra": ["more"]}, None),
        (in_thread, State.COMPLETED, {"result": ["a2a-handler"]}, None),
        (says, State.COMPLETED, {}, "well"),
        (nothing, State.COMPLETED, {}, None),
        (detached, State.COMPLETED, {"result": ["built"]}, None),
        (rejects, State.REJECTED, {}, "not today"),
        (fails, State.FAILED, {}, "no data"),
        (raises, State.FAILED, {}, HANDLER_FAILED),
        (exits, State.FAILED, {}, HANDLER_FAILED),
        (cancels_itself, State.FAILED, {}, HANDLER_FAILED),
        (senseless, State.FAILED, {}, HANDLER_FAILED),
        (broken_job, State.FAILED, {}, HANDLER_FAILED),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_every_handler_has_one_outcome(
    run: RunAgent, handler: object, state: State, artifacts: dict, said: str | None
) -> None:
    """State, artifacts and message follow from the end of the handler; the log has no gaps and one
    terminal event, the last one.
    """
    async with run(handler) as one, asyncio.timeout(30):
        task = await one.send("hi")
        assert State(task.status.state) is state
        assert artifact_texts(task) == artifacts
        assert (task.status.message.parts[0].text if task.status.message else None) == said
        events = await one.collect_events(task)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [
            event.state for event in events if event.state not in {State.SUBMITTED, State.WORKING}
        ] == [state]
        assert b"secret" not in b"".join(event.body for event in events)


async def cancels_inner_work(_ctx: TaskContext) -> None:
    """Wait for work that is canceled, as a library may do it."""
    inner = asyncio.create_task(asyncio.sleep(10))
    inner.cancel()
    await inner


async def test_a_handler_that_ends_in_a_cancellation_of_its_own_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log has the skill and the line of the handler; for a cancellation by the caller it has
    nothing.
    """
    with caplog.at_level(logging.WARNING):
        async with run_agent(cancels_inner_work) as one, asyncio.timeout(30):
            task = await one.send("hi")
            assert State(task.status.state) is State.FAILED
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert task.id in record.getMessage()
    assert record.exc_text is not None
    assert "await inner" in record.exc_text


async def test_exceptions_are_logged_and_hidden_from_the_caller(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log has the full traceback, and the next task runs."""
    with caplog.at_level(logging.ERROR):
        async with run_agent(raises, echo) as one, asyncio.timeout(30):
            await one.send("hi")
            assert State((await one.send("hi", skill="echo")).status.state) is State.COMPLETED
    assert "secret: /etc/passwd" in caplog.text
    (trace,) = (record.exc_text or "" for record in caplog.records)
    assert "a2a_runtime" not in trace, "the traceback begins with the code of the handler"
    assert "in raises" in trace


async def test_a_handler_that_returns_at_once_needs_two_commits(run: RunAgent) -> None:
    """Such a task goes from submitted to its end in one commit, without working."""
    async with run(echo) as one, asyncio.timeout(30):
        task = await one.send("hi")
        assert [event.state for event in await one.collect_events(task)] == [
            State.SUBMITTED,
            State.SUBMITTED,
            State.COMPLETED,
        ]
        assert (await one.engine.load(one.scope, task.id)).version == 2


async def test_a_slow_handler_sets_its_task_to_working(run: RunAgent) -> None:
    """After a few milliseconds the task is working, although the handler has written nothing."""
    release = asyncio.Event()

    async def slow(_ctx: TaskContext) -> str:
        await release.wait()
        return "done"

    async with run(slow) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        assert (await one.wait_for_state(stored, State.WORKING)).state is State.WORKING
        release.set()
        assert [event.state for event in await one.collect_events(stored)] == [
            State.SUBMITTED,
            State.WORKING,
            State.WORKING,
            State.COMPLETED,
        ]


async def test_progress_is_a_number_on_the_task_and_on_its_event(run: RunAgent) -> None:
    """The progress is in the metadata of the event and of the task."""

    async def reports(ctx: TaskContext) -> None:
        await ctx.status("half", progress=0.5)

    async with run(reports) as one, asyncio.timeout(30):
        task = await one.send("hi")
        assert task.metadata == {"progress": 0.5}
        assert [
            b'"metadata":{"progress":0.5}' in event.body for event in await one.collect_events(task)
        ] == [False, True, False]


async def test_artifacts_are_stored_unchanged(run: RunAgent, tmp_path: Path) -> None:
    """Texts, JSON with its nulls, key order and large integers, bytes, files and links come back as
    they were written.
    """
    (tmp_path / "a.csv").write_bytes(b"1;2\n")
    json = {"z": None, "a": 2**53 + 1, "m": 10**39, "list": [None, {"b": 1, "a": 2}]}

    async def writes(ctx: TaskContext) -> object:
        async with ctx.artifact("mixed", description="all kinds", metadata={"k": None}) as mixed:
            await mixed.text("a line")
            await mixed.json(json)
            await mixed.json(None)
            await mixed.json({"when": date(2026, 1, 2)})
            await mixed.bytes(b"\x00\xff", media_type="image/x")
            await mixed.file(tmp_path / "a.csv")
            await mixed.link("https://example.org/a", name="a", last=True)
            with pytest.raises(ValueError, match="complete"):
                await mixed.text("too late")
        return json

    async with run(writes) as one, asyncio.timeout(30):
        mixed, result = (await one.send("hi", json)).artifacts or []
        assert mixed.description == "all kinds"
        assert mixed.metadata == {"k": None}
        assert [part.to_json() for part in mixed.parts] == [
            b'{"text":"a line"}',
            b'{"data":{"z":null,"a":9007199254740993,"m":1000000000000000000000000000000000000000,"list":[null,{"b":1,"a":2}]}}',
            b'{"data":null}',
            b'{"data":{"when":"2026-01-02"}}',
            b'{"raw":"AP8=","mediaType":"image/x"}',
            b'{"raw":"MTsyCg==","filename":"a.csv","mediaType":"text/csv"}',
            b'{"url":"https://example.org/a","filename":"a"}',
        ]
        assert list(result.parts[0].data) == ["z", "a", "m", "list"]
        assert mixed.parts[2].data is JSON_NULL


async def test_a_skill_may_reply_without_a_task() -> None:
    """Nothing is stored, and an exception becomes an error without its text."""

    async def quick(ctx: Context) -> str:
        if ctx.text == "break":
            raise ValueError("secret")
        if ctx.text == "refuse":
            ctx.reject("no")
        return ctx.text.upper()

    async with run_agent(Skill("quick", quick, answers="message")) as one, asyncio.timeout(30):
        answer = await one.engine.run_inline(one.scope, "quick", build_user_message("hi"))
        assert (answer.parts[0].text, answer.task_id) == ("HI", None)
        assert (
            await one.engine.run_inline(one.scope, "quick", build_user_message("refuse"))
        ).parts[0].text == "no"
        with pytest.raises(InvalidAgentResponseError) as error:
            await one.engine.run_inline(one.scope, "quick", build_user_message("break"))
        assert "secret" not in error.value.message


async def test_a_conversation_has_messages_and_state(run: RunAgent) -> None:
    """Tasks of one conversation share its messages and its state; those of another one do not."""

    async def chat(ctx: TaskContext) -> object:
        state = await ctx.state.load()
        await ctx.state.update({"turns": int(str(state.get("turns", 0))) + 1})
        said = [part.text for message in await ctx.conversation() for part in message.parts]
        return ctx.reply(
            f"{(await ctx.state.load())['turns']}: {', '.join(str(text) for text in said)}"
        )

    async with run(chat) as one, asyncio.timeout(30):
        said = [
            (await one.send(text, context_id=context)).status.message.parts[0].text
            for text, context in [("a", "1"), ("b", "1"), ("c", "2")]
        ]
        assert said == ["1: a", "2: a, 1: a, b", "1: c"]


async def test_blocking_handlers_run_in_parallel() -> None:
    """Each has a thread of its own: two handlers that wait for one another do not deadlock."""
    meet = threading.Barrier(2)

    def meets(_ctx: TaskContext) -> str:
        meet.wait(10)
        return "met"

    async def comes(_ctx: TaskContext) -> str:
        return "came"

    async with run_agent(meets, comes) as one, asyncio.timeout(30):
        first = await one.start("hi", skill="meets")
        assert artifact_texts(await one.send("hi", skill="comes")) == {"result": ["came"]}
        assert artifact_texts(await one.send("hi", skill="meets")) == {"result": ["met"]}
        assert artifact_texts(await one.wait_terminal(first)) == {"result": ["met"]}


class Cart(BaseModel):
    """State of a conversation."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    items: list[str] = Field(default_factory=list)
    paid_at: date | None = None
    total: float = 0


async def test_the_state_of_a_conversation_may_be_a_model(run: RunAgent) -> None:
    """It is validated when it is read, and begins with its defaults."""

    async def shops(ctx: TaskContext) -> str:
        cart = await ctx.state.load(Cart)
        cart.items.append(ctx.text)
        cart.paid_at = date(2026, 11, 18)
        await ctx.state.update(cart)
        return f"{cart.items} {dict(await ctx.state.load())}"

    async with run(shops) as one:
        await one.send("tea")
        task = await one.send("milk")
        assert artifact_texts(task) == {
            "result": [
                "['tea', 'milk'] {'items': ['tea', 'milk'], 'paidAt': '2026-11-18', 'total': 0.0}"
            ]
        }


@pytest.mark.parametrize(
    "value",
    [[1, 2], "text", None, {"a": object()}, {"a": float("nan")}, Cart(total=float("inf"))],
    ids=["list", "text", "none", "object", "nan", "infinity in a model"],
)
async def test_a_state_that_is_no_json_object_is_refused(value: Mapping[str, object]) -> None:
    """The error comes when it is written, and the conversation goes on."""

    async def poisons(ctx: TaskContext) -> str:
        with pytest.raises(
            TypeError, match=r"ctx\.state: \w+ (is no JSON object|cannot be serialized)"
        ):
            await ctx.state.update(value)
        return str(await ctx.state.load())

    async with run_agent(poisons) as one:
        assert artifact_texts(await one.send("go")) == {"result": ["{}"]}
