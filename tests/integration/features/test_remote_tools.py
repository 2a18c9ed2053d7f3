"""Skills of remote agents as tools: plain functions with schemas, and a toolset of pydantic-ai;
chains of agents hand questions up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic_ai import Agent as Model
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from a2a_contract.errors import InvalidParamsError
from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.base.caller import Caller
from a2a_runtime.client import A2AClient
from a2a_runtime.client.typed.conversation import Progress
from a2a_runtime.client.typed.errors import FailedError, InputRequiredError
from a2a_runtime.client.typed.results import PendingQuestion
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.pydantic_ai import A2AToolset, from_pydantic_ai
from a2a_runtime.features.remote_tools import RemoteTools
from a2a_runtime.features.sources import SkillDescriptor
from a2a_runtime.local import connect
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app
from a2a_runtime.testing.skill_source import FunctionSource

models.ALLOW_MODEL_REQUESTS = False
pytestmark = pytest.mark.anyio
URL = "http://agent"
FLIGHT = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "seats": {"type": "integer"}},
    "required": ["to", "seats"],
}
YES = {"type": "boolean"}


class Travel:
    """A remote agent: skills of each kind, and what has happened there."""

    def __init__(self) -> None:
        self.contexts: list[str] = []
        self.has_started = asyncio.Event()
        self.was_stopped = asyncio.Event()
        self.source = FunctionSource()
        self.source.add(
            SkillDescriptor("book.flight", "Books a flight.", input_schema=FLIGHT, asks=True),
            self.book,
        )
        self.source.add(
            SkillDescriptor("square", "Squares a number.", input_schema={"type": "integer"}),
            lambda value, _: value * value,
        )  # type: ignore[operator]  # an integer
        self.source.add(SkillDescriptor("slow", "Never ends."), self.wait)
        self.source.add(SkillDescriptor("broken", "Fails."), self.fail)

    async def book(self, value: object, context: SkillContext) -> object:
        """Ask, then book."""
        assert isinstance(value, dict)
        assert isinstance(context.untyped, TaskContext)
        self.contexts.append(context.context_id)
        await context.progress(0.5, "looks for seats")
        answer = await context.untyped.ask(f"Book {value['seats']} seats?", YES)
        return {"booked": answer.data is not False and answer.text != "false", "to": value["to"]}

    async def wait(self, _value: object, _context: SkillContext) -> object:
        """Wait for ever."""
        self.has_started.set()
        try:
            return await asyncio.Event().wait()
        finally:
            self.was_stopped.set()

    def fail(self, _value: object, context: SkillContext) -> object:
        """Fail with a reason."""
        context.fail("no seats left")


@asynccontextmanager
async def serve_source(
    source: Any,  # noqa: ANN401 - any source
    name: str = "travel",
) -> AsyncGenerator[httpx.AsyncBaseTransport]:
    """Serve an agent with a source."""
    async with run_app(
        create_app(Surface(Agent(name, sources=[source])), settings=FAST_SETTINGS)
    ) as transport:
        yield transport


@pytest.fixture
def travel() -> Travel:
    """Work of the remote agent."""
    return Travel()


@pytest.fixture
async def remote(travel: Travel) -> AsyncGenerator[RemoteTools]:
    """Its tools."""
    async with (
        serve_source(travel.source) as transport,
        RemoteTools(URL, transport=transport) as tools,
    ):
        yield tools


async def test_skills_are_tools_with_the_schemas_of_the_agent(remote: RemoteTools) -> None:
    """Names fit models, parameters are objects."""
    tools = {tool.name: tool for tool in await remote.list_tools()}
    assert tools.keys() == {"book_flight", "square", "slow", "broken"}
    assert (tools["book_flight"].skill_id, tools["book_flight"].parameters) == (
        "book.flight",
        FLIGHT,
    )
    assert tools["square"].parameters["properties"] == {"input": {"type": "integer"}}
    assert tools["slow"].parameters["required"] == ["message"]


async def test_calls_report_progress_and_answer_questions(remote: RemoteTools) -> None:
    """A question goes to the callback with its schema."""
    progress: list[Progress] = []
    questions: list[PendingQuestion] = []

    def answer(question: PendingQuestion) -> bool:
        questions.append(question)
        return True

    result = await remote.call(
        "book_flight", {"to": "Oslo", "seats": 2}, on_progress=progress.append, on_ask=answer
    )
    assert result.value == {"booked": True, "to": "Oslo"}
    assert [(each.fraction, each.text) for each in progress][:1] == [(0.5, "looks for seats")]
    assert [(each.text, each.schema) for each in questions] == [("Book 2 seats?", YES)]
    assert (await remote.call("square", {"input": 2**60})).value == 2**120


async def test_arguments_and_failures_are_errors(remote: RemoteTools) -> None:
    """Wrong arguments name their places, a failed task says why, and an unknown tool lists the
    others.
    """
    with pytest.raises(InvalidParamsError) as refused:
        await remote.call("book_flight", {"to": "Oslo", "seats": "two"})
    assert [path for path, _ in refused.value.fields] == ["seats"]
    with pytest.raises(FailedError, match="no seats left"):
        await remote.call("broken", {"message": "x"})
    with pytest.raises(
        ValueError, match="tool 'fly': unknown; known: book_flight, square, slow, broken"
    ):
        await remote.call("fly", {})


async def test_a_question_can_be_answered_later(remote: RemoteTools) -> None:
    """The task keeps its question, also for another client."""
    with pytest.raises(InputRequiredError) as error_info:
        await remote.call("book_flight", {"to": "Oslo", "seats": 2})
    assert error_info.value.task
    question = await remote.find_question(error_info.value.task.id)
    assert (await remote.answer(question, value=False)).value == {"booked": False, "to": "Oslo"}


async def test_cancellation_is_handed_down(travel: Travel, remote: RemoteTools) -> None:
    """A canceled call cancels its task."""
    call = asyncio.create_task(remote.call("slow", {"message": "x"}))
    async with asyncio.timeout(30):
        await travel.has_started.wait()
        call.cancel()
        await travel.was_stopped.wait()
        with pytest.raises(asyncio.CancelledError):
            await call


def book_then_report(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Book a flight once, then say what came of it."""
    returned = [
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    if returned:
        return ModelResponse(parts=[TextPart(str(returned[-1]))])
    return ModelResponse(
        parts=[ToolCallPart("book_flight", {"to": "Oslo", "seats": 2}, tool_call_id="call-1")]
    )


async def test_a_toolset_hands_questions_up_as_approvals(
    travel: Travel, remote: RemoteTools
) -> None:
    """The run ends with the question; the next one brings the answer to the same task, in the
    context of the conversation.
    """
    seen: list[str] = []
    toolset = A2AToolset(remote, on_progress=lambda _, progress: seen.append(progress.text))
    agent = Model(
        FunctionModel(book_then_report), toolsets=[toolset], output_type=[str, DeferredToolRequests]
    )
    first = await agent.run("book", conversation_id="talk-1")
    assert isinstance(first.output, DeferredToolRequests)
    waiting = first.output.metadata["call-1"]
    assert (waiting["question"], waiting["schema"]) == ("Book 2 seats?", YES)
    answers = DeferredToolResults(
        approvals={"call-1": ToolApproved()}, metadata={"call-1": {**waiting, "answer": True}}
    )
    second = await agent.run(
        message_history=first.all_messages(),
        deferred_tool_results=answers,
        conversation_id="talk-1",
    )
    assert second.output == "{'booked': True, 'to': 'Oslo'}"
    assert seen[0] == "looks for seats"
    assert set(travel.contexts) == {"talk-1"}


async def test_the_model_sees_that_a_task_has_failed(remote: RemoteTools) -> None:
    """The model can adapt to it; the run goes on."""

    def call_broken(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        returned = [
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        return ModelResponse(
            parts=[
                TextPart(str(returned)) if returned else ToolCallPart("broken", {"message": "x"})
            ]
        )

    result = await Model(FunctionModel(call_broken), toolsets=[A2AToolset(remote)]).run("go")
    assert "no seats left" in result.output


async def test_questions_pass_through_a_chain_of_agents(remote: RemoteTools) -> None:
    """An agent of a model that uses a remote agent asks its own caller what the remote agent
    asks.
    """
    middle = Model(FunctionModel(book_then_report), toolsets=[A2AToolset(remote)], name="secretary")
    async with (
        serve_source(from_pydantic_ai(middle), "office") as transport,
        A2AClient("http://middle", transport=transport) as client,
    ):
        task = await client.send("book me a flight")
        assert isinstance(task, Task)
        assert str(task.status.state) == str(State.INPUT_REQUIRED)
        assert task.status.message
        assert task.status.message.parts[0].text == "Book 2 seats?"
        done = await client.send({"book_flight": True}, task=task)
        assert isinstance(done, Task)
        assert done.artifacts
        assert done.artifacts[0].parts[0].text == "{'booked': True, 'to': 'Oslo'}"


async def test_an_agent_of_the_same_app_needs_no_connection(travel: Travel) -> None:
    """The client of the host's own code reads the same schemas."""
    app = create_app(Surface(Agent("travel", sources=[travel.source])), settings=FAST_SETTINGS)
    async with run_app(app), connect(app, Caller("ada")) as client:
        card = await client.get_card()
        params: Any = next(
            each.params
            for each in card.capabilities.extensions or ()
            if each.uri == SKILL_SCHEMAS.uri
        )
        url = params["skills"]["book.flight"]["input"]["url"]
        assert json.loads(await client.fetch_document(url)) == FLIGHT
        with pytest.raises(ValueError, match="not a document of this agent"):
            await client.fetch_document("/schemas/none/input.json")
