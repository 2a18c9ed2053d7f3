"""The client over gRPC: every operation, streams, errors, credentials and the choice of the
interface.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import grpc
import pytest
from integration.features.grpc.calls import run_app
from integration.features.grpc.test_calls import NameGate
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import BlockingHandler, build_test_agent, serve_on_socket

from a2a_contract.errors import (
    A2AError,
    InvalidAgentResponseError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from a2a_contract.v1_0 import Part, Task, TaskPushNotificationConfig, TaskState
from a2a_runtime.app import create_app
from a2a_runtime.client import (
    GRPC,
    A2AClient,
    A2AClientError,
    ClientOptions,
    ConnectError,
    Pin,
    ResponseLimits,
    ResponseTimeoutError,
    ResponseTooLargeError,
    RetryPolicy,
    SendOptions,
    UntrustedOriginError,
)
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(attempts=1)


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@pytest.fixture
async def address() -> AsyncGenerator[str, None]:
    """The address of an agent."""
    options = GrpcOptions(find_free_address())
    agent = build_test_agent(BlockingHandler())

    @agent.skill("far", output_modes=("application/json",))
    async def far(_ctx: TaskContext) -> dict[str, int]:
        return {"number": 2**53 + 1}

    @agent.skill("long")
    async def long(_ctx: TaskContext) -> str:
        return "x" * 100_000

    async with run_app(create_app(Surface(agent, grpc=options), settings=FAST_SETTINGS)):
        yield options.address


@pytest.mark.parametrize("dialect", ["v1_0", "v0_3_proto"])
async def test_every_operation(address: str, dialect: str) -> None:
    """Every operation of both versions has the same results as over HTTP."""
    options = ClientOptions(
        interface_url=f"grpc://{address}", pin=Pin(dialect, GRPC), retry_policy=ONCE
    )
    async with A2AClient(f"grpc://{address}", options=options, timeout=10) as client:
        await use_every_operation(client, has_lists=dialect == "v1_0")


async def use_every_operation(client: A2AClient, *, has_lists: bool) -> None:
    """Use every operation."""
    task = await client.send("hello")
    assert isinstance(task, Task)
    assert task.status.state == TaskState.COMPLETED
    assert (await client.get(task)).id == task.id
    assert isinstance(await anext(aiter(client.stream("x"))), Task)
    config = TaskPushNotificationConfig(url="https://hooks.example.org/a2a", id="p-1")
    open_task = await client.send("x", wait=False)
    assert isinstance(open_task, Task)
    with pytest.raises(TaskNotFoundError):
        await client.get("unknown")
    with pytest.raises((TaskNotCancelableError, UnsupportedOperationError)):
        await client.cancel(task)
    made = await client.push_configs.create(task, config)
    assert (await client.push_configs.get(task, made.id or "")).url == config.url
    assert [each.id async for each in client.push_configs.list(task)] == ["p-1"]
    await client.push_configs.delete(task, "p-1")
    if has_lists:
        assert task.id in [each.id async for each in client.list()]


async def send_to(client: A2AClient, skill: str, text: str = "x", **options: object) -> Task:
    """Send a text to a skill."""
    task = await client.send(text, options=SendOptions(metadata={"skillId": skill}), **options)  # type: ignore[arg-type]  # passed on
    assert isinstance(task, Task)
    return task


async def test_streams_and_their_cursors(address: str) -> None:
    """Each event once and in order; a stream that is left resumes after its cursor."""
    options = ClientOptions(interface_url=f"grpc://{address}")
    async with A2AClient(f"grpc://{address}", options=options) as client:
        task = await send_to(client, "tick", "6", wait=False)
        stream = client.subscribe(task)
        seen = list[str]()
        async for event in stream:
            seen.append(type(event).__name__)
            if len(seen) == 3:
                break
        assert stream.cursor is not None
        async for event in stream:
            seen.append(type(event).__name__)
        assert seen.count("Task") == 1
        assert seen.count("TaskArtifactUpdateEvent") <= 6
        assert stream.state == TaskState.COMPLETED


async def test_leaving_a_stream_ends_its_call(address: str) -> None:
    """The next call is served, and the task goes on."""
    async with A2AClient(
        f"grpc://{address}", options=ClientOptions(interface_url=f"grpc://{address}")
    ) as client:
        task = await send_to(client, "wait", wait=False)
        async for _ in client.subscribe(task):
            break
        assert (await client.get(task)).status.state in {TaskState.WORKING, TaskState.SUBMITTED}
        assert (await client.cancel(task)).status.state == TaskState.CANCELED


async def test_what_messages_cannot_carry_is_refused_on_both_sides(address: str) -> None:
    """With its place: before it is sent, and by the agent for a result."""
    async with A2AClient(
        f"grpc://{address}",
        options=ClientOptions(interface_url=f"grpc://{address}", retry_policy=ONCE),
    ) as client:
        with pytest.raises(
            InvalidParamsError, match=r"message\.parts\[0\]\.data\.a: is an integer beyond 2\^53"
        ):
            await client.send({"a": 2**53 + 1})
        with pytest.raises(InvalidAgentResponseError) as caught:
            await send_to(client, "far")
        assert caught.value.fields[0][0].endswith("data.number")


async def test_files_and_null_survive(address: str) -> None:
    """Bytes, the empty text, and null in data."""
    parts = [
        Part(raw=bytes(range(256)), filename="f.bin"),
        Part(text=""),
        Part(data={"a": [None, 2**53, 1.5]}),
    ]
    async with A2AClient(
        f"grpc://{address}", options=ClientOptions(interface_url=f"grpc://{address}")
    ) as client:
        task = await client.send(parts)
        assert isinstance(task, Task)
        back = (task.history or [])[0].parts
        assert [(each.raw, each.text, each.data) for each in back] == [
            (each.raw, each.text, each.data) for each in parts
        ]


async def test_limits_and_timeouts(address: str) -> None:
    """A result beyond the limit, and one that does not come in time."""
    options = ClientOptions(
        interface_url=f"grpc://{address}",
        limits=ResponseLimits(response_bytes=50_000, event_bytes=50_000),
        retry_policy=ONCE,
    )
    async with A2AClient(f"grpc://{address}", options=options, timeout=0.5) as client:
        with pytest.raises(ResponseTooLargeError):
            await send_to(client, "long")
        with pytest.raises(ResponseTimeoutError):
            await send_to(client, "wait")


async def test_an_agent_that_is_not_there_is_a_connect_error() -> None:
    """An error that is retried, and after which a client tries another interface."""
    address = find_free_address()
    async with A2AClient(
        f"grpc://{address}",
        options=ClientOptions(interface_url=f"grpc://{address}", retry_policy=ONCE),
        timeout=5,
    ) as client:
        with pytest.raises(ConnectError, match="failed to connect"):
            await client.get("x")


@pytest.mark.parametrize(
    "proxies",
    [{}, {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}],
    ids=["none", "some"],
)
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
async def test_no_proxy_for_the_host(
    address: str, monkeypatch: pytest.MonkeyPatch, name: str, proxies: dict[str, str]
) -> None:
    """A host that needs no proxy is called over gRPC, as any other."""
    for variable, value in {**proxies, name: "localhost,127.0.0.1"}.items():
        monkeypatch.setenv(variable, value)
    async with A2AClient(f"grpc://{address}", options=ClientOptions(retry_policy=ONCE)) as client:
        assert isinstance(await client.send("x"), Task)
        assert [each async for each in client.stream("x")]


@pytest.mark.parametrize(
    ("operation", "error"),
    [("CancelTask", TaskNotCancelableError), ("GetTask", UnsupportedOperationError)],
    ids=["cancel", "get"],
)
async def test_a_failed_precondition_without_details(operation: str, error: type[A2AError]) -> None:
    """Agents of others send a bare status: it is about the state of the task, and not about chains
    of calls.
    """
    handler = grpc.unary_unary_rpc_method_handler(_refuse_by_state)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("lf.a2a.v1.A2AService", {operation: handler})]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with A2AClient(
            f"grpc://127.0.0.1:{port}", options=ClientOptions(retry_policy=ONCE)
        ) as client:
            with pytest.raises(A2AError) as caught:
                await (client.cancel("x") if operation == "CancelTask" else client.get("x"))
    finally:
        await server.stop(None)
    assert type(caught.value) is error


async def _refuse_by_state(
    _request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]
) -> bytes:
    await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "The task has ended")


async def test_credentials_are_metadata() -> None:
    """Any ``httpx.Auth`` sends metadata; without credentials the error has the challenge."""
    options = GrpcOptions(find_free_address())
    async with run_app(
        create_app(
            Surface(build_test_agent(), gate=NameGate(), grpc=options), settings=FAST_SETTINGS
        )
    ):
        url = f"grpc://{options.address}"
        async with A2AClient(url, auth="ada", options=ClientOptions(interface_url=url)) as known:
            assert isinstance(await known.send("x"), Task)
        async with A2AClient(url, options=ClientOptions(interface_url=url)) as anonymous:
            with pytest.raises(UnauthenticatedError):
                await anonymous.send("x")
            with pytest.raises(UnauthenticatedError):
                [each async for each in anonymous.stream("x")]


async def test_the_card_leads_to_the_port() -> None:
    """A client that is pinned to gRPC calls it; by default the order of the card counts.

    Credentials go to a trusted origin only.
    """
    options = GrpcOptions(find_free_address())
    app = create_app(Surface(build_test_agent(), grpc=options), settings=FAST_SETTINGS)
    with serve_on_socket(app) as served:
        url = str(served.base_url)
        for dialect in (None, "v0_3_proto"):
            async with A2AClient(url, options=ClientOptions(pin=Pin(dialect, GRPC))) as client:
                assert isinstance(await client.send("x"), Task)
                protocol = await vars(client)["_connection"].resolve_protocol()
                assert protocol.interface.url == f"grpc://{options.address}"
        async with A2AClient(url) as client:
            assert (await vars(client)["_connection"].resolve_protocol()).interface.url == url
        async with A2AClient(url, auth="ada", options=ClientOptions(pin=Pin(None, GRPC))) as client:
            with pytest.raises(UntrustedOriginError, match=f"grpc://{options.address}"):
                await client.send("x")
        trusted = ClientOptions(pin=Pin(None, GRPC), trusted_origins=(f"grpc://{options.address}",))
        async with A2AClient(url, auth="ada", options=trusted) as client:
            assert isinstance(await client.send("x"), Task)


async def test_streams_have_cursors(address: str) -> None:
    """The number of the last event, which a later subscription continues after."""
    async with A2AClient(f"grpc://{address}") as client:
        stream = client.stream("x")
        events = [event async for event in stream]
        assert stream.cursor == str(len(events))
        rest = [event async for event in client.subscribe(stream.task_id or "", cursor="1")]
        assert rest == events[1:]


async def test_a_message_beyond_the_limit_of_the_agent_is_a_refusal_that_is_not_repeated() -> None:
    """GRPC refuses it in its own words, which are in the error."""
    options = GrpcOptions(find_free_address())
    surface = Surface(build_test_agent(), grpc=options, limits=Limits(body_bytes=10_000))
    async with (
        run_app(create_app(surface, settings=FAST_SETTINGS)),
        A2AClient(f"grpc://{options.address}", timeout=20) as client,
    ):
        with pytest.raises((A2AClientError, A2AError), match="larger than max"):
            await client.send("x" * 20_000)
        assert isinstance(await client.send("x"), Task)
