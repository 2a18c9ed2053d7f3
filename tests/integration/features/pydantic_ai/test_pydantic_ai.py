"""Agents of pydantic-ai as skills: text, typed output, tools, approvals, history, over the protocol
and across a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent as Model
from pydantic_ai import DeferredToolRequests, RunContext, models
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel

from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Part, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.client import A2AClient, ClientOptions
from a2a_runtime.engine.handlers.usage import read_usage
from a2a_runtime.features.pydantic_ai import HistoryLimits, PydanticAISource, from_pydantic_ai
from a2a_runtime.features.pydantic_ai.history import trim_history
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

models.ALLOW_MODEL_REQUESTS = False
pytestmark = pytest.mark.anyio
URL = "http://agent"


class Weather(BaseModel):
    """A typed output."""

    city: str
    degrees: int


def prompts(messages: list[ModelMessage]) -> list[str]:
    """List the prompts as the model sees them."""
    return [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


async def echo(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
    """Say how many messages there are, in two pieces."""
    yield f"{len(prompts(messages))} "
    yield "messages"


async def delete_then_report(
    messages: list[ModelMessage], _info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    """Call the tool once, then report what it returned."""
    returned = [
        part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)
    ]
    if returned:
        yield f"done: {returned[-1].content}"
    else:
        yield {0: DeltaToolCall("delete_file", '{"path": "a.txt"}', tool_call_id="call-1")}


def report(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Report what the tool returned, at once."""
    return ModelResponse(
        parts=[
            TextPart(f"done: {part.content}")
            for each in messages
            for part in each.parts
            if isinstance(part, ToolReturnPart)
        ]
    )


def deleting_agent(deleted: list[str]) -> Model[None, str]:
    """Make an agent with a tool that needs an approval."""
    agent = Model(FunctionModel(report, stream_function=delete_then_report), name="files")

    @agent.tool_plain(requires_approval=True)
    def delete_file(path: str) -> str:
        deleted.append(path)
        return f"deleted {path}"

    return agent


@asynccontextmanager
async def serve_sources(
    *sources: PydanticAISource,
    **options: Any,  # noqa: ANN401 - those of create_app
) -> AsyncGenerator[httpx.AsyncBaseTransport]:
    """Serve an agent of sources."""
    surface = Surface(Agent("bridged", sources=sources), gate=options.pop("gate", None))
    async with run_app(create_app(surface, settings=FAST_SETTINGS, **options)) as transport:
        yield transport


@asynccontextmanager
async def client_of(
    *sources: PydanticAISource,
    **options: Any,  # noqa: ANN401 - as above
) -> AsyncGenerator[A2AClient]:
    """Serve an agent, with a client."""
    async with (
        serve_sources(*sources, **options) as transport,
        A2AClient(URL, transport=transport) as client,
    ):
        yield client


def result_text(task: object) -> str:
    """Join the texts of a result."""
    assert isinstance(task, Task), task
    return "".join(part.text or "" for artifact in task.artifacts or () for part in artifact.parts)


async def test_text_is_streamed_as_it_comes_and_whole_for_others() -> None:
    """Each piece of the model is a chunk; a blocking call has the whole text."""
    async with client_of(
        from_pydantic_ai(Model(FunctionModel(stream_function=echo), name="echo"))
    ) as client:
        events = [event async for event in client.stream("hello")]
        assert [
            event.artifact.parts[0].text
            for event in events
            if isinstance(event, TaskArtifactUpdateEvent)
        ] == ["1 ", "messages"]
        assert result_text(await client.send("hello")) == "1 messages"


async def test_a_typed_output_has_its_schema_on_the_card() -> None:
    """The schema of the output type is published, and the output is data."""
    model = Model(
        TestModel(custom_output_args={"city": "Oslo", "degrees": 7}),
        output_type=[Weather, DeferredToolRequests],
        name="weather",
    )
    async with (
        serve_sources(from_pydantic_ai(model)) as transport,
        A2AClient(URL, transport=transport) as client,
    ):
        async with httpx.AsyncClient(base_url=URL, transport=transport) as http:
            schema = (await http.get("/schemas/weather/output.json")).json()
        assert schema["properties"].keys() == {"city", "degrees"}
        task = await client.send("Oslo?")
        assert isinstance(task, Task)
        assert task.artifacts
        assert [part.data for part in task.artifacts[0].parts] == [{"city": "Oslo", "degrees": 7}]


async def test_tool_calls_are_statuses_and_deps_are_made_for_each_run() -> None:
    """A reader sees which tool is called; the tool sees what the factory made of the context."""
    agent = Model(TestModel(), name="tools", deps_type=str)

    @agent.tool
    def who(ctx: RunContext[str]) -> str:
        return ctx.deps

    async def make_deps(context: Any) -> str:  # noqa: ANN401 - a skill context
        return f"deps of {context.context_id}"

    async with client_of(from_pydantic_ai(agent, deps=make_deps)) as client:
        events = [event async for event in client.stream("hello", context_id="c-1")]
        texts = [
            event.status.message.parts[0].text
            for event in events
            if isinstance(event, TaskStatusUpdateEvent) and event.status.message
        ]
        assert "Calls who" in texts
        assert "deps of c-1" in result_text(await client.send("hello", context_id="c-1"))


@pytest.mark.parametrize(
    ("answer", "deleted", "text"),
    [(True, ["a.txt"], "done: deleted a.txt"), (False, [], "done: The tool call was denied.")],
)
async def test_an_approval_is_a_question(
    answer: bool,  # noqa: FBT001 - a case
    deleted: list[str],
    text: str,
) -> None:
    """The caller answers by the name of the tool, and the model is not asked again for what it has
    said.
    """
    done: list[str] = []
    async with client_of(from_pydantic_ai(deleting_agent(done))) as client:
        task = await client.send("delete it")
        assert isinstance(task, Task)
        assert str(task.status.state) == str(State.INPUT_REQUIRED)
        assert task.status.message
        assert task.status.message.parts[0].text == 'Approve delete_file({"path":"a.txt"})'
        with pytest.raises(InvalidParamsError):
            await client.send({"delete_file": "maybe"}, task=task)
        assert result_text(await client.send({"delete_file": answer}, task=task)) == text
        assert done == deleted


async def test_an_answer_may_come_after_a_restart(tmp_path: Path) -> None:
    """The turn of the model is in the store, so that another process can go on."""
    done: list[str] = []
    store = f"sqlite:///{tmp_path / 'tasks.db'}"
    async with client_of(from_pydantic_ai(deleting_agent(done)), store=store) as client:
        task = await client.send("delete it")
    async with client_of(from_pydantic_ai(deleting_agent(done)), store=store) as client:
        assert isinstance(task, Task)
        approved = {"approved": True, "arguments": {"path": "b.txt"}}
        assert (
            result_text(await client.send({"delete_file": approved}, task=task))
            == "done: deleted b.txt"
        )
    assert done == ["b.txt"]


async def test_external_tools_get_their_result_from_the_caller() -> None:
    """A deferred call without an approval takes any JSON as its result; two calls of one tool have
    two names.
    """

    def call_twice(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        returned = [
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        if returned:
            return ModelResponse(parts=[TextPart(str(returned))])
        return ModelResponse(
            parts=[
                ToolCallPart("measure", {"room": room}, tool_call_id=room)
                for room in ("hall", "attic")
            ]
        )

    agent = Model(FunctionModel(call_twice), name="rooms")

    @agent.tool_plain
    def measure(room: str) -> int:
        raise CallDeferred(metadata={"room": room})

    async with client_of(from_pydantic_ai(agent)) as client:
        task = await client.send("measure")
        assert isinstance(task, Task)
        assert (
            result_text(await client.send({"measure": 12, "measure-2": {"m": 3}}, task=task))
            == "[12, {'m': 3}]"
        )


async def test_callers_with_one_context_id_have_separate_histories() -> None:
    """The model sees what this caller has said in this context, and nothing of another caller, or
    of another context of the same one.
    """
    keys = ApiKeyAuthenticator(
        {digest_key(f"key-of-{name}"): Identity(name) for name in ("ada", "bob")}
    )
    source = from_pydantic_ai(Model(FunctionModel(stream_function=echo), name="echo"))
    async with serve_sources(source, gate=AuthGate(keys)) as transport:
        seen: dict[str, list[str]] = {}
        for name, context_id in (
            ("ada", "shared"),
            ("bob", "shared"),
            ("ada", "shared"),
            ("ada", "other"),
            ("bob", "shared"),
        ):
            options = ClientOptions(headers={"X-API-Key": f"key-of-{name}"})
            async with A2AClient(URL, transport=transport, options=options) as client:
                seen.setdefault(f"{name} {context_id}", []).append(
                    result_text(await client.send("hello", context_id=context_id))
                )
    assert seen == {
        "ada shared": ["1 messages", "2 messages"],
        "bob shared": ["1 messages", "2 messages"],
        "ada other": ["1 messages"],
    }


async def test_files_and_data_reach_the_model() -> None:
    """Bytes are files of their type, data is JSON."""
    received: list[object] = []

    def look(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        received.extend(
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, UserPromptPart)
        )
        return ModelResponse(parts=[TextPart("seen")])

    async with client_of(from_pydantic_ai(Model(FunctionModel(look), name="eyes"))) as client:
        task = await client.send(
            [Part(raw=b"\x89PNG", media_type="image/png"), Part(data={"n": 2**53 + 1})]
        )
        assert result_text(task) == "seen"
    [(image, data)] = received  # type: ignore[misc]  # a prompt of two
    assert (image.data, image.media_type, data) == (
        b"\x89PNG",
        "image/png",
        '{"n":9007199254740993}',
    )  # type: ignore[attr-defined]  # as above


async def test_canceling_a_task_cancels_the_model() -> None:
    """Canceling a task cancels the running call of the model."""
    started = asyncio.Event()
    stopped = asyncio.Event()

    async def wait(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        yield ""

    async with client_of(
        from_pydantic_ai(Model(FunctionModel(stream_function=wait), name="slow"))
    ) as client:
        task = await client.send("go", wait=False)
        assert isinstance(task, Task)
        async with asyncio.timeout(30):
            await started.wait()
            await client.cancel(task)
            await stopped.wait()


async def test_output_validators_switch_approvals_off_and_nothing_else() -> None:
    """pydantic-ai allows no further output type there."""
    agent = Model(FunctionModel(stream_function=echo), name="checked")

    @agent.output_validator
    def keep(text: str) -> str:
        return text

    async with client_of(from_pydantic_ai(agent)) as client:
        assert result_text(await client.send("hello")) == "1 messages"


def test_an_agent_without_a_name_needs_an_id() -> None:
    """The message says what to write."""
    with pytest.raises(ValueError, match=r"pass a skill id"):
        from_pydantic_ai(Model(TestModel()))


async def test_histories_keep_whole_turns_and_the_system_prompt() -> None:
    """Older turns go first, by number and by size; what remains begins with a message of the
    caller.
    """
    agent = Model(TestModel(), system_prompt="be kind")
    messages: list[ModelMessage] = []
    for word in ("one", "two", "three"):
        messages = (await agent.run(word, message_history=messages)).all_messages()
    kept = trim_history(messages, HistoryLimits(turns=2))
    assert prompts([*kept]) == ["two", "three"]
    assert kept[0].parts[0].content == "be kind"
    size = len(ModelMessagesTypeAdapter.dump_json(messages[-2:]))
    assert prompts([*trim_history(messages, HistoryLimits(size_bytes=size + 200))]) == ["three"]
    assert trim_history(messages, HistoryLimits(size_bytes=10)) == []


async def test_what_a_model_consumes_is_on_the_task() -> None:
    """Of every run of the agent, also of that before a question."""
    deleted: list[str] = []
    async with client_of(from_pydantic_ai(deleting_agent(deleted))) as client:
        question = await client.send("delete it")
        assert isinstance(question, Task)
        before = read_usage(question.metadata)
        ended = await client.send({"delete_file": True}, task=question)
        assert isinstance(ended, Task)
        after = read_usage(ended.metadata)
    assert before
    assert after
    assert 0 < before.input_tokens < after.input_tokens
    assert 0 < before.output_tokens < after.output_tokens
