"""Tasks that wait for an authorization, released by the application around the agent."""

from __future__ import annotations

import asyncio
import json

import pytest
from integration.hosts.test_while_serving import serve

from a2a_contract.errors import TaskNotFoundError, UnavailableError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller
from a2a_runtime.client import A2AClient
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import TaskNotAcceptingMessagesError
from a2a_runtime.local import connect, release

pytestmark = pytest.mark.anyio


def build_agent(authorizations: dict[str, str]) -> Agent:
    """Build an agent that needs two authorizations, and notes how they are released."""
    agent = Agent("mailer")

    @agent.skill
    async def read(ctx: TaskContext) -> str:
        answers = list[object]()
        for key in ("mail", "calendar"):
            authorizations[key] = ctx.authorization(key)
            answer = await ctx.require_auth(f"Sign in for {key}", key=key)
            answers.append(answer.data or answer.text)
        return json.dumps(answers)

    return agent


async def wait_for_state(client: A2AClient, task_id: str, state: State) -> Task:
    """Read a task until it is in a state."""
    # The test reads the task as a caller does.
    while (task := await client.get(task_id)).status.state != state:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return task


async def test_the_application_releases_each_authorization_once() -> None:
    """The task goes on in the name of its caller; an authorization counts for its own question, and
    once.
    """
    authorizations: dict[str, str] = {}
    async with serve(build_agent(authorizations)) as (_, app, _client), asyncio.timeout(30):
        ada = connect(app, Caller("ada", "acme"))
        task = await ada.send("hi")
        assert isinstance(task, Task)
        assert State(task.status.state) is State.AUTH_REQUIRED
        released = await release(app, authorizations["mail"], {"granted": True})
        assert released.id == task.id
        await wait_for_state(ada, task.id, State.AUTH_REQUIRED)
        with pytest.raises(
            TaskNotAcceptingMessagesError, match="does not wait for the authorization mail"
        ):
            await release(app, authorizations["mail"])
        await release(app, authorizations["calendar"])
        task = await wait_for_state(ada, task.id, State.COMPLETED)
        assert (task.artifacts or [])[0].parts[0].text == '[{"granted": true}, "Authorized"]'
        with pytest.raises(TaskNotAcceptingMessagesError):
            await release(app, authorizations["calendar"])


async def test_a_question_is_not_released_as_an_authorization() -> None:
    """A task that asks for input goes on by the answer of its caller only."""
    agent = Agent("asker")
    found = list[str]()

    @agent.skill
    async def asks(ctx: TaskContext) -> str:
        found.append(ctx.authorization("name"))
        return (await ctx.ask("Your name?", key="name")).text

    async with serve(agent) as (_, app, _client), asyncio.timeout(30):
        await connect(app, Caller("ada")).send("hi")
        with pytest.raises(TaskNotAcceptingMessagesError):
            await release(app, found[0])


async def test_what_is_no_authorization_is_refused() -> None:
    """A text of another kind, a task that is gone, and an app that does not run."""
    authorizations: dict[str, str] = {}
    async with serve(build_agent(authorizations)) as (_, app, _client), asyncio.timeout(30):
        await connect(app, Caller("ada")).send("hi")
        for text in ("", "[1]", '["a", "b", "c", "d", 5]', "{}"):
            with pytest.raises(
                ValueError,
                match=r"not the text of a request; pass what ctx\.authorization has returned",
            ):
                await release(app, text)
        surface, tenant, _owner, task_id, key = json.loads(authorizations["mail"])
        with pytest.raises(TaskNotFoundError):
            await release(app, json.dumps([surface, tenant, "bob", task_id, key]))
    with pytest.raises(UnavailableError):
        await release(app, authorizations["mail"])
