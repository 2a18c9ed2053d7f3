"""Questions: the handler runs again from the top, and its recorded steps are replayed."""

from __future__ import annotations

import asyncio

import pytest

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.errors import ContextMismatchError, TaskTerminalError
from a2a_runtime.testing.agent import artifact_texts, build_user_message, run_agent

from .conftest import RunAgent

pytestmark = pytest.mark.anyio

BOOLEAN = {"type": "boolean"}


def message_texts(task: Task) -> list[str | None]:
    """Return the texts of the history."""
    return [part.text for message in task.history or [] for part in message.parts]


async def test_two_questions_then_the_answer(run: RunAgent) -> None:
    """Each run begins at the top: what was recorded is given back, artifacts are replaced, statuses
    are not said again.
    """
    attempts = list[int]()
    calls = list[str]()

    async def books(ctx: TaskContext) -> str:
        attempts.append(ctx.attempt)
        await ctx.status("looking")
        price = await ctx.once("price", lambda: find_price("price"))
        async with ctx.artifact("offer") as offer:
            await offer.text("one seat")
            await offer.text(f"for {price}")
        sure = await ctx.ask("Book it?")
        await ctx.status("asking more")
        aisle = await ctx.ask("Aisle?", BOOLEAN, key="aisle")
        await ctx.status("booking")
        return f"{sure.text}, {aisle.data}, {ctx.text}"

    async def find_price(what: str) -> int:
        calls.append(what)
        return 2**53 + 1

    async with run(books) as one, asyncio.timeout(30):
        task = await one.send("please")
        assert State(task.status.state) is State.INPUT_REQUIRED
        assert task.status.message.metadata == {"a2a-gen/question": {"key": "#1"}}
        task = await one.answer(task, "yes")
        assert task.status.message.metadata == {
            "a2a-gen/question": {"key": "aisle", "schema": BOOLEAN}
        }
        assert artifact_texts(task) == {"offer": ["one seat", "for 9007199254740993"]}
        task = await one.answer(task, True)  # noqa: FBT003 - an answer
        assert artifact_texts(task) == {
            "offer": ["one seat", "for 9007199254740993"],
            "result": ["yes, True, please"],
        }
        assert message_texts(task) == ["please", "Book it?", "yes", "Aisle?", None]
        assert (attempts, calls) == ([1, 2, 3], ["price"])
        log = b"".join(event.body for event in await one.collect_events(task))
        assert [log.count(text) for text in (b'"looking"', b'"asking more"', b'"booking"')] == [
            1,
            1,
            1,
        ]


async def test_an_authorization_suspends_the_task(run: RunAgent) -> None:
    """The task is suspended as auth-required, and resumed by the next message."""

    async def opens(ctx: TaskContext) -> str:
        return f"opened for {(await ctx.require_auth('Sign in at example.org')).text}"

    async with run(opens) as one, asyncio.timeout(30):
        task = await one.send("hi")
        assert State(task.status.state) is State.AUTH_REQUIRED
        assert artifact_texts(await one.answer(task, "ada")) == {"result": ["opened for ada"]}


async def test_questions_in_a_task_group_suspend_the_task(run: RunAgent) -> None:
    """The signal leaves the task group, and the task waits."""

    async def asks(ctx: TaskContext) -> str:
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(ctx.ask("Well?"))
        return answer.result().text

    async with run(asks) as one, asyncio.timeout(30):
        assert artifact_texts(await one.answer(await one.send("hi"), "fine")) == {
            "result": ["fine"]
        }


async def test_a_suspended_task_uses_no_memory() -> None:
    """A thousand suspended tasks need no asyncio tasks and no readers."""

    async def asks(ctx: TaskContext) -> str:
        return (await ctx.ask("Well?")).text

    async with run_agent(asks) as one, asyncio.timeout(30):
        before = len(asyncio.all_tasks())
        suspended = [await one.send("hi") for _ in range(1000)]
        while len(asyncio.all_tasks()) > before:  # noqa: ASYNC110 - the last runs are ending
            await asyncio.sleep(0.01)
        assert artifact_texts(await one.answer(suspended[500], "ok")) == {"result": ["ok"]}


async def test_a_changed_handler_fails_with_its_reason(run: RunAgent) -> None:
    """An answer to another kind of question fails the task, with the reason."""
    schema: dict[str, object] = {"type": "string"}

    async def asks(ctx: TaskContext) -> str:
        return (await ctx.ask("Well?", dict(schema))).text

    async with run(asks) as one, asyncio.timeout(30):
        task = await one.send("hi")
        schema["type"] = "integer"
        task = await one.answer(task, "text")
        assert State(task.status.state) is State.FAILED
        assert task.status.message.parts[0].text.startswith("handler changed: question #1")


async def test_of_many_answers_at_once_one_is_the_answer(run: RunAgent) -> None:
    """The others go into the history or are refused; the handler gets exactly one, once."""
    runs = list[str]()
    release = asyncio.Event()

    async def asks(ctx: TaskContext) -> str:
        answer = (await ctx.ask("Well?")).text
        runs.append(answer)
        await release.wait()
        return f"{answer}: {len(await ctx.history())}"

    skill = Skill("asks", asks, accepts_messages=True)
    async with run(skill) as one, asyncio.timeout(30):
        task = await one.send("hi")
        given = await asyncio.gather(
            *(one.send_to_task(task, f"answer {number}") for number in range(8)),
            return_exceptions=True,
        )
        release.set()
        task = await one.wait_terminal(
            next(each.stored for each in given if not isinstance(each, BaseException))
        )
        assert len(runs) == 1
        accepted = [each for each in given if not isinstance(each, BaseException)]
        assert {type(each) for each in given if isinstance(each, BaseException)} <= {
            TaskTerminalError
        }
        assert artifact_texts(task) == {"result": [f"{runs[0]}: {2 + len(accepted)}"]}


@pytest.mark.parametrize(
    ("scope", "members", "error"),
    [
        (TaskScope("/agent", "acme", "eve"), {}, TaskNotFoundError),
        (TaskScope("/other", "acme", "ada"), {}, TaskNotFoundError),
        (None, {"context_id": "another"}, ContextMismatchError),
    ],
    ids=["another caller", "another surface", "another conversation"],
)
async def test_a_message_outside_of_its_scope_is_refused(
    run: RunAgent, scope: TaskScope | None, members: dict, error: type[Exception]
) -> None:
    """A task of another scope does not exist; another conversation is a field error."""

    async def asks(ctx: TaskContext) -> str:
        return (await ctx.ask("Well?")).text

    async with run(asks) as one, asyncio.timeout(30):
        task = await one.send("hi")
        with pytest.raises(error):
            await one.engine.send_message(
                scope or one.scope, task.id, build_user_message("x", **members)
            )
        task = await one.answer(task, "ok")
        with pytest.raises(TaskTerminalError):
            await one.send_to_task(task, "one more")
