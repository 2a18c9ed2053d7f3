"""Chains of agents that call each other: they end, and a deadline and a cancel of the first caller
reach the last agent.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field, replace

import pytest
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import serve_on_socket
from litestar import Litestar
from litestar.types import Message, Receive, Scope, Send

from a2a_contract.errors import CallChainError
from a2a_contract.lifecycle import State
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import Task, TaskArtifactUpdateEvent
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.origin import Origin, current_origin
from a2a_runtime.client import GRPC, A2AClient, ClientOptions, Pin, SendOptions
from a2a_runtime.client.options import HTTP_JSON, JSONRPC
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.local import connect
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 30.0
SKILLS = {
    name: SendOptions(metadata={"skillId": name})
    for name in ("relay", "stream", "inline", "ask", "wait", "relay_quickly", "detach", "origin")
}


@dataclass
class Chain:
    """Agents that call each other, each on a server of its own."""

    clients: ClientOptions
    urls: dict[str, str] = field(default_factory=dict)
    waiting: threading.Event = field(default_factory=threading.Event)
    canceled: threading.Event = field(default_factory=threading.Event)
    deadlines: list[float] = field(default_factory=list)

    def connect(self, name: str) -> A2AClient:
        """Connect to an agent."""
        return A2AClient(self.urls[name], options=self.clients)

    async def call(self, ctx: Context, skill: str = "relay") -> str:
        """Call the first agent of a list with the rest of it; the skill of the last one may be
        another.
        """
        first, _, rest = ctx.text.partition(",")
        if not first:
            return ctx.text
        name, _, last = first.partition("/")
        async with self.connect(name) as client:
            result = await client.send(rest or "-", options=SKILLS[last or skill])
        assert isinstance(result, Task)
        if result.status.state != State.COMPLETED:
            ctx.fail(
                str(
                    result.status.message.parts[0].text
                    if result.status.message
                    else result.status.state
                )
            )
        return "".join(
            part.text or "" for artifact in result.artifacts or () for part in artifact.parts
        )

    def build_agent(self, name: str) -> Agent:
        """Build an agent of the chain."""
        agent = Agent(name)

        async def relay(ctx: TaskContext) -> str:
            if ctx.text == "-":
                return "done"
            try:
                return await self.call(ctx)
            except CallChainError as error:
                ctx.fail(str(error))

        agent.add("relay", relay)
        agent.add("relay_quickly", relay, timeout=1.0)
        agent.add("stream", self.stream)
        agent.add("ask", self.ask)
        agent.add("wait", self.wait)
        agent.add("detach", self.detach)
        agent.add("origin", lambda ctx: ",".join(ctx.request.origin["agents"]))
        agent.add("inline", self.inline, answers="message")
        return agent

    async def inline(self, ctx: Context) -> str:
        """Call an agent without a task of one's own."""
        return await self.call(ctx)

    async def stream(self, ctx: TaskContext) -> AsyncIterator[str]:
        """Follow the last agent by a stream."""
        async with self.connect(ctx.text) as client:
            async for _ in client.stream("-", options=SKILLS["wait"]):
                yield "seen"

    async def detach(self, ctx: TaskContext) -> str:
        """Begin a task of the last agent and do not wait for it."""
        async with self.connect(ctx.text) as client:
            await client.send("-", wait=False, options=SKILLS["wait"])
        return "left"

    async def ask(self, ctx: TaskContext) -> str:
        """Ask, and then call the agents of the answer: in another run."""
        answer = await ctx.ask("whom?")
        try:
            async with self.connect(answer.text) as client:
                await client.send(answer.text, options=SKILLS["relay"])
        except CallChainError as error:
            return str(error)
        return "called"

    async def wait(self, ctx: TaskContext) -> None:
        """Wait for ever, and say when it is over."""
        self.deadlines.append(
            0.0 if ctx.deadline is None else ctx.deadline.timestamp() - time.time()
        )
        await ctx.status("at it")
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.canceled.set()


@pytest.fixture(scope="module", params=[JSONRPC, HTTP_JSON, GRPC], ids=lambda each: each.value)
def servers(request: pytest.FixtureRequest) -> Iterator[Chain]:
    """Three agents, a limit of four, and clients over one binding."""
    transport: TransportProtocol = request.param
    chain = Chain(ClientOptions(pin=Pin("1.0", transport)))
    with ExitStack() as stack:
        for name in "abc":
            app = create_app(
                chain.build_agent(name),
                settings=replace(FAST_SETTINGS, max_chain_depth=4),
                grpc=find_free_address() if transport is GRPC else None,
            )
            chain.urls[name] = str(stack.enter_context(serve_on_socket(app)).base_url)
        yield chain


@pytest.fixture
def chain(servers: Chain) -> Chain:
    """The agents, of which nothing has been seen yet."""
    servers.waiting.clear()
    servers.canceled.clear()
    servers.deadlines.clear()
    return servers


async def call(chain: Chain, path: str, skill: str = "relay") -> Task:
    """Call the first agent of a path with the rest of it."""
    first, _, rest = path.partition(",")
    async with chain.connect(first) as client:
        task = await client.send(rest or "-", options=SKILLS[skill])
    assert isinstance(task, Task)
    return task


def read_text(task: Task) -> str:
    """Read the texts of a task: of its results, or of its status."""
    results = [part.text or "" for artifact in task.artifacts or () for part in artifact.parts]
    return "".join(results) or "".join(
        part.text or "" for part in (task.status.message.parts if task.status.message else ())
    )


async def await_event(event: threading.Event) -> bool:
    """Wait for an event of another thread."""
    return await asyncio.to_thread(event.wait, WAIT_SECONDS)


async def test_a_cycle_is_refused_in_one_sentence(chain: Chain) -> None:
    """The sentence names the agents in their order; a chain without a cycle works."""
    assert read_text(await call(chain, "a,b,c")) == "done"
    task = await call(chain, "a,b,c,b")
    assert task.status.state == State.FAILED
    assert read_text(task) == (
        "Call chain: b is in it already (a > b > c > b); call another agent, or answer without one"
    )


async def test_a_cycle_is_found_after_a_question(chain: Chain) -> None:
    """The run that the answer begins knows its agent, without any header of a caller."""
    async with chain.connect("a") as client:
        task = await client.send("-", options=SKILLS["ask"])
        assert isinstance(task, Task)
        answered = await client.send("a", task=task)
    assert isinstance(answered, Task)
    assert "a is in it already (a > a)" in read_text(answered)


async def test_agents_see_the_chain(chain: Chain) -> None:
    """``ctx.request.origin`` has the agents so far, also where there is no task."""
    assert read_text(await call(chain, "a,b,c/origin")) == "a,b"
    async with chain.connect("a") as client:
        message = await client.send("b,c/origin", options=SKILLS["inline"])
    assert not isinstance(message, Task)
    assert message.parts[0].text == "a,b"


async def test_a_cancel_reaches_the_last_agent(chain: Chain) -> None:
    """The first task is canceled: the handler of the third agent is stopped, and its task is
    canceled.
    """
    async with chain.connect("a") as client:
        task = await client.send("b,c/wait", wait=False, options=SKILLS["relay"])
        assert isinstance(task, Task)
        assert await await_event(chain.waiting)
        assert (await client.cancel(task)).status.state == State.CANCELED
        assert await await_event(chain.canceled)
    async with chain.connect("c") as client:
        assert await find_end(client) == State.CANCELED


async def test_a_cancel_reaches_an_agent_that_is_read_as_a_stream(chain: Chain) -> None:
    """The handler that reads a stream is canceled, and the task that it began with it."""
    async with chain.connect("a") as client:
        task = await client.send("c", wait=False, options=SKILLS["stream"])
        assert isinstance(task, Task)
        async with aclosing(aiter(client.subscribe(task))) as events:
            async for event in events:
                if isinstance(event, TaskArtifactUpdateEvent) or (
                    isinstance(event, Task) and event.artifacts
                ):
                    break
        assert await await_event(chain.waiting)
        await client.cancel(task)
        assert await await_event(chain.canceled)
    async with chain.connect("c") as client:
        assert await find_end(client) == State.CANCELED


class HeldResponses:
    """An app whose responses begin only when they may."""

    def __init__(self, app: Litestar) -> None:
        self.app = app
        self.release = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def held(message: Message) -> None:
            if scope["type"] == "http" and scope["method"] == "POST":
                await asyncio.to_thread(self.release.wait, WAIT_SECONDS)
            await send(message)

        await self.app(scope, receive, held)


async def test_a_cancel_before_the_first_event_reaches_the_agent() -> None:
    """The task exists, but the handler that reads its stream has not heard of it when it is
    canceled.
    """
    chain = Chain(ClientOptions())
    held = HeldResponses(create_app(chain.build_agent("c"), settings=FAST_SETTINGS))
    with serve_on_socket(held) as served:
        chain.urls["c"] = str(served.base_url)

        async def read() -> None:
            current_origin.set(Origin())  # as in a run
            async with chain.connect("c") as client:
                async for _ in client.stream("-", options=SKILLS["wait"]):
                    pass

        reading = asyncio.create_task(read())
        assert await await_event(chain.waiting)
        reading.cancel()
        await asyncio.sleep(0)
        held.release.set()
        with suppress(asyncio.CancelledError):
            await reading
        assert reading.cancelled()
        assert await await_event(chain.canceled)


async def test_a_deadline_reaches_the_last_agent(chain: Chain) -> None:
    """The first skill has a second: the last handler knows it, and is stopped with it."""
    task = await call(chain, "a,b,c/wait", "relay_quickly")
    assert task.status.state == State.FAILED
    assert await await_event(chain.canceled)
    assert 0 < chain.deadlines[0] <= 1.0
    async with chain.connect("c") as client:
        assert await find_end(client) in {State.CANCELED, State.FAILED}


async def test_a_task_that_nobody_waits_for_goes_on(chain: Chain) -> None:
    """Its caller has ended; it has no deadline but its own, and is not canceled."""
    assert read_text(await call(chain, "a,c", "detach")) == "left"
    assert await await_event(chain.waiting)
    assert not chain.canceled.is_set()
    assert chain.deadlines[0] > 60 or chain.deadlines == [0.0]
    async with chain.connect("c") as client:
        newest = await anext(client.list())
        await client.cancel(newest)


async def find_end(client: A2AClient) -> str:
    """Wait for the end of the task of an agent that has changed last."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            newest = await anext(client.list())
            if newest.status.state in {State.CANCELED, State.FAILED, State.COMPLETED}:
                return str(newest.status.state)
            await asyncio.sleep(0.02)


def send_with(headers: dict[str, str]) -> tuple[int, dict[str, object]]:
    """Send a message with headers to an agent that works at once."""
    agent = Agent("target")
    agent.add("echo", lambda ctx: ctx.text)
    with serve_on_socket(create_app(agent, settings=FAST_SETTINGS)) as client:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
        response = client.post(
            "/message:send", json={"message": message}, headers={"a2a-version": "1.0", **headers}
        )
        return response.status_code, response.json()


def test_a_chain_has_a_limit() -> None:
    """By the depth or the names, whichever says more; the ninth agent is refused with the names."""
    names = ",".join(f"agent%20{number}" for number in range(8))
    assert send_with({"a2a-agents": ",".join(names.split(",")[:7]), "a2a-depth": "7"})[0] == 200
    assert send_with({"a2a-depth": "8"})[0] == 508
    status, body = send_with({"a2a-agents": names})
    assert (status, "9 agents call each other (agent 0 > agent 1" in str(body)) == (508, True)
    assert "CALL_CHAIN" in str(body)


@pytest.mark.parametrize(
    ("header", "value"),
    [("A2A-Depth", "-1"), ("A2A-Depth", "two"), ("A2A-Timeout", "soon"), ("A2A-Timeout", "nan")],
)
def test_headers_that_cannot_be_read_are_refused(header: str, value: str) -> None:
    """With the name of the header, and what to send instead."""
    status, body = send_with({header: value.encode().decode("latin-1")})
    assert status == 400
    assert f"'field': '{header}'" in str(body)


@pytest.mark.parametrize("seconds", ["1e306", "1e-320", "1000000000000"])
def test_any_time_above_zero_is_one(seconds: str) -> None:
    """Any time above zero is accepted, also one beyond all dates."""
    assert send_with({"A2A-Timeout": seconds})[0] == 200


async def test_agents_of_one_process_are_a_chain_too() -> None:
    """``local.connect`` carries the chain without headers, over single calls and streams."""
    first = Agent("first")
    second = Agent("second")
    app = None

    async def relay(ctx: TaskContext) -> str:
        assert app is not None
        client = connect(app, Caller("ada"), "/second" if ctx.text == "streamed" else "/first")
        try:
            if ctx.text == "streamed":
                return "".join([str(each) async for each in client.stream("back")][-1:])
            return read_text(await client.send("once more"))  # type: ignore[arg-type]
        except CallChainError as error:
            ctx.fail(str(error))

    first.add("relay", relay)
    second.add("relay", relay)
    app = create_app(
        Surface(first, path="/first"), Surface(second, path="/second"), settings=FAST_SETTINGS
    )
    async with app.lifespan():
        task = await connect(app, Caller("ada"), "/first").send("streamed")
        assert "first is in it already (first > second > first)" in str(task)


async def test_a_cycle_may_be_allowed() -> None:
    """For an agent that says so; then the number of agents ends it, with the names."""
    runs = list[str]()
    again = Agent("again", allow_cycles=True)
    app = None

    @again.skill("again")
    async def call_itself(ctx: TaskContext) -> str:
        assert app is not None
        runs.append(ctx.text)
        if ctx.text == "0":
            return "done"
        try:
            result = await connect(app, Caller("ada"), "/").send(str(int(ctx.text) - 1))
        except CallChainError as error:
            ctx.fail(str(error))
        assert isinstance(result, Task)
        return read_text(result)

    app = create_app(again, settings=replace(FAST_SETTINGS, max_chain_depth=4))
    async with app.lifespan():
        for text, outcome in (("3", "done"), ("9", "5 agents call each other")):
            task = await connect(app, Caller("ada"), "/").send(text)
            assert isinstance(task, Task)
            assert outcome in read_text(task)
    assert runs == ["3", "2", "1", "0", "9", "8", "7", "6"]


async def test_agents_with_urls_may_have_the_same_name() -> None:
    """The URL tells two agents of one name apart."""
    agents = [Agent("assistant", url=f"https://{host}.example") for host in ("one", "two")]
    for each in agents:
        each.add("echo", lambda ctx: ctx.text)
    names = [Surface(each).chain_name for each in agents]
    assert names == ["assistant (https://one.example)", "assistant (https://two.example)"]
