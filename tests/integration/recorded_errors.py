"""Recorded errors: wrong bodies, methods and paths, gates, rates, limits and browsers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from integration.outcome_agent import build_test_agent, echo
from integration.recording import Recorder
from litestar import Litestar

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_contract.operations import SEND_MESSAGE
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate, PresenceGate
from a2a_runtime.auth.rate_limit import ANY_OPERATION, FailedAttemptLimiter, RateLimit, RateLimiter
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.features.heartbeat.registration import MeshConfig
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.clock import FakeClock

LIMIT = 2000
PAGE = "https://app.example"
EVERY_DIALECT = frozenset((V1_0.name, V0_3.name, MESH.name))
MESSAGE = {
    "messageId": "m-1",
    "role": "ROLE_USER",
    "parts": [{"text": "x"}],
    "metadata": {"skillId": "echo"},
}
OLD_MESSAGE = {
    "kind": "message",
    "messageId": "m-1",
    "role": "user",
    "parts": [{"kind": "text", "text": "x"}],
}
MESH_PARAMS = {"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "x"}]}}
CALLS = {
    "1.0 JSON-RPC": (
        "/",
        {"jsonrpc": "2.0", "id": "r-1", "method": "SendMessage", "params": {"message": MESSAGE}},
    ),
    "1.0 HTTP": ("/message:send", {"message": MESSAGE}),
    "1.0 HTTP stream": ("/message:stream", {"message": MESSAGE}),
    "0.3 JSON-RPC": (
        "/",
        {
            "jsonrpc": "2.0",
            "id": "r-1",
            "method": "message/send",
            "params": {"message": OLD_MESSAGE},
        },
    ),
    "0.3 HTTP": ("/v1/message:send", {"message": OLD_MESSAGE}),
    "0.3 ProtoJSON HTTP": (
        "/v1/message:send",
        {"request": {**MESSAGE, "content": MESSAGE["parts"]}},
    ),
}
NO_CALLS = (
    *(
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"id":1}',
        b'{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"x"}}',
    ),
    *(
        b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]',
        b'{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{"id":"x"}}',
    ),
    *(
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"Nothing"}',
        b'{"jsonrpc":"2.0","id":1,"method":"GetTask"}',
    ),
    *(
        b'{"jsonrpc":"2.0","id":1.5,"method":"GetTask","params":{"id":7}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[]}',
    ),
    *(
        b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","mood":-Infinity}}',
        b"{" * 600,
    ),
)


async def broken(_ctx: Context) -> str:
    """Break."""
    raise RuntimeError("password=hunter2")


@asynccontextmanager
async def refusing_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve agents of every dialect, one that takes little, one that takes nothing, and one that
    breaks.
    """
    agent = build_test_agent()
    breaking = Agent("breaking")
    single = Agent("single")
    breaking.add("break", broken, answers="message")
    single.add("echo", echo)
    yield create_app(
        Surface(agent, limits=Limits(body_bytes=LIMIT, parts=3, part_bytes=1000, depth=3)),
        Surface(agent, "/new", dialects=frozenset((V1_0.name,)), shared_card=V1_0.name),
        Surface(agent, "/old", dialects=frozenset((V0_3.name,)), shared_card=V0_3.name),
        Surface(single, "/mesh", dialects=EVERY_DIALECT),
        Surface(agent, "/full", limits=Limits(concurrency=0)),
        Surface(breaking, "/breaking"),
        store="memory",
        settings=settings,
        mesh=MeshConfig(),
    )


async def record_refusals(recorder: Recorder) -> None:
    """Record what is no request, or none for this agent."""
    for number, body in enumerate(NO_CALLS):
        for path in ("/", "/message:send", "/v1/message:send", "/mesh"):
            await recorder.post(f"no call {number} at {path}", path, body)
    for name, (path, call) in CALLS.items():
        for media_type in (
            "text/plain",
            "application/a2a+json",
            "application/json; charset=latin-1",
            "nonsense",
        ):
            await recorder.post(
                f"media type {media_type}: {name}", path, call, content_type=media_type
            )
        await recorder.post(f"too large: {name}", path, {**call, "padding": "x" * LIMIT})
        await recorder.post(f"breaks: {name}", f"/breaking{path}", call)
        await recorder.post(f"no room: {name}", f"/full{path}", call)
        for place in ("/new", "/old"):
            await recorder.post(f"at {place}: {name}", f"{place}{path}", call)
        await recorder.post(f"of tenant acme: {name}", f"/acme{path}", call)
    await _record_places(recorder)


async def _record_places(recorder: Recorder) -> None:
    """Record sizes, methods, paths and queries."""
    for name, parts in (
        ("parts", [{"text": "x"}] * 4),
        ("bytes", [{"text": "x" * 1500}]),
        ("levels", [{"data": {"a": [{"b": [1]}]}}]),
    ):
        await recorder.post(
            f"too many {name}", "/message:send", {"message": {**MESSAGE, "parts": parts}}
        )
    for path in (
        "/",
        "/message:send",
        "/v1/message:send",
        "/tasks",
        "/tasks/x",
        "/tasks/x:cancel",
        "/tasks/x:nothing",
        "/nothing",
        "/nothing/at/all",
    ):
        for method in ("GET", "PUT", "DELETE", "OPTIONS", "HEAD", "POST", "PATCH"):
            await recorder.exchange(f"{method} {path}", method, path)
    for path in (
        "/mesh",
        "/mesh/nothing",
        "/mesh/message:send",
        "/new/nothing",
        "/old/nothing",
        "/tasks/",
        "//tasks",
        "/tasks/%2F",
        "/tasks/%FF",
    ):
        await recorder.get(f"path {path}", path)
    for query in (
        "pageSize=no&historyLength=many&status=nothing",
        "mood=good",
        "A2A-Version=0.5",
        "A2A-Version=1.0",
        "pageSize=1&pageSize=2",
    ):
        await recorder.get(f"query {query}", f"/tasks?{query}")


def failing_policy(*_arguments: object) -> bool:
    """Fail, as a program with a mistake does."""
    raise LookupError("password=hunter2")


def _build_secured_agent(name: str) -> Agent:
    agent = build_test_agent(capabilities=Capabilities(extended_agent_card=True, streaming=True))
    agent.add(name, echo, require=[{"apiKey": ["pay"]}])
    return agent


@asynccontextmanager
async def guarded_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve agents behind gates: one with rates, one with a policy, and one with a limit of failed
    attempts.
    """
    keys = {
        digest_key("k"): Identity("box"),
        digest_key("rich"): Identity("rich", scopes=frozenset(("pay",))),
    }
    people = BasicAuthenticator({"ada": User(hash_password("s3cret-word"), Identity("ada"))})
    rates = RateLimiter(
        {SEND_MESSAGE.name: RateLimit(2, 60), ANY_OPERATION: RateLimit(3, 60)}, clock=FakeClock()
    )
    single = Agent("single")
    single.add("echo", echo)
    limiter = FailedAttemptLimiter(RateLimit(2, 60), None, FakeClock())
    yield create_app(
        Surface(_build_secured_agent("pay"), gate=AuthGate(ApiKeyAuthenticator(keys), people)),
        Surface(build_test_agent(), "/presence", gate=PresenceGate()),
        Surface(single, "/mesh", dialects=EVERY_DIALECT, gate=PresenceGate()),
        Surface(
            build_test_agent(),
            "/rates",
            gate=AuthGate(ApiKeyAuthenticator(keys)),
            rate_limiter=rates,
        ),
        Surface(
            build_test_agent(),
            "/policy",
            gate=AuthGate(ApiKeyAuthenticator(keys)),
            policy=lambda caller, _name, _task: caller.subject == "rich",
        ),
        Surface(
            build_test_agent(),
            "/failing",
            gate=AuthGate(ApiKeyAuthenticator(keys)),
            policy=failing_policy,
        ),
        Surface(
            build_test_agent(),
            "/guesses",
            gate=AuthGate(ApiKeyAuthenticator(keys, failed_attempts=limiter)),
        ),
        store="memory",
        settings=settings,
        mesh=MeshConfig(),
    )


async def record_guards(recorder: Recorder) -> None:
    """Record what gates, policies and counts say, in every dialect."""
    await _record_proofs(recorder)
    await _record_policies(recorder)
    await _record_counts(recorder)
    for path in (
        "/.well-known/agent-card.json",
        "/presence/.well-known/agent-card.json",
        "/mesh/.well-known/agent.json",
        "/nothing",
        "/tasks/x",
    ):
        await recorder.get(f"without any proof: {path}", path)


async def _record_proofs(recorder: Recorder) -> None:
    """Record calls with every proof of a caller, right and wrong ones."""
    proofs = {
        "nothing": {},
        "a wrong key": {"x_api_key": "wrong"},
        "a key": {"x_api_key": "k"},
        "an empty token": {"authorization": "Bearer "},
        "a token": {"authorization": "Bearer t"},
        "a wrong password": {"authorization": "Basic YWRhOndyb25n"},
        "another scheme": {"authorization": "Digest x"},
    }
    calls = {
        **CALLS,
        "mesh": (
            "/mesh",
            {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": MESH_PARAMS},
        ),
    }
    for name, (path, call) in calls.items():
        for place in ("", "/presence") if name != "mesh" else ("",):
            for proof, headers in proofs.items():
                await recorder.post(
                    f"{name} at {place or '/'} with {proof}", f"{place}{path}", call, **headers
                )


async def _record_policies(recorder: Recorder) -> None:
    """Record a skill that needs a scope, a policy that refuses, and a policy that fails."""
    paying = {**MESSAGE, "metadata": {"skillId": "pay"}}
    for proof in ("k", "rich"):
        await recorder.post(
            f"a skill that needs a scope, with key {proof}",
            "/message:send",
            {"message": paying},
            x_api_key=proof,
        )
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": paying}}
        await recorder.post(
            f"a skill that needs a scope over JSON-RPC, with key {proof}",
            "/",
            call,
            x_api_key=proof,
        )
        old = {"message": {**OLD_MESSAGE, "metadata": {"skillId": "pay"}}}
        await recorder.post(
            f"a skill that needs a scope in 0.3, with key {proof}",
            "/v1/message:send",
            old,
            x_api_key=proof,
        )
        await recorder.post(
            f"policy: send, with key {proof}",
            "/policy/message:send",
            {"message": MESSAGE},
            x_api_key=proof,
        )
        await recorder.get(f"policy: list, with key {proof}", "/policy/tasks", x_api_key=proof)
    for name, (path, call) in CALLS.items():
        await recorder.post(f"a policy that fails: {name}", f"/failing{path}", call, x_api_key="k")


async def _record_counts(recorder: Recorder) -> None:
    """Record more calls, and more guesses of a key, than are allowed."""
    for number in range(4):
        for name, (path, call) in CALLS.items():
            await recorder.post(
                f"rates: {name}, number {number}", f"/rates{path}", call, x_api_key="k"
            )
            await recorder.post(
                f"guesses: {name}, number {number}",
                f"/guesses{path}",
                call,
                x_api_key=f"guess-{number}",
            )


@asynccontextmanager
async def browser_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve an agent that pages of one origin may call, over TLS only."""
    yield create_app(
        Surface(build_test_agent(), gate=PresenceGate()),
        store="memory",
        settings=replace(settings, cors_origins=(PAGE,), hsts_seconds=60),
    )


async def record_browsers(recorder: Recorder) -> None:
    """Record what pages of browsers are told."""
    preflight = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,a2a-version",
    }
    for origin in (PAGE, "https://evil.example"):
        for path in (
            "/",
            "/message:send",
            "/v1/message:send",
            "/tasks",
            "/.well-known/agent-card.json",
            "/nothing",
        ):
            await recorder.exchange(
                f"preflight of {origin} to {path}",
                "OPTIONS",
                path,
                headers={"origin": origin, **preflight},
            )
            await recorder.get(
                f"read by {origin}: {path}", path, origin=origin, authorization="Bearer t"
            )
            await recorder.post(
                f"post by {origin}: {path}",
                path,
                {"message": MESSAGE},
                origin=origin,
                authorization="Bearer t",
            )
    await recorder.post(
        "post without an origin",
        "/message:send",
        {"message": MESSAGE},
        sec_fetch_site="cross-site",
        authorization="Bearer t",
    )
