"""Skills that decide in each call between a message and a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from integration.service.conftest import Client, Serve

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_contract.errors import InvalidAgentResponseError, RateLimitedError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    ListTasksRequest,
    Message,
    SendMessageConfiguration,
    Task,
)
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.engine import begun
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.jobs import BackgroundJob
from a2a_runtime.features.mesh.service import check_surface
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import artifact_texts

pytestmark = pytest.mark.anyio


class Steps:
    """A handler that does what its message says."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.calls = 0
        self.canceled = asyncio.Event()

    async def __call__(self, ctx: TaskContext) -> object:  # noqa: C901 - one case for each word
        """Do it, and return what the handler has seen of its task."""
        self.calls += 1
        match ctx.text:
            case "status":
                await ctx.status("working")
            case "artifact":
                await ctx.artifact("notes").text("a note")
            case "once":
                await ctx.once("key", self.count)
            case "ask":
                return (await ctx.ask("Well?")).text
            case "reject":
                ctx.reject("Not this")
            case "nothing":
                return None
            case "job":
                return BackgroundJob(lambda _job: "built")
            case "break":
                raise RuntimeError("password=hunter2")
            case "message":
                return ctx.reply("in words")
            case "wait":
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.canceled.set()
                    raise
                return ctx.reply(f"late, call {self.calls}")
            case _:
                pass
        return f"done {ctx.text}"

    async def count(self) -> int:
        """Return the number of calls."""
        return self.calls


def build_agent(steps: Steps) -> Agent:
    """Build an agent with such a skill, and one that yields."""
    agent = Agent("either", capabilities=Capabilities(push_notifications=True))
    agent.add("echo", steps, answers="either", default=True)

    @agent.skill(answers="either")
    async def count(ctx: TaskContext) -> AsyncGenerator[str, None]:
        for number in range(int(ctx.text)):
            yield str(number)

    @agent.skill(answers="either")
    def plain(ctx: TaskContext) -> str:
        if ctx.text == "status":
            ctx.block_on(ctx.status("working"))
        return f"done {ctx.text}"

    return agent


@pytest.fixture
def steps() -> Steps:
    """The handler."""
    return Steps()


@pytest.fixture
async def client(
    serve: Serve, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Client, None]:
    """A client of the agent, whose handlers have no second but an hour, so that no test depends on
    the time.
    """
    monkeypatch.setattr(begun, "MAX_SECONDS", 3600.0)
    async with serve(build_agent(steps)) as client, asyncio.timeout(30):
        yield client


async def list_tasks(client: Client) -> list[Task]:
    """List all tasks."""
    return list(
        (await client.service.list_tasks(ListTasksRequest(), client.call)).model.tasks or ()
    )


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])
@pytest.mark.parametrize(
    ("skill", "sent", "text"),
    [("echo", "hi", "done hi"), ("echo", "message", "in words"), ("plain", "hi", "done hi")],
)
async def test_a_handler_that_only_returns_replies_with_a_message(
    client: Client, dialect: str, skill: str, sent: str, text: str
) -> None:
    """There is no task, and the message names none; it is not in the conversation either."""
    message = await client.copy_with(dialect=dialect).ask_for_message(
        sent, skill=skill, context_id="c-1"
    )
    assert (message.parts[0].text, message.task_id, message.context_id) == (text, None, "c-1")
    assert await list_tasks(client) == []
    events = await client.copy_with(dialect=dialect).stream(sent, skill=skill)
    assert [event.data.model.message is not None for event in events] == [True]
    assert await list_tasks(client) == []


@pytest.mark.parametrize(
    ("skill", "sent", "artifacts"),
    [
        ("echo", "status", {"result": ["done status"]}),
        ("echo", "artifact", {"notes": ["a note"], "result": ["done artifact"]}),
        ("echo", "once", {"result": ["done once"]}),
        ("echo", "job", {"result": ["built"]}),
        ("echo", "nothing", {}),
        ("count", "2", {"result": ["0", "1"]}),
        ("plain", "status", {"result": ["done status"]}),
    ],
)
async def test_what_needs_a_task_creates_it(
    client: Client, steps: Steps, skill: str, sent: str, artifacts: dict[str, list[str]]
) -> None:
    """The same call of the handler goes on in it; the task has all that was written, and streams
    too.
    """
    task = await client.send(sent, skill=skill)
    assert (State(task.status.state), artifact_texts(task)) == (State.COMPLETED, artifacts)
    assert [each.parts[0].text for each in task.history or ()] == [sent]
    events = await client.stream(sent, skill=skill)
    assert events[0].data.model.task is not None
    assert events[-1].data.model.status_update is not None
    assert steps.calls in {0, 2}
    assert len(await list_tasks(client)) == 2


async def test_a_question_needs_a_task(client: Client, steps: Steps) -> None:
    """The answer goes to the task, and the handler runs again as ever."""
    task = await client.send("ask")
    assert State(task.status.state) is State.INPUT_REQUIRED
    task = await client.send("yes", task_id=task.id)
    assert (artifact_texts(task), steps.calls) == ({"result": ["yes"]}, 2)


async def test_a_handler_that_takes_long_gets_a_task(
    client: Client, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message is then the status message of the completed task; it is called once."""
    monkeypatch.setattr(begun, "MAX_SECONDS", 0.01)
    sending = asyncio.create_task(client.send("wait"))
    while not await list_tasks(client):  # noqa: ASYNC110 - as a caller sees it
        await asyncio.sleep(0.01)
    steps.release.set()
    task = await sending
    assert State(task.status.state) is State.COMPLETED
    assert task.status.message is not None
    assert (task.status.message.parts[0].text, task.status.message.task_id) == (
        "late, call 1",
        task.id,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"return_immediately": True},
        {"task_push_notification_config": {"url": "https://example.org/hook"}},
    ],
)
async def test_a_client_that_needs_a_task_gets_one(
    client: Client, options: dict[str, object]
) -> None:
    """Answers at once, notifications and repeatable requests are for tasks, so there is one from
    the first moment.
    """
    assert SendMessageConfiguration.model_fields.keys() >= options.keys()
    assert (await client.send("hi", **options)).id
    assert (await client.copy_with(idempotency_key="k").send("hi")).id == (
        await client.copy_with(idempotency_key="k").send("hi")
    ).id
    assert len(await list_tasks(client)) == 2


async def test_a_rejection_is_a_task_and_a_failure_is_an_error(client: Client) -> None:
    """A rejection has a state, which only a task can show; an exception before there is a task says
    nothing about the agent.
    """
    assert State((await client.send("reject")).status.state) is State.REJECTED
    with pytest.raises(InvalidAgentResponseError) as failed:
        await client.answer("break")
    assert "hunter2" not in str(failed.value)


async def test_a_client_that_leaves_before_there_is_a_task_stops_the_handler(
    client: Client, steps: Steps
) -> None:
    """Nothing could ever read the result."""
    sending = asyncio.create_task(client.answer("wait"))
    while not steps.calls:  # noqa: ASYNC110 - it is about to begin
        await asyncio.sleep(0)
    sending.cancel()
    async with asyncio.timeout(10):
        await steps.canceled.wait()
    assert await list_tasks(client) == []


async def test_a_task_of_a_begun_handler_is_canceled_as_any_other(
    client: Client, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler sees the cancellation, although it began before its task."""
    monkeypatch.setattr(begun, "MAX_SECONDS", 0.01)
    sending = asyncio.create_task(client.send("wait"))
    while not (tasks := await list_tasks(client)):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.01)
    await client.service.cancel_task(CancelTaskRequest(id=tasks[0].id), client.call)
    assert State((await sending).status.state) is State.CANCELED
    assert steps.canceled.is_set()


async def test_a_task_that_cannot_be_created_is_an_error_for_caller_and_handler(
    serve: Serve, steps: Steps
) -> None:
    """Without a task the handler does not go on; a message needs none."""
    async with serve(build_agent(steps), limits=Limits(open_tasks=1)) as client:
        await client.send("wait", return_immediately=True)
        with pytest.raises(RateLimitedError):
            await client.answer("status")
        assert (await client.ask_for_message("hi")).parts[0].text == "done hi"


def test_surfaces_that_have_only_tasks_refuse_such_skills() -> None:
    """The mesh dialect has no messages."""
    agent = Agent("x")
    agent.add("x", Steps(), answers="either", asks=False)
    with pytest.raises(
        ValueError,
        match=(
            "answers='either', and the mesh dialect has tasks only; use answers='task', or add "
            "another dialect"
        ),
    ):
        check_surface(Surface(agent, "/x", dialects=frozenset((MESH.name,))))


async def test_a_message_is_no_part_of_the_conversation(serve: Serve, steps: Steps) -> None:
    """Handlers read in a conversation what tasks have stored."""
    agent = build_agent(steps)
    seen = list[int]()

    @agent.skill
    async def recall(ctx: TaskContext) -> Message:
        seen.append(len(await ctx.conversation()))
        return ctx.reply("ok")

    async with serve(agent) as client:
        await client.ask_for_message("hi", context_id="c-1")
        await client.send("hi", skill="recall", context_id="c-1")
        assert seen == [1]
