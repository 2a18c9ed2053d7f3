"""Recorded cards, typed skills over plain HTTP, OpenAPI documents, mesh surfaces and webhooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import jwt
from conformance.agent import NameGate, agent_under_test
from conformance.mesh.producer import job, message, surfaces
from integration.outcome_agent import build_test_agent
from integration.recording import Recorder
from litestar import Litestar
from report_agent.contract import Publication, Report, make_surfaces
from report_agent.handlers import ReportAgent

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.heartbeat.registration import MeshConfig
from a2a_runtime.features.keys.webhook_signatures import SIGNATURE_HEADER
from a2a_runtime.settings import Settings
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.webhook_receiver import WebhookReceiver

KEY = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
-----END PRIVATE KEY-----
"""
"""Of Ed25519, whose signatures are the same each time."""
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
MESH_ONLY = frozenset((MESH.name,))


@asynccontextmanager
async def sign_webhooks(settings: Settings) -> AsyncGenerator[Settings, None]:
    """Give an agent the fixed key."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "key.pem"
        path.write_text(KEY, encoding="ascii")
        yield replace(settings, signing_keys=(str(path),))


async def say(ctx: TaskContext) -> str:
    """Say the same."""
    return ctx.text


@asynccontextmanager
async def card_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve agents with cards of every kind, one of them signed."""
    small = Agent(
        "small", description="Says the same.", version="1.2.3", url="https://small.example"
    )
    small.add(
        "say", say, name="Say", description="Say the same.", tags=("text",), examples=("hello",)
    )
    async with sign_webhooks(settings) as signed:
        yield create_app(
            Surface(agent_under_test(), gate=NameGate(), public_url="https://busy.example/a"),
            Surface(small, "/small"),
            Surface(small, "/new", dialects=frozenset((V1_0.name,)), shared_card=V1_0.name),
            Surface(small, "/old", dialects=frozenset((V0_3.name,)), shared_card=V0_3.name),
            Surface(small, "/mesh", dialects=MESH_ONLY, shared_card=MESH.name),
            Surface(small, "/all", dialects=frozenset((V1_0.name, V0_3.name, MESH.name))),
            store="memory",
            settings=signed,
            mesh=MeshConfig(),
        )


async def record_cards(recorder: Recorder) -> None:
    """Record every card, for every version that a client may name, and when it is read again."""
    for place in ("", "/small", "/new", "/old", "/mesh", "/all"):
        for path in CARDS:
            for version in ("", "1.0", "0.3", "0.5"):
                await recorder.get(
                    f"card {place}{path} of {version or 'no version'}",
                    f"{place}{path}",
                    **({"a2a_version": version} if version else {}),
                )
    card = await recorder.get("card: first", CARDS[0])
    for name, tag in (
        ("same tag", card.headers["etag"]),
        ("another tag", '"x"'),
        ("any tag", "*"),
        ("weak tag", f"W/{card.headers['etag']}"),
    ):
        await recorder.get(f"card: {name}", CARDS[0], if_none_match=tag)
    for name, moment in (
        ("same", card.headers["last-modified"]),
        ("earlier", "Mon, 01 Jan 2024 00:00:00 GMT"),
        ("no", "nonsense"),
    ):
        await recorder.get(f"card: {name} moment", CARDS[0], if_modified_since=moment)
    for method in ("HEAD", "OPTIONS", "POST", "DELETE"):
        await recorder.exchange(f"card: {method}", method, CARDS[0])
    await recorder.get(
        "card: behind a proxy",
        f"/small{CARDS[0]}",
        x_forwarded_proto="https",
        x_forwarded_host="proxy.example",
    )
    for path in (
        "/v1/card",
        "/extendedAgentCard",
        "/small/v1/card",
        "/small/extendedAgentCard",
        "/.well-known/jwks.json",
    ):
        await recorder.get(f"read {path}", path, authorization="Bearer ada")
    for path in ("/livez", "/readyz", "/ready"):
        await recorder.get(f"probe {path}", path)


class FixedReportAgent(ReportAgent):
    """Publishes at a fixed moment."""

    async def publish(self, request: Report, ctx: SkillContext) -> Publication:
        """Publish, and change the moment."""
        publication = await super().publish(request, ctx)
        return publication.model_copy(update={"published": datetime(2030, 1, 1, tzinfo=UTC)})


@asynccontextmanager
async def report_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve the example with typed skills."""
    yield create_app(*make_surfaces(FixedReportAgent()), store="memory", settings=settings)


async def record_skills(recorder: Recorder) -> None:
    """Record calls of typed skills over plain HTTP and over the protocol."""
    call = "/skills/summarize"
    await recorder.post("summarize", call, {"text": "One. Two.", "sentences": 1})
    await recorder.post(
        "summarize: several wrong values", call, {"text": 5, "sentences": 99, "words": 1}
    )
    for name, body in (
        ("no JSON", b"{"),
        ("nothing", b""),
        ("another type", b"[1]"),
        ("null", b"null"),
    ):
        await recorder.post(f"summarize: {name}", call, body)
    await recorder.post(
        "summarize: a media type that is none", call, {"text": "One."}, content_type="text/plain"
    )
    for name, text in (("first", "One."), ("again", "One."), ("another", "Two.")):
        await recorder.post(
            f"summarize: idempotency key, {name}", call, {"text": text}, idempotency_key="key-1"
        )
    await recorder.post(
        "a stream as one array", "/skills/write-report", {"topic": "tea", "chapters": 2}
    )
    report = {"title": "Tea", "chapters": [{"title": "a", "text": "b"}]}
    suspended = await recorder.post("publish: a question", "/skills/publish", report)
    path = f"/skills/publish?taskId={suspended.json()['taskId']}"
    await recorder.post("publish: a wrong reply", path, {"approved": False, "by": "Ada"})
    await recorder.post("publish: a reply", path, {"approved": True, "by": "Ada"})
    await recorder.post("publish: a reply to what has ended", path, {"approved": True, "by": "Ada"})
    await recorder.post(
        "publish: a reply to an unknown task",
        "/skills/publish?taskId=unknown",
        {"approved": True, "by": "Ada"},
    )
    await recorder.post("an unknown skill", "/skills/nothing", {})
    for method in ("GET", "OPTIONS", "DELETE"):
        await recorder.exchange(f"summarize: {method}", method, call)
    for file in (
        "summarize/input.json",
        "summarize/output.json",
        "write-report/output.json",
        "publish/input.json",
        "summarize/nothing.json",
    ):
        await recorder.get(f"schema {file}", f"/schemas/{file}")
    for version in ("1.0", "0.3"):
        await recorder.get(f"card of {version}", CARDS[0], a2a_version=version)
    await _record_messages_to_skills(recorder)


async def _record_messages_to_skills(recorder: Recorder) -> None:
    for name, part in (
        ("data", {"data": {"text": "One. Two."}}),
        ("JSON in a text", {"text": '{"text": "One."}'}),
        ("words", {"text": "no JSON"}),
    ):
        said = {
            "message": {
                "messageId": "m-1",
                "role": "ROLE_USER",
                "parts": [part],
                "metadata": {"skillId": "summarize"},
            }
        }
        await recorder.post(f"message with {name}", "/message:send", said)
        await recorder.post(f"message with {name}, as a stream", "/message:stream", said)
    wrong = {
        "parts": [{"data": {"text": 5, "sentences": 99, "words": 1}}],
        "metadata": {"skillId": "summarize"},
    }
    await recorder.post(
        "message with several wrong values",
        "/message:send",
        {"message": {"messageId": "m-1", "role": "ROLE_USER", **wrong}},
    )
    write = {
        "parts": [{"data": {"topic": "tea", "chapters": 2}}],
        "metadata": {"skillId": "write-report"},
    }
    await recorder.post(
        "message to a skill that streams",
        "/message:stream",
        {"message": {"messageId": "m-1", "role": "ROLE_USER", **write}},
    )


async def record_documents(recorder: Recorder) -> None:
    """Record the OpenAPI document, one member in a line."""
    await recorder.get("OpenAPI", "/schema/openapi.json")
    document = recorder.exchanges[-1]
    document.response_body = json.dumps(
        json.loads(document.response_body), indent=1, ensure_ascii=False
    )


@asynccontextmanager
async def mesh_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve the producer that mesh is tested with."""
    yield create_app(*surfaces(), store="memory", settings=settings, mesh=MeshConfig())


async def record_mesh(recorder: Recorder) -> None:
    """Record every operation and error of mesh."""
    await _record_mesh_tasks(recorder)
    await _record_mesh_refusals(recorder)
    for place in ("echo", "report", "guarded", "mixed"):
        await recorder.get(f"card of {place}", f"/agents/{place}/.well-known/agent.json")


async def _call_mesh(
    recorder: Recorder, name: str, place: str, method: str, params: object, **headers: str
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    await recorder.post(f"{place}: {name}", f"/agents/{place}", body, **headers)


async def _record_mesh_tasks(recorder: Recorder) -> None:
    """Record tasks of every skill, the same id twice, and a job that is canceled."""
    call = partial(_call_mesh, recorder)
    for place, text in (
        ("echo", "hello"),
        ("fails", "x"),
        ("tells", "x"),
        ("spells", "abc"),
        ("greets", "Ada"),
        ("mixed", "x"),
        ("sly", "x"),
    ):
        await call("send", place, "tasks/send", {"id": f"{place}-1", "message": message(text)})
        if place != "mixed":
            await call(
                "send and subscribe",
                place,
                "tasks/sendSubscribe",
                {"id": f"{place}-2", "message": message(text)},
            )
        await call("get", place, "tasks/get", {"id": f"{place}-1"})
    for text in ("object", "number", "nothing", "time", "price", "lines"):
        await call(f"send, answer with {text}", "values", "tasks/send", {"message": message(text)})
    await call(
        "the same id again", "echo", "tasks/send", {"id": "echo-1", "message": message("other")}
    )
    await call("a job", "report", "tasks/send", {"id": "job-1", "message": job(end="forever")})
    await call("a job, read", "report", "tasks/get", {"id": "job-1"})
    following = asyncio.create_task(
        call("a job, followed", "report", "tasks/resubscribe", {"id": "job-1"})
    )
    await recorder.settle()
    await call("a job, canceled", "report", "tasks/cancel", {"id": "job-1", "reason": "enough"})
    await following
    await call("a job, canceled again", "report", "tasks/cancel", {"id": "job-1"})


async def _record_mesh_refusals(recorder: Recorder) -> None:
    """Record wrong parameters, callers without a proof, and bodies that are not calls."""
    call = partial(_call_mesh, recorder)
    for method in (
        "tasks/get",
        "tasks/cancel",
        "tasks/resubscribe",
        "tasks/send",
        "tasks/sendSubscribe",
        "tasks/list",
        "SendMessage",
    ):
        for name, params in (
            ("unknown", {"id": "unknown"}),
            ("nothing", {}),
            ("a list", []),
            ("a wrong message", {"id": "n", "message": {"parts": 5}}),
        ):
            await call(f"{method} with {name}", "echo", method, params)
    await call("resubscribe", "echo", "tasks/resubscribe", {"id": "echo-1"})
    for name, headers in (
        ("nothing", {}),
        ("an empty token", {"authorization": "Bearer "}),
        ("a token", {"authorization": "Bearer t"}),
    ):
        await call(f"with {name}", "guarded", "tasks/send", {"message": message("x")}, **headers)
    for body in (
        b"not json",
        b"",
        b"[]",
        b'{"id": 7}',
        b'{"id": [1], "method": "tasks/list"}',
        b'{"method": "tasks/get"}',
    ):
        await recorder.post(f"no call: {body.decode()}", "/agents/echo", body)


@asynccontextmanager
async def notifying_app(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve an agent that signs its webhooks and may call this machine."""
    async with sign_webhooks(replace(settings, outbound_allow_loopback=True)) as signed:
        yield create_app(
            Surface(build_test_agent(), public_url="https://busy.example"),
            store="memory",
            settings=signed,
        )


async def record_webhooks(recorder: Recorder) -> None:
    """Record what receivers are sent in each dialect, with its signature read; its port is
    different each time.
    """
    async with WebhookReceiver() as receiver:
        recorder.replaced[f"127.0.0.1:{receiver.port}"] = "127.0.0.1:PORT"
        proof = {"scheme": "Bearer", "credentials": "s3cret"}
        current = {
            "url": f"{receiver.url}/new",
            "id": "new",
            "token": "t0ken",
            "authentication": proof,
        }
        message = {
            "messageId": "m-1",
            "role": "ROLE_USER",
            "parts": [{"text": "2"}],
            "metadata": {"skillId": "count"},
        }
        configuration = {"taskPushNotificationConfig": current}
        await recorder.post(
            "1.0 with a webhook",
            "/message:send",
            {"message": message, "configuration": configuration},
        )
        await _record_webhooks(recorder, receiver, 5)
        older = {
            "url": f"{receiver.url}/old",
            "id": "old",
            "token": "t0ken",
            "authentication": {"schemes": ["Bearer"], "credentials": "s3cret"},
        }
        parts = [{"kind": "text", "text": "hello"}]
        said = {
            "kind": "message",
            "messageId": "m-1",
            "role": "user",
            "parts": parts,
            "metadata": {"skillId": "echo"},
        }
        call = {"message": said, "configuration": {"pushNotificationConfig": older}}
        await recorder.post(
            "0.3 with a webhook",
            "/",
            {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": call},
        )
        await _record_webhooks(recorder, receiver, 7)


async def _record_webhooks(recorder: Recorder, receiver: WebhookReceiver, number: int) -> None:
    known = len([each for each in recorder.exchanges if each.name.startswith("webhook")])
    calls = await receiver.wait_for_requests(number)
    await recorder.settle()
    for call in calls[known:]:
        headers = [(name, _normalize_header(name, value)) for name, value in call.headers.items()]
        recorder.add(
            f"webhook {call.number}", f"{call.method} {call.path}", headers, call.body.decode()
        )


def _normalize_header(name: str, value: str) -> str:
    if name != SIGNATURE_HEADER.lower():
        return value
    return json.dumps(
        [jwt.get_unverified_header(value), jwt.decode(value, options={"verify_signature": False})]
    )
