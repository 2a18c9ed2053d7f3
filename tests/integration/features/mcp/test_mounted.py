"""The skills of an agent as an MCP server beside it, for the official client in both eras of the
protocol.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as mt
import pytest
from integration.features.mcp.task_extension import Described, TaskRequest, Tasks
from integration.features.mcp.toolbox import serve_app
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from a2a_contract.v1_0 import Artifact, Part
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.mcp import mount_mcp
from a2a_runtime.features.mcp.server.long_tools import TaskParams
from a2a_runtime.features.mcp.source.connection import describe_error
from a2a_runtime.features.sources import SkillDescriptor
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.ports import find_free_port
from a2a_runtime.testing.skill_source import FunctionSource

pytestmark = pytest.mark.anyio

STATELESS = "2026-07-28"
SESSIONS = "legacy"
BOTH = pytest.mark.parametrize("mode", [STATELESS, SESSIONS])
NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
CHOICE = {"type": "string", "enum": ["yes", "no"]}
KEYS = {hashlib.sha256(f"k-{name}".encode()).hexdigest(): Identity(name) for name in ("ada", "eve")}

Elicit = Callable[[Any, Any], Awaitable[mt.ElicitResult]]


class World:
    """An agent on a port."""

    def __init__(self) -> None:
        self.source = FunctionSource()
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        self.port = find_free_port()
        self.source.add(
            SkillDescriptor("math.add", "Adds.", "Add", input_schema=NUMBERS, output_schema=SUM),
            self.add,
        )
        self.source.add(
            SkillDescriptor("shout", "Shouts.", output_schema={"type": "string"}),
            lambda value, _: str(value).upper(),
        )
        self.source.add(
            SkillDescriptor(
                "double",
                "Doubles.",
                input_schema={"type": "integer"},
                output_schema={"type": "integer"},
            ),
            self.double,
        )
        self.source.add(SkillDescriptor("file", "Gives files."), self.give_files)
        self.source.add(SkillDescriptor("work", "Works."), self.work)
        self.source.add(SkillDescriptor("wait", "Waits."), self.wait)
        self.source.add(SkillDescriptor("ask", "Asks.", asks=True), self.ask)
        self.source.add(SkillDescriptor("fail", "Fails."), self.fail)
        self.source.add(SkillDescriptor("crash", "Crashes."), self.crash)
        self.source.add(
            SkillDescriptor("whoami", "Names the caller."),
            lambda _, ctx: ctx.caller.subject or "anonymous",
        )

    @staticmethod
    def add(value: Any, _ctx: SkillContext) -> object:  # noqa: ANN401 - any JSON
        """Add."""
        return {"sum": value["a"] + value["b"]}

    @staticmethod
    def double(value: Any, _ctx: SkillContext) -> object:  # noqa: ANN401 - any JSON
        """Double."""
        return value * 2

    @staticmethod
    def give_files(_value: object, _ctx: SkillContext) -> object:
        """Give files of all kinds."""
        parts = [
            Part(raw=b"icon", media_type="image/png"),
            Part(raw=b"tone", media_type="audio/wav"),
            Part(raw=b"%PDF", filename="a b.pdf", media_type="application/pdf"),
            Part(url="https://example.com/c", filename="c"),
        ]
        return Artifact(artifact_id="files", parts=parts)

    @staticmethod
    async def work(_value: object, ctx: SkillContext) -> str:
        """Report progress."""
        await ctx.progress(0.5, "half")
        await ctx.progress(text="more")
        return "done"

    async def wait(self, _value: object, _ctx: SkillContext) -> str:
        """Wait for a cancellation."""
        self.ended.put_nowait("begun")
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.put_nowait("canceled")
        raise AssertionError

    @staticmethod
    async def ask(_value: object, ctx: SkillContext) -> str:
        """Ask twice: for one word of two, and for an object."""
        assert isinstance(ctx.untyped, TaskContext)
        first = await ctx.untyped.ask("Sure?", CHOICE)
        second = await ctx.untyped.ask(
            "Which?",
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        )
        return f"{first.text} {second.data}"

    @staticmethod
    def fail(_value: object, ctx: SkillContext) -> object:
        """Fail with a reason."""
        ctx.fail("No paper")

    @staticmethod
    def crash(_value: object, _ctx: SkillContext) -> object:
        """Raise."""
        raise ValueError("secret")

    @asynccontextmanager
    async def serve(
        self, gate: AuthGate | None = None, limits: Limits | None = None
    ) -> AsyncGenerator[None]:
        """Serve the agent with an MCP server beside it."""
        agent = Agent("office", "An office.", "1.2.3", sources=[self.source])
        app = create_app(
            Surface(agent, gate=gate, limits=limits or Limits()),
            settings=FAST_SETTINGS,
            store="memory",
        )
        mount_mcp(app)
        async with serve_app(app, self.port), asyncio.timeout(60):
            yield

    @asynccontextmanager
    async def connect(
        self, mode: str, elicit: Elicit | None = None, key: str = "", tasks: Tasks | None = None
    ) -> AsyncGenerator[Client]:
        """Connect the official client."""
        async with httpx2.AsyncClient(
            headers={"x-api-key": key} if key else {}, timeout=30
        ) as http:
            transport = streamable_http_client(
                f"http://127.0.0.1:{self.port}/mcp", http_client=http
            )
            async with Client(
                transport,
                mode=mode,
                elicitation_callback=elicit,
                extensions=[tasks] if tasks else None,
            ) as client:
                yield client


def text(result: mt.CallToolResult) -> tuple[bool, str]:
    """Show whether a call has failed, and its first text."""
    (first, *_) = result.content
    assert isinstance(first, mt.TextContent)
    return bool(result.is_error), first.text


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    """An agent that is served."""
    world = World()
    async with world.serve():
        yield world


@BOTH
async def test_skills_are_tools(world: World, mode: str) -> None:
    """With names, descriptions and schemas; what is no object is the member of one."""
    async with world.connect(mode) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert (tools["math.add"].title, tools["math.add"].description) == ("Add", "Adds.")
        assert (tools["math.add"].input_schema, tools["math.add"].output_schema) == (NUMBERS, SUM)
        assert tools["double"].input_schema["properties"] == {"input": {"type": "integer"}}
        assert (tools["double"].output_schema or {})["properties"] == {
            "result": {"type": "integer"}
        }
        assert [*tools["shout"].input_schema["properties"]] == ["message"]
        assert tools["shout"].output_schema is None
        added = await client.call_tool("math.add", {"a": 1, "b": 2})
        assert (added.structured_content, text(added)) == ({"sum": 3}, (False, '{"sum": 3}'))
        assert (await client.call_tool("double", {"input": 4})).structured_content == {"result": 8}
        assert text(await client.call_tool("shout", {"message": "tea"})) == (False, "TEA")


async def test_files_are_contents(world: World) -> None:
    """Images, sounds, resources and links become contents of their MCP types."""
    async with world.connect(STATELESS) as client:
        image, audio, resource, link = (await client.call_tool("file", {"message": "x"})).content
        assert (image.type, audio.type, resource.type, link.type) == (
            "image",
            "audio",
            "resource",
            "resource_link",
        )
        assert isinstance(resource, mt.EmbeddedResource)
        assert isinstance(link, mt.ResourceLink)
        assert (str(resource.resource.uri), str(link.uri)) == (
            "a2a:///artifacts/a%20b.pdf",
            "https://example.com/c",
        )


@BOTH
async def test_progress_grows(world: World, mode: str) -> None:
    """Its texts are those of the status."""
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with world.connect(mode) as client:
        assert text(await client.call_tool("work", {"message": "x"}, progress_callback=note)) == (
            False,
            "done",
        )
    assert [(total, message) for _, total, message in seen] == [(1.0, "half"), (None, "more")]
    assert 0.5 == seen[0][0] < seen[1][0]


@BOTH
async def test_errors_say_what_callers_may_read(world: World, mode: str) -> None:
    """Bad input with its fields, the reason of a failure; nothing of an exception."""
    async with world.connect(mode) as client:
        failed, reason = text(await client.call_tool("math.add", {"a": "1", "b": 2}))
        assert (failed, "a:" in reason) == (True, True)
        assert text(await client.call_tool("fail", {"message": "x"})) == (True, "No paper")
        failed, reason = text(await client.call_tool("crash", {"message": "x"}))
        assert (failed, "secret" in reason) == (True, False)
        with pytest.raises(MCPError, match="Unknown tool: none"):
            await client.session.call_tool("none", {})


@BOTH
async def test_a_canceled_call_cancels_its_task(world: World, mode: str) -> None:
    """Canceling a call interrupts the handler of its task."""
    async with world.connect(mode) as client:
        calling = asyncio.create_task(client.call_tool("wait", {"message": "x"}))
        assert await world.ended.get() == "begun"
        calling.cancel()
        assert await world.ended.get() == "canceled"


@BOTH
async def test_questions_reach_the_user(world: World, mode: str) -> None:
    """One after the other, each with a form for its answer."""
    forms: list[Any] = []

    async def answer(_context: object, params: mt.ElicitRequestFormParams) -> mt.ElicitResult:
        forms.append((params.message, sorted(params.requested_schema["properties"])))
        return mt.ElicitResult(
            action="accept", content={"answer": "yes"} if len(forms) == 1 else {"n": 7}
        )

    async with world.connect(mode, answer) as client:
        assert text(await client.call_tool("ask", {"message": "x"})) == (False, "yes {'n': 7}")
    assert forms == [("Sure?", ["answer"]), ("Which?", ["n"])]


@BOTH
async def test_a_declined_question_cancels_the_task(world: World, mode: str) -> None:
    """A declined question cancels the task, as does a client that cannot ask."""

    async def decline(*_: object) -> mt.ElicitResult:
        return mt.ElicitResult(action="decline")

    async with world.connect(mode, decline) as client:
        assert text(await client.call_tool("ask", {"message": "x"})) == (
            True,
            "The question was declined, and the task canceled",
        )
    async with world.connect(mode) as client:
        failed, reason = text(await client.call_tool("ask", {"message": "x"}))
        assert (failed, "this client cannot be asked" in reason) == (True, True)


async def accept(*_: object) -> mt.ElicitResult:
    """Stand for a user, for clients that only have to declare that there is one."""
    return mt.ElicitResult(action="accept")


async def test_work_that_takes_long_is_a_task(world: World) -> None:
    """For a client with the extension: its questions are answered by updates, its end has the
    result.
    """
    answers = [
        mt.ElicitResult(action="accept", content=content)
        for content in ({"answer": "no"}, {"n": 3})
    ]
    tasks = Tasks(*answers)
    async with world.connect(STATELESS, accept, tasks=tasks) as client:
        assert text(await client.call_tool("ask", {"message": "x"})) == (False, "no {'n': 3}")
        assert (tasks.seen[0], tasks.seen[-1]) == ("input_required", "completed")
        assert text(await client.call_tool("shout", {"message": "tea"})) == (
            False,
            "TEA",
        )  # it ends soon
        assert text(await client.call_tool("fail", {"message": "x"})) == (True, "No paper")


async def test_a_task_can_be_canceled(world: World) -> None:
    """A task ends when the client cancels it or declines its question."""
    async with world.connect(STATELESS, accept, tasks=Tasks(cancel=True)) as client:
        assert text(await client.call_tool("wait", {"message": "x"})) == (True, "cancelled")
        assert [await world.ended.get(), await world.ended.get()] == ["begun", "canceled"]
    async with world.connect(
        STATELESS, accept, tasks=Tasks(mt.ElicitResult(action="decline"))
    ) as client:
        assert text(await client.call_tool("ask", {"message": "x"})) == (True, "cancelled")


async def test_the_handle_of_a_task_is_worth_nothing_to_others() -> None:
    """It is unknown to them, as is any other text."""
    world = World()
    tasks = Tasks(mt.ElicitResult(action="decline"))
    async with world.serve(AuthGate(ApiKeyAuthenticator(KEYS))):
        async with world.connect(STATELESS, accept, "k-ada", tasks) as client:
            await client.call_tool("ask", {"message": "x"})
            described = await client.session.send_request(
                TaskRequest(method="tasks/get", params=TaskParams(task_id=tasks.handle)), Described
            )
            assert described.status == "cancelled"
        async with world.connect(STATELESS, accept, "k-eve") as client:
            for handle in (tasks.handle, "ask/x/y", "nonsense"):
                with pytest.raises(MCPError, match="Unknown task"):
                    await client.session.send_request(
                        TaskRequest(method="tasks/get", params=TaskParams(task_id=handle)),
                        Described,
                    )


async def test_changes_of_the_skills_are_announced(world: World) -> None:
    """Clients that listen are notified of changed skills."""
    async with (
        world.connect(STATELESS) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        world.source.remove("crash")
        async for _ in changes:
            break
        assert "crash" not in [
            each.name for each in (await client.list_tools(cache_mode="refresh")).tools
        ]


async def test_the_gate_admits_callers() -> None:
    """Each call runs in the name of its caller; a session of another one is not found, and without
    credentials nothing is.
    """
    world = World()
    async with world.serve(AuthGate(ApiKeyAuthenticator(KEYS))):
        for mode in (STATELESS, SESSIONS):
            with pytest.raises(BaseException) as refused:  # noqa: PT011 - a group around it
                async with world.connect(mode) as client:
                    await client.list_tools()
            assert describe_error(refused.value) == "Authentication required"
            for name in ("ada", "eve"):
                async with world.connect(mode, key=f"k-{name}") as client:
                    assert text(await client.call_tool("whoami", {"message": "x"})) == (False, name)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{world.port}") as http:
            assert (await http.post("/mcp", json={})).status_code == 401
            session = await open_session(http, "k-ada")
            assert (await list_tools(http, "k-ada", session)).status_code == 200
            assert (await list_tools(http, "k-eve", session)).status_code == 404


async def open_session(http: httpx2.AsyncClient, key: str) -> str:
    """Open a session of 2025-11-25 by hand."""
    return str((await initialize(http, key)).headers["mcp-session-id"])


async def initialize(http: httpx2.AsyncClient, key: str) -> httpx2.Response:
    """Send the first request of a session."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return await http.post(
        "/mcp",
        json=body,
        headers={"x-api-key": key, "accept": "application/json, text/event-stream"},
    )


async def list_tools(http: httpx2.AsyncClient, key: str, session: str) -> httpx2.Response:
    """List the tools within a session."""
    headers = {
        "x-api-key": key,
        "accept": "application/json, text/event-stream",
        "mcp-session-id": session,
    }
    return await http.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=headers
    )


def test_a_mount_without_an_agent_is_refused() -> None:
    """The message names the agents that there are."""
    agents = [Agent(name, sources=[FunctionSource()]) for name in ("a", "b")]
    app = create_app(
        *(Surface(each, path=f"/{each.name}") for each in agents),
        settings=FAST_SETTINGS,
        store="memory",
    )
    with pytest.raises(ValueError, match="the app has several agents; pass agent= one of /a, /b"):
        mount_mcp(app)
    with pytest.raises(ValueError, match="no agent at this path; pass agent= one of /a, /b"):
        mount_mcp(app, agent="/c")
