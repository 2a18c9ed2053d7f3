"""Calls over gRPC: every step of HTTP applies, and what only gRPC has."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace

import grpc
import pytest
from integration.features.grpc.calls import (
    CallClient,
    CallError,
    Failure,
    build_send,
    run_app,
    serve_agent,
)
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import EXTENSION, BlockingHandler, build_test_agent
from litestar import Litestar
from litestar.testing import AsyncTestClient
from prometheus_client.parser import text_string_to_metric_families

from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Credentials, Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    KeyLocation,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate, ChallengeError
from a2a_runtime.auth.rate_limit import RateLimit, RateLimiter
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.ports.wire_variant import VariantKey
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio
ADA = {"authorization": "Bearer ada"}
BOB = {"authorization": "Bearer bob"}


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


class NameGate:
    """A gate that takes the token for the name of the caller; some tokens expire."""

    def admit(self, credentials: Credentials) -> Caller:
        """Return the caller."""
        name = (credentials.get("authorization") or "").removeprefix("Bearer ")
        if not name:
            raise ChallengeError("Bearer", "Bring a token")
        return Caller(name, expires_at=0.0 if name == "late" else None)


KEY = "k" * 40
SCHEMES: Mapping[str, tuple[object, Mapping[str, str]]] = {
    "key in a header": (
        ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}),
        {"x-api-key": KEY},
    ),
    "key in the query": (
        ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}, "Key", KeyLocation.QUERY),
        {"key": KEY},
    ),
    "key in a cookie": (
        ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}, "key", KeyLocation.COOKIE),
        {"cookie": f"a=b; key={KEY}"},
    ),
    "basic": (
        BasicAuthenticator({"ada": User(hash_password("secret"), Identity("ada"))}),
        {"authorization": f"Basic {b64encode(b'ada:secret').decode()}"},
    ),
}


@pytest.mark.parametrize(("authenticator", "metadata"), SCHEMES.values(), ids=SCHEMES.keys())
async def test_credentials_of_every_scheme_are_metadata(
    authenticator: ApiKeyAuthenticator, metadata: Mapping[str, str]
) -> None:
    """They are accepted, wrong ones and none are refused with a challenge."""
    async with serve_agent(build_test_agent(), gate=AuthGate(authenticator)) as client:
        assert (await client.send("x", metadata=metadata))["status"][
            "state"
        ] == "TASK_STATE_COMPLETED"
        for wrong in ({}, {name: value[:-3] + "xyz" for name, value in metadata.items()}):
            failure = await client.fail("SendMessage", build_send("x"), wrong)
            assert (failure.code, failure.reason) == ("UNAUTHENTICATED", "UNAUTHENTICATED")
            assert failure.trailers["www-authenticate"]


@pytest.mark.requirement("1.0", "10c")
async def test_a_task_belongs_to_its_owner() -> None:
    """For others it does not exist, whatever they ask; the audit log has who was refused."""
    async with serve_agent(build_test_agent(), gate=NameGate()) as client:
        task = await client.send("x", "wait", ADA, returnImmediately=True)
        for name in ("GetTask", "CancelTask"):
            failure = await client.fail(name, {"id": task["id"]}, BOB)
            assert (failure.code, failure.reason) == ("NOT_FOUND", "TASK_NOT_FOUND")
        with pytest.raises(CallError, match="NOT_FOUND"):
            [each async for each in client.stream("SubscribeToTask", {"id": task["id"]}, BOB)]
        assert (await client.call("ListTasks", {}, BOB)).get("totalSize", 0) == 0
        assert (await client.call("CancelTask", {"id": task["id"]}, ADA))["status"][
            "state"
        ] == "TASK_STATE_CANCELED"


class TenantGate(NameGate):
    """A gate whose callers have a tenant: that of their token, before a slash."""

    def admit(self, credentials: Credentials) -> Caller:
        """Return the caller."""
        tenant, _, name = super().admit(credentials).subject.rpartition("/")
        return Caller(name, tenant)


@pytest.mark.requirement("1.0", "10c")
async def test_tenants_never_meet() -> None:
    """A tenant in a request has to be that of the caller; where callers have none, each tenant has
    tasks of its own.
    """
    acme = {"authorization": "Bearer acme/ada"}
    other = {"authorization": "Bearer other/ada"}
    async with serve_agent(build_test_agent(), gate=TenantGate()) as client:
        task = await client.send("x", metadata=acme)
        for tenant in ("", "acme"):
            assert (await client.call("GetTask", {"id": task["id"], "tenant": tenant}, acme))[
                "id"
            ] == task["id"]
        assert (await client.fail("GetTask", {"id": task["id"]}, other)).code == "NOT_FOUND"
        for metadata, tenant in ((acme, "other"), (other, "acme")):
            failure = await client.fail("GetTask", {"id": task["id"], "tenant": tenant}, metadata)
            assert failure.code in {"PERMISSION_DENIED", "NOT_FOUND"}
            assert task["id"] not in str(failure)
    async with serve_agent(build_test_agent()) as client:
        task = (await client.call("SendMessage", {**build_send("x"), "tenant": "acme"}))["task"]
        found = {
            tenant: (await client.call("ListTasks", {"tenant": tenant})).get("totalSize", 0)
            for tenant in ("acme", "other", "")
        }
        assert found == {"acme": 1, "other": 0, "": 0}
        assert (
            await client.fail("GetTask", {"id": task["id"], "tenant": "other"})
        ).code == "NOT_FOUND"


async def test_the_audit_log_has_calls(caplog: pytest.LogCaptureFixture) -> None:
    """With the method, the address of the client and the reason."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    async with serve_agent(build_test_agent(), gate=NameGate()) as client:
        await client.fail("GetTask", {"id": "x"})
        task = await client.send("x", "wait", ADA, returnImmediately=True)
        await client.call("CancelTask", {"id": task["id"]}, ADA)
    refused, canceled = (
        record.getMessage() for record in caplog.records if "A2AService" in record.getMessage()
    )
    assert "GetTask" in refused
    assert "127.0.0.1" in refused
    assert "CancelTask" in canceled
    assert task["id"] in canceled


async def test_rates_and_limits_of_the_surface_count_calls() -> None:
    """Rates, concurrent requests and open streams, over gRPC as over HTTP."""
    limits = Limits(concurrency=2, streams=1)
    rates = RateLimiter({"ListTasks": RateLimit(1, 60)})
    async with serve_agent(
        build_test_agent(), gate=NameGate(), limits=limits, rate_limiter=rates
    ) as client:
        await client.call("ListTasks", {}, ADA)
        failure = await client.fail("ListTasks", {}, ADA)
        assert (failure.code, failure.reason) == ("RESOURCE_EXHAUSTED", "RATE_LIMITED")
        assert int(failure.trailers["retry-after"]) > 0
        await client.call("ListTasks", {}, BOB)
        first = client.stream("SendStreamingMessage", build_send("x", "wait"), ADA)
        await anext(first)
        with pytest.raises(CallError, match="open streams"):
            [
                each
                async for each in client.stream(
                    "SendStreamingMessage", build_send("x", "wait"), ADA
                )
            ]
        second = client.stream("SendStreamingMessage", build_send("x", "wait"), BOB)
        await anext(second)
        assert (await client.fail("GetTask", {"id": "x"}, ADA)).code == "UNAVAILABLE"
        await first.aclose()
        while (await client.fail("GetTask", {"id": "x"}, ADA)).code == "UNAVAILABLE":  # noqa: ASYNC110 - only the server knows
            await asyncio.sleep(0.01)
        await second.aclose()


@pytest.mark.requirement("1.0", "10b", "10c")
async def test_versions_of_a_service_are_checked() -> None:
    """The service names the version; another one in the metadata is refused."""
    async with serve_agent(build_test_agent()) as client:
        for package, version in (("lf.a2a.v1", "99.0"), ("lf.a2a.v1", "0.3"), ("a2a.v1", "1.0")):
            document = {"id": "x"} if package == "lf.a2a.v1" else {"name": "tasks/x"}
            failure = await client.fail(
                "GetTask", document, {"a2a-version": version}, package=package
            )
            assert (failure.code, failure.reason) == ("UNIMPLEMENTED", "VERSION_NOT_SUPPORTED")


@pytest.mark.requirement("1.0", "10b")
async def test_extensions_and_idempotency_keys_are_metadata() -> None:
    """Active extensions come back in the same key; a repeated key gives the first task."""
    async with serve_agent(build_test_agent()) as client:
        metadata = {"a2a-extensions": f"https://example.org/other,{EXTENSION}"}
        call, _ = client.open("SendStreamingMessage", build_send("1", "count"), metadata)
        assert dict(await call.initial_metadata())["a2a-extensions"] == EXTENSION
        call.cancel()
        key = {"idempotency-key": "once"}
        assert (await client.send("x", metadata=key))["id"] == (
            await client.send("x", metadata=key)
        )["id"]
        assert (await client.fail("SendMessage", build_send("y"), key)).code == "ALREADY_EXISTS"


@pytest.mark.requirement("1.0", "10d")
async def test_a_stream_resumes_after_a_cursor() -> None:
    """Messages have numbers for a client that asks for them; the cursor is metadata."""
    async with serve_agent(build_test_agent()) as client:
        events = [
            each
            async for each in client.stream(
                "SendStreamingMessage", build_send("3", "count"), {"event-numbers": "1"}
            )
        ]
        assert [number for number, _ in events] == [1, 2, 3, 4, 5, 6]
        assert all(len(event) == 1 for _, event in events)
        task_id = events[0][1]["task"]["id"]
        rest = [
            each
            async for each in client.stream(
                "SubscribeToTask", {"id": task_id}, {"last-event-id": "4", "event-numbers": "1"}
            )
        ]
        assert rest == events[4:]
        unnumbered = [
            each
            async for each in client.stream(
                "SubscribeToTask", {"id": task_id}, {"last-event-id": "5"}
            )
        ]
        assert unnumbered == [(None, events[5][1])]


async def test_the_deadline_of_a_caller_ends_the_waiting_only() -> None:
    """The call ends at its deadline, and the task goes on."""
    handler = BlockingHandler()
    async with serve_agent(build_test_agent(handler)) as client:
        assert (
            await client.fail("SendMessage", build_send("x", "wait"), timeout=0.2)
        ).code == "DEADLINE_EXCEEDED"
        (task,) = (await client.call("ListTasks", {}))["tasks"]
        assert task["status"]["state"] == "TASK_STATE_WORKING"
        assert handler.canceled_texts == []


async def test_a_canceled_stream_is_closed() -> None:
    """Its place among the streams of its caller is free again; the task goes on."""
    handler = BlockingHandler()
    async with serve_agent(build_test_agent(handler), limits=Limits(streams=1)) as client:
        for _ in range(3):
            for attempt in range(200):
                try:
                    events = client.stream("SendStreamingMessage", build_send("x", "wait"))
                    await anext(events)
                    break
                except CallError:
                    assert attempt < 199
                    await asyncio.sleep(0.01)
            await events.aclose()
        assert handler.canceled_texts == []


async def test_expired_credentials_end_a_stream() -> None:
    """The stream ends with the error that makes a client renew its credentials."""
    async with serve_agent(build_test_agent(), gate=NameGate()) as client:
        with pytest.raises(CallError) as caught:
            [
                each
                async for each in client.stream(
                    "SendStreamingMessage",
                    build_send("x", "wait"),
                    {"authorization": "Bearer late"},
                )
            ]
        assert caught.value.failure.reason == "UNAUTHENTICATED"


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 10**400])
async def test_a_result_that_no_message_carries_is_refused(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It is never rounded: the client gets the place, and the log tells the author of the handler;
    JSON still carries it.
    """
    agent = Agent("big", description="Counts far.")

    @agent.skill("far", output_modes=("application/json",))
    async def far(_ctx: TaskContext) -> dict[str, list[int]]:
        return {"numbers": [1, number]}

    async with serve_agent(agent) as client:
        failure = await client.fail("SendMessage", build_send("x", "far"))
        assert (failure.code, failure.reason) == ("INTERNAL", "INVALID_AGENT_RESPONSE")
        assert failure.fields == ["task.artifacts[0].parts[0].data.numbers[1]"]
        assert "2^53" in caplog.text
        with pytest.raises(CallError, match="cannot carry"):
            [each async for each in client.stream("SendStreamingMessage", build_send("x", "far"))]


async def test_values_survive() -> None:
    """Null, the empty text, negative zero, integers that a double holds, and bytes."""
    parts = [
        {"data": None},
        {"text": ""},
        {"data": [2**53, -0.0, 1.5, {"a": None}]},
        {"raw": b64encode(bytes(range(256))).decode(), "filename": "f"},
    ]
    async with serve_agent(build_test_agent()) as client:
        request = build_send("x")
        request["message"]["parts"] = parts
        history = (await client.call("SendMessage", {**request, "metadata": {}}))["task"]["history"]
        assert json.dumps(history[0]["parts"], sort_keys=True) == json.dumps(parts, sort_keys=True)


WRONG: Mapping[str, tuple[bytes | dict[str, object], list[str]]] = {
    "no members": ({}, ["message"]),
    "no id, no parts": ({"message": {"role": "ROLE_USER"}}, ["message.messageId", "message.parts"]),
    "cut bytes": (b"\x12\x05ab", []),
}


@pytest.mark.parametrize(("document", "fields"), WRONG.values(), ids=WRONG.keys())
async def test_wrong_messages_are_refused_with_their_places(
    document: bytes | dict[str, object], fields: list[str]
) -> None:
    """All of them, as INVALID_ARGUMENT, and not as an unknown error."""
    async with serve_agent(build_test_agent()) as client:
        failure = await client.fail("SendMessage", document)
        assert failure.code == "INVALID_ARGUMENT"
        assert failure.fields == fields


async def test_errors_are_bounded() -> None:
    """A thousand field errors fit into the metadata that a client accepts."""
    async with serve_agent(build_test_agent()) as client:
        request = build_send("x")
        request["message"]["parts"] = [{"metadata": {"ä" * 300: 1}} for _ in range(900)]
        failure = await client.fail("SendMessage", request)
        assert failure.code == "INVALID_ARGUMENT"
        assert failure.fields


async def test_exceptions_of_handlers_stay_inside() -> None:
    """Neither the class nor the text of an exception leaves the agent."""
    async with serve_agent(build_test_agent()) as client:
        assert "hunter2" not in json.dumps(await client.send("x", "break"))


@pytest.mark.requirement("0.3", "3.2.2")
async def test_errors_of_0_3_begin_with_their_names() -> None:
    """As its clients read them; the typed details are there too."""
    async with serve_agent(build_test_agent()) as client:
        failure: Failure = await client.fail("GetTask", {"name": "tasks/x"}, package="a2a.v1")
        assert failure.text == "TaskNotFoundError: Task not found"
        assert failure.reason == "TASK_NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/lf.a2a.v1.A2AService/Nothing", "Method not found"),
        ("/a2a.v1.A2AService/ListTasks", "MethodNotFoundError: Method not found"),
        ("/nothing.Service/GetTask", "Method not found"),
        ("nothing", "Method not found"),
    ],
)
async def test_unknown_methods_are_errors_of_the_protocol(path: str, text: str) -> None:
    """Of known and unknown services, with one answer and with many; with details, and without
    credentials: the protocol is no secret.
    """
    async with serve_agent(build_test_agent(), gate=NameGate()) as client:
        for call in (
            client.channel.unary_unary(path)(b""),
            client.channel.unary_stream(path)(b"").read(),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            failure = CallError(caught.value).failure
            assert (failure.code, failure.text, failure.fields) == (
                "UNIMPLEMENTED",
                text,
                ["method"],
            )
            assert "the services here are lf.a2a.v1.A2AService, a2a.v1.A2AService" in str(
                failure.details
            )


async def test_calls_are_counted_with_the_labels_of_requests() -> None:
    """By operation, dialect, binding and outcome; a call that its client has left is disconnected,
    also when a stream has begun.
    """
    settings = replace(FAST_SETTINGS, metrics_path="/metrics")
    options = GrpcOptions(find_free_address())
    app = create_app(Surface(build_test_agent(BlockingHandler()), grpc=options), settings=settings)
    async with run_app(app) as http, CallClient(options.address) as client:
        await client.send("x")
        await client.fail("GetTask", {"id": "unknown"})
        await client.fail("GetTask", {"name": "tasks/unknown"}, package="a2a.v1")
        await client.fail("SendMessage", {})
        await client.fail("SendMessage", build_send("x", "wait"), timeout=0.2)
        stream = client.stream("SendStreamingMessage", build_send("x", "wait"))
        await anext(stream)
        await stream.aclose()
        with pytest.raises(grpc.aio.AioRpcError):
            await client.channel.unary_unary("/lf.a2a.v1.A2AService/Nothing")(b"")
        expected = {
            ("SendMessage", "1.0", "ok"),
            ("none", "1.0", "INVALID_PARAMS"),
            ("SendMessage", "1.0", "disconnected"),
            ("SendStreamingMessage", "1.0", "disconnected"),
            ("GetTask", "1.0", "TASK_NOT_FOUND"),
            ("GetTask", "0.3", "TASK_NOT_FOUND"),
            ("none", "1.0", "MethodNotFoundError"),
        }
        async with asyncio.timeout(30):
            while (found := await read_requests(http)) != dict.fromkeys(expected, 1):
                assert found.keys() <= expected
                await asyncio.sleep(0.02)


async def read_requests(http: AsyncTestClient[Litestar]) -> dict[tuple[str, str, str], float]:
    """Read how many calls were counted, by operation, dialect and outcome."""
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    samples = [
        sample
        for family in families
        for sample in family.samples
        if sample.name == "a2a_requests_total"
    ]
    found = {
        (each.labels["operation"], each.labels["dialect"], each.labels["outcome"]): each.value
        for each in samples
    }
    assert {each.labels["binding"] for each in samples} <= {"GRPC"}
    return found


async def test_the_extended_card_lists_the_port() -> None:
    """Without a configured URL it lists nothing else, because a call does not say which URL the
    agent has over HTTP.
    """
    agent = build_test_agent()
    agent.add("secret", _nothing, only_extended=True)
    async with serve_agent(agent, gate=NameGate()) as client:
        card = await client.call("GetExtendedAgentCard", {}, ADA)
        assert {each["protocolBinding"] for each in card["supportedInterfaces"]} == {"GRPC"}
        assert "secret" in [each["id"] for each in card["skills"]]
        old = await client.call("GetAgentCard", {}, ADA, package="a2a.v1")
        assert (old["preferredTransport"], "://" in old["url"]) == ("GRPC", False)


async def _nothing(_ctx: TaskContext) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("variants", "code"), [((), "UNIMPLEMENTED"), (("1.0.1",), "FAILED_PRECONDITION")]
)
async def test_a_profile_has_its_statuses(variants: Sequence[VariantKey], code: str) -> None:
    """For errors of capabilities, on streams too; other errors, and clients of 0.3, see no
    difference.
    """
    agent = Agent("quiet", capabilities=Capabilities(streaming=False))
    agent.add("echo", lambda ctx: ctx.text)
    async with serve_agent(agent, variants=variants) as client:
        assert (await client.fail("SendStreamingMessage", build_send("x"))).code == code
        assert (await client.fail("ListTaskPushNotificationConfigs", {"taskId": "t"})).code == code
        assert (await client.fail("GetTask", {"id": "nowhere"})).code == "NOT_FOUND"
