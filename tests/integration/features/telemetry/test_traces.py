"""Traces: a chain of agents and a webhook are one trace, also over a question and another process;
nothing without a provider.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import serve_on_socket
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Part, Task, TaskPushNotificationConfig
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.origin import TRACE_MEMBER
from a2a_runtime.client import GRPC, A2AClient, ClientOptions, Pin, SendOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.workers.worker import run_worker
from a2a_runtime.local import connect
from a2a_runtime.process import AgentRuntime
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.webhook_receiver import WebhookReceiver

pytestmark = pytest.mark.anyio

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE_ID = int(TRACE[3:35], 16)
SETTINGS = replace(
    FAST_SETTINGS, traces="on", outbound_allow_loopback=True, push_poll_interval=0.05
)
EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def provider() -> Iterator[None]:
    """A provider of this module: OpenTelemetry lets a process choose one once, and other tests
    expect none.
    """
    chosen = TracerProvider()
    chosen.add_span_processor(SimpleSpanProcessor(EXPORTER))
    before = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = chosen
    yield
    trace._TRACER_PROVIDER = before
    chosen.shutdown()


@pytest.fixture
def spans() -> Callable[[], list[ReadableSpan]]:
    """The spans that have ended since the test began."""
    EXPORTER.clear()
    return lambda: list(EXPORTER.get_finished_spans())


def build_agents(urls: dict[str, str]) -> tuple[Agent, Agent]:
    """Build an agent that calls another."""
    first, second = (
        Agent(name, capabilities=Capabilities(push_notifications=True))
        for name in ("first", "second")
    )

    async def relay(ctx: TaskContext) -> str:
        async with A2AClient(urls["second"]) as client:
            await client.send(ctx.text)
        return "relayed"

    async def work(ctx: TaskContext) -> str:
        ctx.usage(input_tokens=3, output_tokens=2)
        if ctx.text == "ask":
            return (await ctx.ask("which?")).text
        if ctx.text == "fail":
            raise ValueError(ctx.text)
        return "worked"

    async def relay_stream(ctx: TaskContext) -> str:
        seen = {trace.get_current_span().get_span_context().span_id}
        async with A2AClient(urls["second"]) as client:
            async for _ in client.stream(ctx.text):
                seen.add(trace.get_current_span().get_span_context().span_id)
        return f"{len(seen)} current span"

    async def fetch(ctx: TaskContext) -> str:
        await ctx.fetch(Part(url=ctx.text))
        return "fetched"

    for handler in (relay, relay_stream, fetch):
        first.add(handler.__name__, handler)
    second.add("work", work)
    return first, second


@pytest.fixture
def urls() -> Iterator[dict[str, str]]:
    """The URLs of two agents on servers of their own."""
    found: dict[str, str] = {}
    first, second = build_agents(found)
    with (
        serve_on_socket(create_app(first, settings=SETTINGS)) as one,
        serve_on_socket(create_app(second, settings=SETTINGS)) as two,
    ):
        found.update(first=str(one.base_url), second=str(two.base_url))
        yield found


async def wait_for(spans: Callable[[], list[ReadableSpan]], *names: str) -> dict[str, ReadableSpan]:
    """Wait until spans with these names have ended."""
    async with asyncio.timeout(30):
        while True:
            found = {each.name: each for each in spans()}
            if found.keys() >= set(names):
                return found
            await asyncio.sleep(0.01)


def parent_id(span: ReadableSpan) -> int:
    """Name the parent of a span."""
    assert span.parent is not None
    return span.parent.span_id


def find_child(spans: Sequence[ReadableSpan], parent: ReadableSpan) -> ReadableSpan:
    """Find the one span below another."""
    (found,) = [
        each for each in spans if each.parent is not None and each.parent.span_id == span_id(parent)
    ]
    return found


def span_id(span: ReadableSpan) -> int:
    """Name a span."""
    assert span.context is not None
    return span.context.span_id


def expect_client_call(span: ReadableSpan, url: str) -> None:
    """See that a span is the call of an agent, with its address and dialect."""
    attributes = dict(span.attributes or {})
    assert f"http://{attributes.pop('server.address')}:{attributes.pop('server.port')}" == url
    assert attributes == {
        "rpc.system.name": "jsonrpc",
        "rpc.method": "SendMessage",
        "a2a.dialect": "1.0",
    }


async def test_two_agents_and_a_webhook_are_one_trace(
    urls: dict[str, str], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """The request of the client, the run, the request of the second agent, its run, the calls of
    the stores and the delivery.
    """
    async with WebhookReceiver() as receiver:
        options = SendOptions(
            skill="relay", push_config=TaskPushNotificationConfig(url=receiver.url)
        )
        async with A2AClient(urls["first"]) as client:
            with trace.use_span(trace.NonRecordingSpan(remote_context())):
                task = await client.send("x", options=options)
        assert isinstance(task, Task)
        found = await wait_for(
            spans, "invoke_agent first", "invoke_agent second", "push delivery", "store create_task"
        )
        received = receiver.requests[-1]
    of_trace = [
        each for each in spans() if each.context is not None and each.context.trace_id == TRACE_ID
    ]
    requests = [each for each in of_trace if each.name == "SendMessage"]
    sent = next(each for each in requests if parent_id(each) == int(TRACE[36:52], 16))
    outer, passed_on = (find_child(requests, each) for each in (sent, found["invoke_agent first"]))
    inner = find_child(requests, passed_on)
    expect_client_call(passed_on, urls["second"])
    assert [each.kind for each in (sent, outer, passed_on, inner)] == [
        SpanKind.CLIENT,
        SpanKind.SERVER,
    ] * 2
    assert len(requests) == 4
    assert parent_id(found["invoke_agent first"]) == span_id(outer)
    assert parent_id(found["invoke_agent second"]) == span_id(inner)
    delivery = found["push delivery"]
    assert parent_id(delivery) == span_id(outer)
    assert received.headers["traceparent"].split("-")[1] == TRACE[3:35]
    assert (task.metadata or {})[TRACE_MEMBER] == f"00-{TRACE[3:35]}-{span_id(outer):016x}-01"
    run = dict(found["invoke_agent second"].attributes or {})
    assert {
        name: run[name]
        for name in (
            "gen_ai.operation.name",
            "gen_ai.agent.name",
            "gen_ai.usage.input_tokens",
            "a2a.run.end",
        )
    } == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "second",
        "gen_ai.usage.input_tokens": 3,
        "a2a.run.end": "completed",
    }
    assert "x" not in {
        str(value) for each in of_trace for value in (each.attributes or {}).values()
    }


def remote_context() -> trace.SpanContext:
    """Build the context of the client's own span."""
    return trace.SpanContext(
        TRACE_ID, int(TRACE[36:52], 16), is_remote=False, trace_flags=trace.TraceFlags(1)
    )


def send(url: str, text: str, **members: object) -> dict[str, Any]:
    """Send a message without a client that makes traces."""
    message = {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}], **members}
    headers = (
        {"a2a-version": "1.0", "traceparent": TRACE} if not members else {"a2a-version": "1.0"}
    )
    response = httpx.post(
        f"{url}/message:send", json={"message": message}, headers=headers, trust_env=False
    )
    found: dict[str, Any] = response.json()
    return found


async def test_failures_are_errors_of_their_span(
    urls: dict[str, str], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """A run that fails, by the class of its end; a client that asks for too much is no error of the
    server.
    """
    await asyncio.to_thread(send, urls["second"], "fail")
    found = await wait_for(spans, "invoke_agent second")
    assert found["invoke_agent second"].status.status_code is StatusCode.ERROR
    EXPORTER.clear()
    await asyncio.to_thread(
        httpx.get, f"{urls['second']}/tasks/unknown", headers={"a2a-version": "1.0"}
    )
    found = await wait_for(spans, "GetTask")
    assert found["GetTask"].status.status_code is StatusCode.UNSET
    assert (found["GetTask"].attributes or {})["error.type"] == "TaskNotFoundError"


async def test_what_is_not_sampled_has_no_spans(
    urls: dict[str, str], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """Neither of runs, nor of the next agent, nor of webhooks; its task does not name the trace."""
    async with WebhookReceiver() as receiver:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
        configuration = {"taskPushNotificationConfig": {"url": receiver.url}}
        sent = {
            "message": message,
            "configuration": configuration,
            "metadata": {"skillId": "relay"},
        }
        headers = {"a2a-version": "1.0", "traceparent": f"{TRACE[:-2]}00"}
        async with httpx.AsyncClient(trust_env=False, headers=headers) as client:
            response = await client.post(f"{urls['first']}/message:send", json=sent)
            (task,) = (await client.get(f"{urls['second']}/tasks")).json()["tasks"]
        assert TRACE_MEMBER not in task.get("metadata", {})
        assert response.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        assert TRACE_MEMBER not in response.json()["task"].get("metadata", {})
        async with asyncio.timeout(30):
            while not receiver.requests or "COMPLETED" not in str(receiver.requests[-1].json()):  # noqa: ASYNC110 - a webhook has no event
                await asyncio.sleep(0.01)
    assert [each.name for each in spans() if not each.name.startswith("store ")] == []


async def test_a_run_without_a_trace_begins_none(
    tmp_path: Any,  # noqa: ANN401 - a Path
    spans: Callable[[], list[ReadableSpan]],
) -> None:
    """A task from before traces were on is taken over: its run would be a trace without its
    request.
    """
    agent = Agent("durable")
    begun = asyncio.Event()

    async def hold(ctx: TaskContext) -> str:
        begun.set()
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        return "done"

    agent.add("hold", hold)
    store = f"sqlite:///{tmp_path / 'tasks.db'}"
    for traces in ("off", "on"):
        app = create_app(agent, store=store, settings=replace(SETTINGS, traces=traces))
        async with app.lifespan():
            client = connect(app, Caller("ada"))
            if traces == "off":
                await client.send("x", wait=False)
                await begun.wait()
            else:
                async with asyncio.timeout(30):
                    while (await anext(client.list())).status.state != State.COMPLETED:  # noqa: ASYNC110 - of another run
                        await asyncio.sleep(0.01)
    assert [each.name for each in spans() if each.name.startswith("invoke_agent")] == []


async def test_the_parent_of_a_run_is_stored(
    tmp_path: Any,  # noqa: ANN401 - a Path
    spans: Callable[[], list[ReadableSpan]],
) -> None:
    """A task that is taken over by another process goes on in its trace."""
    agent = Agent("durable")
    begun = asyncio.Event()

    async def hold(ctx: TaskContext) -> str:
        if ctx.attempt == 1:
            begun.set()
            await asyncio.Event().wait()
        return "done"

    agent.add("hold", hold)
    store = f"sqlite:///{tmp_path / 'tasks.db'}"
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    sent = {"message": message, "configuration": {"returnImmediately": True}}
    async with AsyncExitStack() as stack:
        app = create_app(agent, store=store, settings=SETTINGS)
        await stack.enter_async_context(app.lifespan())
        client = await stack.enter_async_context(
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")
        )
        response = await client.post(
            "/message:send", json=sent, headers={"a2a-version": "1.0", "traceparent": TRACE}
        )
        assert response.status_code == 200
        await begun.wait()
    EXPORTER.clear()
    app = create_app(agent, store=store, settings=SETTINGS)
    async with app.lifespan():
        found = await wait_for(spans, "invoke_agent durable")
    run = found["invoke_agent durable"]
    assert run.context is not None
    assert run.context.trace_id == TRACE_ID
    assert (run.attributes or {})["a2a.run.attempt"] == 2


async def test_a_stream_has_one_span_of_its_client(
    urls: dict[str, str], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """Until its last event; between two events the run is the current span."""
    async with A2AClient(urls["first"]) as client:
        task = await client.send("x", options=SendOptions(skill="relay_stream"))
    assert isinstance(task, Task)
    assert task.artifacts is not None
    assert task.artifacts[0].parts[0].text == "1 current span"
    found = await wait_for(
        spans, "invoke_agent first", "invoke_agent second", "SendStreamingMessage"
    )
    requests = [each for each in spans() if each.name == "SendStreamingMessage"]
    of_client = find_child(requests, found["invoke_agent first"])
    of_server = find_child(requests, of_client)
    assert (of_client.kind, of_server.kind) == (SpanKind.CLIENT, SpanKind.SERVER)
    assert parent_id(found["invoke_agent second"]) == span_id(of_server)


async def test_a_request_that_fails_is_an_error_of_its_client(
    urls: dict[str, str], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """Of a single request and of a stream; the span of the server has the class, but no error."""
    async with A2AClient(urls["first"]) as client:
        with pytest.raises(TaskNotFoundError):
            await client.get("unknown")
        with pytest.raises(TaskNotFoundError):
            await anext(aiter(client.subscribe("unknown")))
    for name in ("GetTask", "SubscribeToTask"):
        of_client = next(
            each for each in spans() if each.name == name and each.kind is SpanKind.CLIENT
        )
        assert of_client.status.status_code is StatusCode.ERROR
        assert (of_client.attributes or {})["error.type"] == "TaskNotFoundError"


async def test_a_file_is_fetched_in_the_trace(
    urls: dict[str, str], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """The server of the file sees the run as its parent."""
    async with WebhookReceiver() as receiver, A2AClient(urls["first"]) as client:
        await client.send(receiver.url, options=SendOptions(skill="fetch"))
        (request,) = receiver.requests
    found = await wait_for(spans, "invoke_agent first")
    run = found["invoke_agent first"]
    assert run.context is not None
    assert request.headers["traceparent"].startswith(
        f"00-{run.context.trace_id:032x}-{span_id(run):016x}-"
    )


async def test_calls_over_grpc_are_in_the_trace(spans: Callable[[], list[ReadableSpan]]) -> None:
    """The trace of the client is metadata, and the system of its spans has another name."""
    agent = build_agents({})[1]
    with serve_on_socket(create_app(agent, settings=SETTINGS, grpc=find_free_address())) as served:
        async with A2AClient(
            str(served.base_url), options=ClientOptions(pin=Pin("1.0", GRPC))
        ) as client:
            await client.send("x")
            [each async for each in client.stream("x")]
    found = await wait_for(spans, "invoke_agent second", "SendMessage", "SendStreamingMessage")
    for name in ("SendMessage", "SendStreamingMessage"):
        of_client = next(
            each for each in spans() if each.name == name and each.kind is SpanKind.CLIENT
        )
        of_server = find_child([each for each in spans() if each.name == name], of_client)
        assert [(each.attributes or {})["rpc.system.name"] for each in (of_client, of_server)] == [
            "grpc",
            "grpc",
        ]
    assert parent_id(found["invoke_agent second"]) == span_id(of_server)


async def test_a_run_on_a_worker_is_in_the_trace(
    postgres_url: str, spans: Callable[[], list[ReadableSpan]]
) -> None:
    """Below the request that another process has handled."""
    surface = Surface(build_agents({})[1])
    settings = replace(SETTINGS, runs_on="workers")
    app = create_app(surface, store=PostgresStore(postgres_url), settings=settings)
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client,
    ):
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
        sent = {"message": message, "configuration": {"returnImmediately": True}}
        response = await client.post(
            "/message:send", json=sent, headers={"a2a-version": "1.0", "traceparent": TRACE}
        )
        assert response.status_code == 200
        found = await wait_for(spans, "SendMessage")
        assert "invoke_agent second" not in found
        async with run_worker(
            AgentRuntime([surface], PostgresStore(postgres_url), settings, is_worker=True)
        ):
            run = (await wait_for(spans, "invoke_agent second"))["invoke_agent second"]
    assert run.context is not None
    assert run.context.trace_id == TRACE_ID
    assert parent_id(run) == span_id(found["SendMessage"])


OFF = """
import asyncio, sys
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings

async def main(settings):
    agent = Agent("a")
    agent.add("echo", lambda ctx: ctx.text)
    app = create_app(agent, settings=settings)
    async with app.lifespan():
        return app.plugins.get(A2APlugin).runtime.observation.observers or None

assert asyncio.run(main(Settings())) is None
assert "a2a_runtime.features.telemetry.tracing" not in sys.modules
import opentelemetry.trace
assert asyncio.run(main(Settings())) is None
from opentelemetry.sdk.trace import TracerProvider
opentelemetry.trace.set_tracer_provider(TracerProvider())
assert asyncio.run(main(Settings())) is not None
assert asyncio.run(main(Settings(traces="off"))) is None
print("ok")
"""


def test_traces_are_on_where_the_process_has_a_provider() -> None:
    """Otherwise nothing is imported; the setting decides the other way."""
    assert (
        subprocess.run(
            [sys.executable, "-c", OFF], capture_output=True, text=True, check=True
        ).stdout
        == "ok\n"
    )
