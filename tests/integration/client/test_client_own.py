"""Our client and our server, in every dialect over every binding, in process, on sockets, and over
a network that breaks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from integration.client.proxy import CuttingProxy
from integration.outcome_agent import (
    EXTENSION,
    LINE_ENDS,
    BlockingHandler,
    build_test_agent,
    build_test_app,
    serve_on_socket,
)

from a2a_contract.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from a2a_contract.extension_table import IDEMPOTENCY, SKILL_SELECTION
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_runtime.agent import Capabilities
from a2a_runtime.auth.gate import PresenceGate
from a2a_runtime.client import (
    HTTP_JSON,
    JSONRPC,
    A2AClient,
    ClientOptions,
    ConnectionLostError,
    Pin,
    RetryPolicy,
    SendOptions,
    TaskEvent,
)
from a2a_runtime.surface import Limits, Surface

pytestmark = pytest.mark.anyio

PINS = {
    "none": Pin(),
    "1.0 JSON-RPC": Pin("v1_0", JSONRPC),
    "1.0 HTTP+JSON": Pin("v1_0", HTTP_JSON),
    "0.3 JSON-RPC": Pin("v0_3", JSONRPC),
    "0.3 HTTP+JSON": Pin("v0_3", HTTP_JSON),
    "0.3 HTTP+JSON in ProtoJSON": Pin("v0_3_proto", HTTP_JSON),
}
WAITING = BlockingHandler()


def skill(name: str) -> SendOptions:
    """Ask for a skill."""
    return SendOptions(skill=name)


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    """Our own agent on a socket."""
    with serve_on_socket(
        build_test_app(Surface(build_test_agent(WAITING), limits=Limits(keep_alive_interval=0.2)))
    ) as client:
        yield str(client.base_url)


@pytest.fixture(params=PINS.values(), ids=PINS.keys())
async def client(request: pytest.FixtureRequest, agent: str) -> AsyncIterator[A2AClient]:
    """A client for every way to talk."""
    async with A2AClient(agent, timeout=20, options=ClientOptions(pin=request.param)) as client:
        yield client


@pytest.fixture
async def proxy(agent: str) -> AsyncIterator[CuttingProxy]:
    """A network that breaks."""
    async with CuttingProxy(int(agent.rstrip("/").rpartition(":")[2])).listen() as proxy:
        yield proxy


def a_task(answer: Task | Message) -> Task:
    """Take an answer for the task that it is."""
    assert isinstance(answer, Task)
    return answer


def texts(events: list[TaskEvent]) -> list[str]:
    """List the texts of the chunks."""
    return [
        part.text or ""
        for event in events
        if isinstance(event, TaskArtifactUpdateEvent)
        for part in event.artifact.parts
    ]


async def test_sending(client: A2AClient) -> None:
    """A task or a message comes back, whichever the skill gives."""
    task = a_task(await client.send("hello"))
    assert task.status.state == TaskState.COMPLETED
    assert (task.artifacts or [])[0].parts[0].text == "hello"
    answer = await client.send("you", options=skill("greet"))
    assert isinstance(answer, Message)
    assert answer.parts[0].text == "Hello, you!"


async def test_streaming(client: A2AClient) -> None:
    """Every chunk in its order, ended by the terminal event, with nothing lost at strange line
    ends.
    """
    stream = client.stream("30", options=skill("count"))
    assert texts([event async for event in stream]) == [str(number) for number in range(30)]
    assert (stream.state, stream.is_over) == (TaskState.COMPLETED, True)
    assert texts([event async for event in client.stream("go", options=skill("lines"))]) == [
        LINE_ENDS
    ]


async def test_a_conversation(client: A2AClient) -> None:
    """A task that asks is answered by naming it."""
    suspended = a_task(await client.send("go", options=skill("ask")))
    assert suspended.status.state == TaskState.INPUT_REQUIRED
    done = a_task(await client.send("this", task=suspended))
    assert (done.id, done.status.state) == (suspended.id, TaskState.COMPLETED)
    assert (done.artifacts or [])[0].parts[0].text == "You said this"


async def test_a_task_from_start_to_stop(client: A2AClient) -> None:
    """A client starts, reads, follows and cancels a task."""
    task = a_task(await client.send("long", wait=False, options=skill("wait")))
    assert (await client.get(task)).id == task.id
    async with client.subscribe(task) as stream:
        async for _ in stream:
            if stream.state == TaskState.WORKING:
                await client.cancel(task)
    assert stream.state == TaskState.CANCELED
    with pytest.raises(UnsupportedOperationError):
        _ = [event async for event in client.subscribe(task)]


async def test_listing(client: A2AClient) -> None:
    """A client lists tasks by filters, page after page."""
    first = a_task(await client.send("0"))
    rest = [
        a_task(await client.send(str(number), context_id=first.context_id))
        for number in range(1, 5)
    ]
    listed = [
        task
        async for task in client.list(
            context_id=first.context_id, state=State.COMPLETED, page_size=2, include_artifacts=True
        )
    ]
    assert [task.id for task in listed] == [task.id for task in reversed([first, *rest])]
    assert all(task.artifacts for task in listed)


async def test_webhooks(client: A2AClient) -> None:
    """A client adds, reads, lists and deletes webhooks."""
    task = a_task(await client.send("go", options=skill("ask")))
    made = await client.push_configs.create(
        task, TaskPushNotificationConfig(id="hook", url="https://8.8.8.8/a")
    )
    assert (await client.push_configs.get(task, made.id or "")).url == made.url
    assert [each.id async for each in client.push_configs.list(task)] == ["hook"]
    await client.push_configs.delete(task, "hook")
    assert [each.id async for each in client.push_configs.list(task)] == []


async def test_errors(client: A2AClient) -> None:
    """Each is the contract's; what no agent would take is not even sent."""
    with pytest.raises(TaskNotFoundError):
        await client.get("nobody")
    with pytest.raises(TaskNotFoundError):
        await client.send("a", task="nobody")
    with pytest.raises(InvalidParamsError) as refused:
        await client.send([])
    assert [place for place, _ in refused.value.fields] == ["message.parts"]
    with pytest.raises(A2AError):
        await client.send("a", options=skill("nothing"))


async def test_a_repeated_key_is_one_task(client: A2AClient) -> None:
    """So a client may send the message again."""
    options = SendOptions(idempotency_key="again", metadata={"skillId": "echo"})
    message = Message.model_validate(
        {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "once"}]}
    )
    tasks = [a_task(await client.send(message, options=options)).id for _ in range(2)]
    assert tasks[0] == tasks[1]


async def test_extensions_are_requested(agent: str) -> None:
    """The client names its extensions in every request."""
    async with A2AClient(agent, options=ClientOptions(extensions=(EXTENSION,))) as client:
        assert a_task(await client.send("a")).status.state == TaskState.COMPLETED


async def test_mesh_is_spoken_where_it_is_pinned() -> None:
    """The early form has a card of its own, which says nothing of versions."""
    app = build_test_app(
        Surface(build_test_agent(), "/mesh", dialects=frozenset({"mesh"}), only=frozenset({"echo"}))
    )
    options = ClientOptions(pin=Pin("mesh"))
    async with (
        app.lifespan(),
        A2AClient(
            "http://agent/mesh", transport=httpx.ASGITransport(app), options=options
        ) as client,
    ):
        assert a_task(await client.send("a")).status.state == TaskState.COMPLETED
        assert texts([event async for event in client.stream("b")]) == ["b"]


async def test_an_agent_that_does_not_stream() -> None:
    """Its one answer is the one event."""
    app = build_test_app(Surface(build_test_agent(capabilities=Capabilities(streaming=False))))
    async with (
        app.lifespan(),
        A2AClient("http://agent", transport=httpx.ASGITransport(app)) as client,
    ):
        [event] = [event async for event in client.stream("a")]
    assert isinstance(event, Task)
    assert event.status.state == TaskState.COMPLETED


async def test_in_process_with_a_token() -> None:
    """An app in the same process is talked to without a socket; a token is shown with every
    request.
    """
    app = build_test_app(Surface(build_test_agent(), gate=PresenceGate()))
    async with app.lifespan():
        async with A2AClient(
            "http://agent", auth="secret", transport=httpx.ASGITransport(app)
        ) as client:
            assert a_task(await client.send("a")).status.state == TaskState.COMPLETED
            assert texts([event async for event in client.stream("3", options=skill("count"))]) == [
                "0",
                "1",
                "2",
            ]
            with pytest.raises(ExtendedAgentCardNotConfiguredError):
                await client.get_extended_card()
        async with A2AClient("http://agent", transport=httpx.ASGITransport(app)) as client:
            assert (await client.get_card()).name == "busy"
            with pytest.raises(UnauthenticatedError):
                await client.send("a")


@pytest.mark.parametrize("pin", PINS.values(), ids=PINS.keys())
async def test_a_stream_over_a_breaking_network(proxy: CuttingProxy, pin: Pin) -> None:
    """Wherever connections are cut, in the middle of a frame too, no chunk is lost and none comes
    twice.
    """
    proxy.cuts = [1500, 700, 431, 1333, 900]
    async with A2AClient(
        proxy.url,
        options=ClientOptions(pin=pin, retry_policy=RetryPolicy(attempts=10, initial_delay=0.01)),
    ) as client:
        events = [event async for event in client.stream("25", options=skill("tick"))]
    assert texts(events) == [str(number) for number in range(25)]
    assert proxy.cuts == []


class Cutting(httpx.ASGITransport):
    """Passes every request on, and loses the first answer to one that is posted."""

    suspended = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the agent."""
        response = await super().handle_async_request(request)
        self.suspended += request.method == "POST"
        if request.method == "POST" and self.suspended == 1:
            raise httpx.RemoteProtocolError("cut off")
        return response


class WithoutExtensions(httpx.ASGITransport):
    """Passes every request on, and takes the extensions off the card."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the agent."""
        response = await super().handle_async_request(request)
        if request.method != "GET":
            return response
        await response.aread()
        card = response.json()
        card["capabilities"]["extensions"] = []
        return httpx.Response(200, json=card)


@pytest.mark.parametrize("streams", [False, True], ids=["call", "stream"])
async def test_a_message_whose_answer_is_lost_is_taken_once(
    streams: bool,  # noqa: FBT001 - a table
) -> None:
    """If the card promises idempotency, the message is sent again under its key, and finds the task
    of the first attempt.
    """
    app = build_test_app(Surface(build_test_agent(), only=frozenset({"echo"})))
    cutting = Cutting(app)
    async with (
        app.lifespan(),
        A2AClient(
            "http://agent",
            transport=cutting,
            options=ClientOptions(retry_policy=RetryPolicy(initial_delay=0.01)),
        ) as client,
    ):
        assert await client.find_extension(IDEMPOTENCY)
        _ = [event async for event in client.stream("pay")] if streams else await client.send("pay")
        assert cutting.suspended == 2
        assert len([task async for task in client.list()]) == 1


@pytest.mark.parametrize("streams", [False, True], ids=["call", "stream"])
async def test_a_message_is_not_sent_again_where_nobody_promises_to_take_it_once(
    streams: bool,  # noqa: FBT001 - a table
) -> None:
    """An agent with answers that are no tasks, which are kept nowhere, promises nothing."""
    app = build_test_app(Surface(build_test_agent()))
    cutting = Cutting(app)
    async with (
        app.lifespan(),
        A2AClient(
            "http://agent",
            transport=cutting,
            options=ClientOptions(retry_policy=RetryPolicy(initial_delay=0.01)),
        ) as client,
    ):
        assert await client.find_extension(IDEMPOTENCY) is None
        with pytest.raises(ConnectionLostError):
            _ = (
                [event async for event in client.stream("pay")]
                if streams
                else await client.send("pay")
            )
        assert cutting.suspended == 1
        assert len([task async for task in client.list()]) == 1


async def test_a_skill_is_chosen_where_the_card_says_how(caplog: pytest.LogCaptureFixture) -> None:
    """Elsewhere the client warns once: any skill may answer."""
    app = build_test_app(Surface(build_test_agent(), only=frozenset({"echo", "count"})))
    async with (
        app.lifespan(),
        A2AClient("http://agent", transport=httpx.ASGITransport(app)) as client,
    ):
        assert await client.find_extension(SKILL_SELECTION)
        answer = await client.send("2", options=SendOptions(skill="count", metadata={"more": 1}))
        assert isinstance(answer, Task)
        assert len((answer.artifacts or [])[0].parts) == 2
        assert SKILL_SELECTION.uri not in caplog.text
    async with (
        app.lifespan(),
        A2AClient("http://agent", transport=WithoutExtensions(app)) as client,
    ):
        for _ in range(2):
            await client.send("2", options=skill("echo"))
    assert [
        record.getMessage()
        for record in caplog.records
        if SKILL_SELECTION.uri in record.getMessage()
    ] == [
        (
            f"busy: its card does not declare {SKILL_SELECTION.uri}; it may ignore skillId and "
            "use any skill"
        )
    ]


async def test_a_stream_that_is_left_frees_its_connection(proxy: CuttingProxy) -> None:
    """By leaving the block, by dropping the loop, and by closing the client."""
    client = A2AClient(proxy.url)
    async with client.stream("wait", options=skill("wait")) as stream:
        async for _ in stream:
            break
    await until(
        lambda: proxy.open <= 1
    )  # the one that fetched the card is kept for the next request
    async for _ in client.stream("wait", options=skill("wait")):
        break
    await until(lambda: proxy.open <= 1)
    reading = asyncio.create_task(anext(aiter(client.stream("wait", options=skill("wait")))))
    await reading
    await client.aclose()
    await until(lambda: proxy.open == 0)


async def until(holds: object) -> None:
    """Wait until something holds."""
    assert callable(holds)
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - the proxy has no event
            await asyncio.sleep(0.02)
