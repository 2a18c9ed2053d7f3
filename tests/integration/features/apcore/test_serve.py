"""Agents of a registry on a port and inside other servers: options, start, shutdown, health,
metrics.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.features.apcore.world import (
    CARD,
    URL,
    Add,
    Count,
    Module,
    apcore,
    build_params,
    build_registry,
    run_agent,
)
from starlette.applications import Starlette
from starlette.routing import Mount

from a2a_runtime.features.apcore import InMemoryTaskStore, async_serve, serve
from a2a_runtime.features.apcore.server import build_settings
from a2a_runtime.features.push.retry_policy import get_delay
from a2a_runtime.testing.dict_storage import DictStorage
from a2a_runtime.testing.ports import find_free_port
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookResponse

pytestmark = pytest.mark.anyio


def body(method: str, params: object) -> dict[str, object]:
    """Build a request."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


ADD = body("message/send", build_params("math.add", {"a": 1, "b": 2}))


@contextmanager
def serve_registry(**options: object) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Serve a registry in a process of its own."""
    port = find_free_port()
    command = [
        sys.executable,
        str(Path(__file__).with_name("served.py")),
        json.dumps({"host": "127.0.0.1", "port": port, **options}),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each),
    }
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False
        ) as client:
            wait_for_card(process, client)
            yield process, client
    finally:
        process.kill()
        process.communicate(timeout=30)


def wait_for_card(process: subprocess.Popen[str], client: httpx.Client) -> None:
    """Wait until a server responds."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"the server did not start: {process.communicate()[1][-2000:]}")
        try:
            if client.get(CARD).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the server does not respond")


@pytest.mark.requirement("apcore", "FR-SRV-001", "NFR-CMP-004")
def test_one_line_serves_a_registry() -> None:
    """On the host and port that are given; the card has the URL; an idle server stops at once, and
    says that all was well.
    """
    with serve_registry() as (process, client):
        assert client.get(CARD).json()["url"].rstrip("/") == str(client.base_url).rstrip("/")
        assert client.post("/", json=ADD).json()["result"]["artifacts"][0]["parts"][0]["data"] == {
            "total": 3
        }
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
        assert process.returncode in {0, -signal.SIGTERM}, log


@pytest.mark.requirement("apcore", "FR-SRV-005", "NFR-REL-001")
def test_running_tasks_get_their_time_at_the_end() -> None:
    """Then they fail; their stream reports it and ends, while new connections are refused."""
    with serve_registry(shutdown_timeout=0.5) as (process, client):
        states: list[str] = []
        begun = threading.Event()

        def follow() -> None:
            with client.stream(
                "POST", "/", json=body("message/stream", build_params("time.wait", {"number": 1}))
            ) as response:
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        event = json.loads(line.removeprefix("data: "))["result"]
                        states.append(event.get("status", {}).get("state", ""))
                        texts.append(
                            event.get("status", {})
                            .get("message", {})
                            .get("parts", [{}])[0]
                            .get("text", "")
                        )
                        begun.set()

        texts: list[str] = []
        reader = threading.Thread(target=follow)
        reader.start()
        assert begun.wait(30)
        process.send_signal(signal.SIGTERM)
        reader.join(30)
        assert (states[-1], texts[-1]) == ("failed", "Server shutdown")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{client.base_url}{CARD}", trust_env=False)
        process.communicate(timeout=30)


async def find_nothing(*_: object) -> None:
    """Find nothing."""


class SrsStore:
    """A store of tasks by the SRS."""

    save = get = list = delete = save_push_config = get_push_config = delete_push_config = (
        find_nothing
    )


@pytest.mark.requirement("apcore", "FR-SRV-001", "FR-SRV-002", "FR-STR-003")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task_store": object()}, TypeError, "task_store: object: not a store; add .*create_task"),
        (
            {"task_store": DictStorage()},
            TypeError,
            r"task_store: DictStorage: not a store; wrap it, SimpleStore\(DictStorage\(…\)\)",
        ),
        (
            {"task_store": SrsStore()},
            TypeError,
            (
                r"task_store: SrsStore: has the methods of the SRS.* implement load_task, "
                r".*SimpleStore\(SrsStore"
            ),
        ),
        ({"prot": 1}, TypeError, "serve: unknown option prot; known: name, "),
        ({"auth": object()}, TypeError, "auth: object is not an authenticator"),
        ({"execution_timeout": 0}, ValueError, "execution_timeout 0 is not positive"),
    ],
    ids=["store", "storage", "store of the SRS", "name", "auth", "timeout"],
)
def test_options_that_cannot_be_used_are_errors(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Invalid options raise an error before anything is served."""
    with pytest.raises(error, match=message):
        async_serve(build_registry(math__add=Add()), **options)


@pytest.mark.requirement("apcore", "FR-SRV-001")
def test_an_empty_registry_is_an_error() -> None:
    """So is one whose modules cannot be described."""
    with pytest.raises(ValueError, match="the registry has no modules"):
        serve(apcore.Registry())
    silent = Add()
    silent.description = ""
    with pytest.raises(ValueError, match="no module of the registry has a description"):
        serve(build_registry(math__add=silent))


@pytest.mark.requirement("apcore", "FR-SRV-003", "FR-SRV-002")
async def test_the_app_may_be_awaited_mounted_and_called_without_a_lifespan() -> None:
    """It starts with its first request, and stops when it is told to."""
    app = await async_serve(
        build_registry(math__add=Add()), name="tools", task_store=InMemoryTaskStore(max_capacity=5)
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as http:
        assert [
            (await http.post("/", json=ADD)).json()["result"]["status"]["state"] for _ in range(2)
        ] == ["completed", "completed"]
        assert (await http.get(CARD)).json()["name"] == "tools"
    await app.aclose()
    async with async_serve(build_registry(math__add=Add())) as tools:
        host = Starlette(routes=[Mount("/tools", app=tools)])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url=URL) as http:
            assert (await http.post("/tools/", json=ADD)).json()["result"]["status"][
                "state"
            ] == "completed"
            assert (await http.get(f"/tools{CARD}")).json()["url"].rstrip("/") == f"{URL}/tools"


@pytest.mark.requirement("apcore", "NFR-SEC-003", "FR-SRV-002")
async def test_other_origins_are_refused_unless_they_are_listed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """All of them only with a warning."""
    registry = build_registry(math__add=Add())
    ours = {"origin": "https://example.com"}
    theirs = {"origin": "https://evil.example"}
    asks = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    async with run_agent(registry) as agent:
        assert (
            "access-control-allow-origin" not in (await agent.http.get(CARD, headers=ours)).headers
        )
    async with run_agent(registry, cors_origins=["https://example.com"]) as agent:
        assert (await agent.http.get(CARD, headers=ours)).headers[
            "access-control-allow-origin"
        ] == "https://example.com"
        assert (
            "access-control-allow-origin"
            not in (await agent.http.get(CARD, headers=theirs)).headers
        )
        preflight = await agent.http.options("/", headers={**ours, **asks})
        assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "every web page may call" not in caplog.text
    async with run_agent(registry, cors_origins=["*"]) as agent:
        assert (await agent.http.get(CARD, headers=theirs)).headers[
            "access-control-allow-origin"
        ] in {"*", "https://evil.example"}
    assert "every web page may call" in caplog.text


@pytest.mark.requirement("apcore", "FR-OPS-001", "FR-OPS-002")
async def test_health_and_metrics_are_json() -> None:
    """Metrics only if they are wanted."""
    registry = build_registry(math__add=Add(), error__raise=Failing())
    async with run_agent(registry, metrics=True) as agent:
        await agent.call("math.add", {"a": 1, "b": 2})
        await agent.call("error.raise", {"number": 1})
        health = (await agent.http.get("/health")).json()
        assert (health["status"], health["module_count"]) == ("healthy", 2)
        assert health["uptime_seconds"] >= 0
        metrics = (await agent.http.get("/metrics")).json()
        assert (
            metrics["active_tasks"],
            metrics["completed_tasks"],
            metrics["failed_tasks"],
            metrics["total_requests"],
        ) == (0, 1, 1, 2)
        assert isinstance(metrics["uptime_seconds"], float)
    async with run_agent(registry) as agent:
        assert (await agent.http.get("/metrics")).status_code == 404


class Failing(Module):
    """Fails."""

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Fail."""
        raise ValueError(inputs, context)


@pytest.mark.requirement("apcore", "FR-PSH-001", "FR-PSH-002", "NFR-SEC-004")
async def test_webhooks_are_for_those_who_want_them() -> None:
    """Off by default; plain HTTP and this machine only in development; then each change of a task
    is sent.
    """
    registry = build_registry(math__add=Add(), count__up_to=Count())
    sent = build_params("count.up_to", {"number": 2})
    async with WebhookReceiver() as receiver:
        config = {"pushNotificationConfig": {"url": receiver.url}}
        async with run_agent(registry) as agent:
            assert (await agent.rpc("message/send", {**sent, "configuration": config}))["error"][
                "code"
            ] == -32003
        async with run_agent(registry, push_notifications=True) as agent:
            for url in (
                receiver.url,
                "https://127.0.0.1/hook",
                "https://10.0.0.1/hook",
                "ftp://example.com",
                "nonsense",
            ):
                refused = await agent.rpc(
                    "message/send",
                    {**sent, "configuration": {"pushNotificationConfig": {"url": url}}},
                )
                assert refused["error"]["code"] == -32602, url
        async with run_agent(registry, push_notifications=True, development=True) as agent:
            assert (await agent.rpc("message/send", {**sent, "configuration": config}))["result"][
                "status"
            ]["state"] == "completed"
            async with asyncio.timeout(30):
                while not any(  # noqa: ASYNC110 - no event
                    json.loads(each.body).get("status", {}).get("state") == "completed"
                    for each in receiver.requests
                ):
                    await asyncio.sleep(0.01)


@pytest.mark.requirement("apcore", "FR-PSH-003", "FR-PSH-004", "NFR-REL-004")
async def test_a_webhook_that_fails_delays_nothing_and_is_given_up() -> None:
    """There are four attempts; a configuration is read and deleted."""
    settings = build_settings({})
    for chance in (0.0, 1.0):
        assert [
            get_delay(settings, attempt, chance) for attempt in range(1, settings.push_max_attempts)
        ] == [1.0, 2.0, 4.0]
    async with (
        WebhookReceiver(lambda _: WebhookResponse(503)) as receiver,
        run_agent(
            build_registry(math__add=Add()), push_notifications=True, development=True
        ) as agent,
    ):
        config = {"pushNotificationConfig": {"id": "c-1", "url": receiver.url}}
        task = (
            await agent.rpc(
                "message/send",
                {**build_params("math.add", {"a": 1, "b": 2}), "configuration": config},
            )
        )["result"]
        assert task["status"]["state"] == "completed"
        chosen = {"id": task["id"], "pushNotificationConfigId": "c-1"}
        found = await agent.rpc("tasks/pushNotificationConfig/get", chosen)
        assert found["result"]["pushNotificationConfig"]["url"] == receiver.url
        assert (await agent.rpc("tasks/pushNotificationConfig/delete", chosen))["result"] is None
        assert "error" in await agent.rpc("tasks/pushNotificationConfig/get", chosen)


@pytest.mark.requirement("apcore", "FR-STR-002")
async def test_the_store_in_memory_has_a_capacity() -> None:
    """The task that ended first makes room."""
    async with run_agent(
        build_registry(math__add=Add()), task_store=InMemoryTaskStore(max_capacity=3)
    ) as agent:
        tasks = [await agent.call("math.add", {"a": number, "b": 0}) for number in range(5)]
        found = [("result" in await agent.rpc("tasks/get", {"id": task["id"]})) for task in tasks]
        assert found == [False, False, True, True, True]


@pytest.mark.requirement("apcore", "NFR-PERF-008")
async def test_two_hundred_modules_are_served_at_once() -> None:
    """In less than two seconds, with a card of all of them."""
    registry = apcore.Registry()
    for number in range(200):
        registry.register(f"many.m{number}", Add())
    began = time.monotonic()
    async with run_agent(registry) as agent:
        assert len(await agent.skills()) == 200
        assert time.monotonic() - began < 20  # loaded machines; `make bench` has the number
