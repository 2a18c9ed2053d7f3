"""Request info of a handler."""

from __future__ import annotations

import pytest

from a2a_contract.v1_0 import AgentExtension, SendMessageRequest, Task
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.engine.replay import EMPTY_REQUEST_INFO
from a2a_runtime.testing.agent import artifact_texts, build_user_message

from .conftest import Serve

pytestmark = pytest.mark.anyio

NICE = "https://x/nice"
BIG = 10**40


def describe_request(ctx: Context) -> dict[str, object]:
    """Return every member of the request info."""
    info = ctx.request
    return {
        "metadata": info.metadata,
        "of the message": ctx.message.metadata,
        "modes": list(info.accepted_output_modes),
        "extensions": list(info.extensions),
        "tenant": ctx.tenant,
        "caller": ctx.caller.subject,
    }


def curious() -> Agent:
    """Make an agent that tells about requests: at once, after a question, and without a task."""
    agent = Agent("curious", capabilities=Capabilities(extensions=(AgentExtension(uri=NICE),)))

    @agent.skill("tell")
    async def tell(ctx: TaskContext) -> dict[str, object]:
        return describe_request(ctx)

    @agent.skill("later")
    async def later(ctx: TaskContext) -> dict[str, object]:
        await ctx.ask("Really?")
        return {**describe_request(ctx), "attempt": ctx.attempt}

    @agent.skill("short", answers="message")
    async def short(ctx: Context) -> dict[str, object]:
        return describe_request(ctx)

    @agent.skill("plain")
    async def plain(ctx: TaskContext) -> str:
        return str(ctx.request is EMPTY_REQUEST_INFO)

    return agent


def request(skill: str) -> SendMessageRequest:
    """Say everything that can be said."""
    said = {"skillId": skill, "big": BIG, "nothing": None, "deep": {"z": [1.5, "ü"], "a": 1}}
    return SendMessageRequest.model_validate(
        {
            "tenant": "acme",
            "message": build_user_message("go").model_copy(update={"metadata": {"mine": True}}),
            "configuration": {"accepted_output_modes": ["application/json", "text/*"]},
            "metadata": said,
        }
    )


EXPECTED = {
    "metadata": {"big": BIG, "nothing": None, "deep": {"z": [1.5, "ü"], "a": 1}},
    "of the message": {"mine": True},
    "modes": ["application/json", "text/*"],
    "extensions": [NICE],
    "tenant": "acme",
}


def data_of(task: Task | None) -> object:
    """Read the result of a task."""
    assert task is not None
    assert task.artifacts
    return task.artifacts[0].parts[0].data


async def test_a_handler_sees_all_of_its_request(serve: Serve) -> None:
    """Metadata with every number as it was, what the caller takes, and the extensions that are in
    effect; with a task and without.
    """
    async with serve(curious()) as plain:
        client = plain.copy_with(extensions=("https://x/strange", NICE))
        answer = (await client.service.send_message(request("tell"), client.call)).model
        assert data_of(answer.task) == {**EXPECTED, "caller": "ada"}
        answer = (await client.service.send_message(request("short"), client.call)).model
        assert answer.message is not None
        assert answer.message.parts[0].data == {**EXPECTED, "caller": "ada"}


async def test_a_later_run_sees_the_same_request(serve: Serve) -> None:
    """The store has kept it: a run after an answer, or in another process, knows no less."""
    async with serve(curious()) as plain:
        client = plain.copy_with(extensions=(NICE,))
        info = (await client.service.send_message(request("later"), client.call)).model.task
        assert info is not None
        reply = SendMessageRequest(
            tenant="acme", message=build_user_message("yes", task_id=info.id), metadata={"other": 1}
        )
        done = (await client.service.send_message(reply, client.call)).model.task
        assert data_of(done) == {**EXPECTED, "caller": "ada", "attempt": 2}


async def test_an_empty_request_info_is_not_stored(serve: Serve) -> None:
    """A request with a skill only has no request info."""
    async with serve(curious()) as curious_client:
        assert artifact_texts(await curious_client.send("go", skill="plain")) == {
            "result": ["True"]
        }
