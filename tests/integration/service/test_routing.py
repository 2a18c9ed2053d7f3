"""Skill of a message that names none."""

from __future__ import annotations

import pytest
from integration.service.conftest import Client, Serve
from msgspec.structs import replace

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import InvalidAgentResponseError, InvalidParamsError
from a2a_contract.v1_0 import Message, Task
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.testing.agent import artifact_texts

pytestmark = pytest.mark.anyio

DIALECTS = pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])


async def upper(ctx: TaskContext) -> str:
    """Return the text in capitals."""
    return ctx.text.upper()


async def lower(ctx: TaskContext) -> str:
    """Return the text in small letters."""
    return ctx.text.lower()


def build_agent(*, default: bool = False) -> Agent:
    """Build an agent with two skills and a hidden one; ``default`` is about ``lower``."""
    agent = Agent("letters")
    agent.add("upper", upper)
    agent.add("lower", lower, default=default)
    agent.add("hidden", upper, only_extended=True)
    return agent


async def send_unnamed(client: Client, text: str = "Hi", **call: object) -> Task:
    """Send a message that names no skill."""
    request = client.request(text).model_copy(update={"metadata": None})
    task = (await client.service.send_message(request, replace(client.call, **call))).model.task
    assert task is not None
    return task


def read_result(task: Task) -> str | None:
    """Return the text of the result."""
    return artifact_texts(task)["result"][0]


@DIALECTS
async def test_the_only_skill_takes_messages_that_name_none(serve: Serve, dialect: str) -> None:
    """The only skill of a surface, or the only one that its caller can see."""
    async with serve(build_agent(), only=frozenset({"upper"})) as client:
        assert read_result(await send_unnamed(client, dialect=dialect)) == "HI"
    async with serve(build_agent(), only=frozenset({"lower", "hidden"})) as client:
        assert read_result(await send_unnamed(client, dialect=dialect, caller=Caller())) == "hi"


@DIALECTS
async def test_a_message_that_fits_several_skills_is_refused_with_their_names(
    serve: Serve, dialect: str
) -> None:
    """No skill is guessed, and the error lists those that the caller can name."""
    async with serve(build_agent()) as client:
        with pytest.raises(InvalidParamsError) as refused:
            await send_unnamed(client, dialect=dialect, caller=Caller())
        assert refused.value.fields == (
            ("metadata.skillId", "Name a skill; there are upper, lower"),
        )


@DIALECTS
async def test_the_default_skill_takes_messages_that_name_none(serve: Serve, dialect: str) -> None:
    """The default of the agent, wherever it stands; a surface without it has none."""
    async with serve(build_agent(default=True)) as client:
        assert read_result(await send_unnamed(client, dialect=dialect)) == "hi"
    async with serve(build_agent(default=True), only=frozenset({"upper", "hidden"})) as client:
        with pytest.raises(InvalidParamsError, match="there are upper, hidden"):
            await send_unnamed(
                client, dialect=dialect, caller=Caller("ada", schemes={"any": frozenset()})
            )


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
async def test_a_router_selects_the_skill_by_message_and_caller(
    serve: Serve, *, is_async: bool
) -> None:
    """Its ``None`` means the default skill; a named skill is never routed."""
    agent = build_agent(default=True)

    def choose(message: Message, caller: Caller) -> str | None:
        if message.parts[0].text == f"I am {caller.subject}":
            return "upper"
        return None

    async def choose_later(message: Message, caller: Caller) -> str | None:
        return choose(message, caller)

    agent.router(choose_later if is_async else choose)
    async with serve(agent) as client:
        assert read_result(await send_unnamed(client, "I am ada")) == "I AM ADA"
        assert read_result(await send_unnamed(client, "I am Bob")) == "i am bob"
        assert read_result(await client.send("I am ada", skill="lower")) == "i am ada"


async def test_a_router_cannot_select_what_the_caller_may_not_see(serve: Serve) -> None:
    """A hidden skill does not exist; an id that no skill has is an error of the agent, not of its
    caller.
    """
    agent = build_agent(default=True)
    answers = ["hidden", "uper"]
    agent.router(lambda _message, _caller: answers.pop(0))
    async with serve(agent) as client:
        with pytest.raises(InvalidParamsError, match="there are upper, lower"):
            await send_unnamed(client, caller=Caller())
        with pytest.raises(InvalidAgentResponseError):
            await send_unnamed(client)


async def test_a_skill_without_brackets_has_the_name_and_the_options_of_its_decorator() -> None:
    """Bare, with empty brackets, and with options only."""
    agent = Agent("letters")
    agent.skill(upper)
    agent.skill(default=True)(lower)
    assert {name: each.is_default for name, each in agent.skills.items()} == {
        "upper": False,
        "lower": True,
    }


async def test_there_is_one_default_and_one_router() -> None:
    """A second one is refused by name, and the agent stays as it was."""
    agent = build_agent(default=True)
    with pytest.raises(
        ValueError,
        match="'lower' and 'third' are both the default; keep default=True on one of them",
    ):
        agent.add("third", upper, default=True)
    assert "third" not in agent.skills
    agent.router(lambda _message, _caller: None)
    with pytest.raises(ValueError, match="a second router; join both"):
        agent.router(lambda _message, _caller: None)
