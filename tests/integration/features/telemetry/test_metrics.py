"""Metrics: what is counted, that labels are bounded, and that the dashboard and the alert rules
read what there is.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import yaml
from integration.outcome_agent import serve_on_socket
from litestar import Litestar
from litestar.testing import AsyncTestClient, TestClient
from prometheus_client.parser import text_string_to_metric_families

from a2a_contract.errors import PermissionDeniedError
from a2a_contract.v1_0 import Message, Part, Role, TaskPushNotificationConfig
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.telemetry.metrics import MAX_SKILLS, OTHER, Metrics
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.optional import CountedOutbox
from a2a_runtime.surface import Limits, Surface

pytestmark = pytest.mark.anyio

DEPLOY = Path(__file__).parents[4] / "examples" / "deploy"
CALLERS = 10_000
TASKS = 200
SETTINGS = Settings(metrics_path="/metrics", metrics_skills=True)


class HeaderGate:
    """A gate that takes a header for the name of a caller."""

    security = ()

    def admit(self, credentials: Credentials) -> Caller:
        """Admit every caller."""
        name = dict(credentials.scope["headers"]).get(b"x-name", b"unknown").decode()
        if name == "refused":
            raise PermissionDeniedError
        return Caller(name)


def build_agent() -> Agent:
    """Build an agent with a skill that works and one that fails."""
    agent = Agent("measured")

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        """Say the same."""
        return ctx.text

    @agent.skill("fail")
    async def fail(ctx: TaskContext) -> str:
        """Fail."""
        raise ValueError(ctx.text)

    @agent.skill("ask")
    async def ask(ctx: TaskContext) -> str:
        """Ask a question."""
        return (await ctx.ask("which one?")).text

    return agent


@pytest.fixture
def client() -> Iterator[TestClient[Litestar]]:
    """A client of an app with metrics."""
    with TestClient(create_app(build_agent(), settings=SETTINGS)) as client:
        yield client


def send(client: TestClient[Litestar], skill: str = "echo", number: int = 0, **headers: str) -> int:
    """Send a message to a skill."""
    message = {
        "messageId": f"m-{number}",
        "role": "ROLE_USER",
        "parts": [{"text": "hello"}],
        "metadata": {"skillId": skill},
    }
    return client.post(
        "/message:send", json={"message": message}, headers={"a2a-version": "1.0", **headers}
    ).status_code


def read_samples(
    client: TestClient[Litestar],
) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Read all samples, by name and labels."""
    return parse_samples(client.get("/metrics").text)


def parse_samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Parse the text of Prometheus."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for each in text_string_to_metric_families(text)
        for sample in each.samples
    }


def test_metrics_are_off_by_default() -> None:
    """Nothing is served, and nothing is measured."""
    with TestClient(create_app(build_agent())) as client:
        assert client.get("/metrics").status_code == 404


def test_requests_runs_and_store_calls_are_counted(client: TestClient[Litestar]) -> None:
    """Requests by operation, dialect, binding and outcome; runs by skill and end; store calls by
    name.
    """
    assert [
        send(client, skill, number) for number, skill in enumerate(("echo", "echo", "fail", "ask"))
    ] == [200] * 4
    assert client.get("/tasks/unknown", headers={"a2a-version": "1.0"}).status_code == 404
    assert client.post(
        "/", content=b"{", headers={"content-type": "application/json"}
    ).status_code in {200, 400}
    samples = read_samples(client)

    def value(name: str, **labels: str) -> float | None:
        return samples.get((name, frozenset(labels.items())))

    sent = {"operation": "SendMessage", "dialect": "1.0", "binding": "HTTP+JSON"}
    requests = {
        labels: number for (name, labels), number in samples.items() if name == "a2a_requests_total"
    }
    assert requests[frozenset({**sent, "outcome": "ok"}.items())] == 4, requests
    assert {dict(labels)["outcome"] for labels in requests} >= {"ok", "TASK_NOT_FOUND"}
    assert any(dict(labels)["operation"] == "none" for labels in requests)
    assert value("a2a_request_seconds_count", operation="SendMessage", binding="HTTP+JSON") == 4
    runs = {
        (dict(labels)["skill"], dict(labels)["end"]): number
        for (name, labels), number in samples.items()
        if name == "a2a_runs_total"
    }
    assert runs == {("echo", "completed"): 2, ("fail", "failed"): 1, ("ask", "suspended"): 1}
    assert value("a2a_store_seconds_count", call="create_task") == 4
    assert value("a2a_running_tasks") == 0
    assert (value("a2a_uptime_seconds") or 0) > 0
    assert value("process_start_time_seconds") is not None


def test_strangers_read_no_skill() -> None:
    """Over a socket, without credentials: all skills are counted together, unless the operator
    wants them to be named.
    """
    agent = build_agent()

    @agent.skill("spend")
    async def spend(ctx: TaskContext) -> str:
        """Report what it consumes."""
        ctx.usage(input_tokens=3, output_tokens=4, cost=0.5)
        return "spent"

    app = create_app(agent, settings=Settings(metrics_path="/metrics"))
    with serve_on_socket(app) as client:
        for number, skill in enumerate(("echo", "fail", "spend")):
            message = {
                "messageId": f"m-{number}",
                "role": "ROLE_USER",
                "parts": [{"text": "x"}],
                "metadata": {"skillId": skill},
            }
            assert client.post(
                "/message:send", json={"message": message}, headers={"a2a-version": "1.0"}
            ).is_success
        for accept in ("text/plain", "application/openmetrics-text", "application/json"):
            text = client.get("/metrics", headers={"accept": accept}).text
            assert not re.search("echo|fail\\b|spend", text)
        counted = ("a2a_run_seconds_count", frozenset({"skill": ""}.items()))
        while (samples := parse_samples(client.get("/metrics").text))[counted] < 3:
            pass  # a run is counted after its answer
    assert {dict(labels)["skill"] for _, labels in samples if "skill" in dict(labels)} == {""}
    assert samples["a2a_runs_total", frozenset({"skill": "", "end": "completed"}.items())] == 2
    assert samples["a2a_queue_seconds_count", frozenset({"skill": ""}.items())] == 3
    assert samples["a2a_tokens_total", frozenset({"skill": "", "kind": "output"}.items())] == 4


def test_the_form_is_the_clients_choice(client: TestClient[Litestar]) -> None:
    """Text of Prometheus by default, OpenMetrics or the JSON of a registry of modules if the client
    asks for it.
    """
    send(client)
    assert client.get("/metrics").headers["content-type"].startswith("text/plain")
    assert client.get("/metrics", headers={"accept": "application/openmetrics-text"}).text.endswith(
        "# EOF\n"
    )
    found = client.get("/metrics", headers={"accept": "application/json"}).json()
    assert found.pop("uptime_seconds") > 0
    assert found == {
        "active_tasks": 0,
        "completed_tasks": 1,
        "failed_tasks": 0,
        "total_requests": 1,
    }


async def test_no_label_grows_with_callers() -> None:
    """Ten thousand callers, some with tasks of their own, make no series more than one caller."""
    app = create_app(Surface(build_agent(), gate=HeaderGate()), settings=SETTINGS)
    async with app.lifespan():
        assert await call(app, "/tasks/unknown", "first") == b"404"
        assert await call(app, "/message:send", "first", build_message("echo")) == b"200"
        before = await read_series(app, runs=1)
        for number in range(CALLERS):
            assert await call(app, "/tasks/unknown", f"caller-{number}") == b"404"
            if number < TASKS:
                assert (
                    await call(app, "/message:send", f"caller-{number}", build_message("echo"))
                    == b"200"
                )
        after = await read_series(app, runs=TASKS + 1)
    assert after.keys() == before.keys()
    assert "caller-" not in str(after)
    assert (
        after["a2a_runs_total", frozenset({"skill": "echo", "end": "completed"}.items())]
        == TASKS + 1
    )
    read = frozenset(
        {
            "operation": "GetTask",
            "dialect": "1.0",
            "binding": "HTTP+JSON",
            "outcome": "TASK_NOT_FOUND",
        }.items()
    )
    assert after["a2a_requests_total", read] == CALLERS + 1


async def call(
    app: Litestar, path: str, name: str, body: bytes = b"", *, wants_body: bool = False
) -> bytes:
    """Call an app as a server does, without a client, which would take longer; return the status,
    or the body.
    """
    received: list[bytes] = []
    headers = [
        (b"a2a-version", b"1.0"),
        (b"x-name", name.encode()),
        (b"content-type", b"application/json"),
    ]
    scope: Any = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST" if body else "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
    }
    scope |= {
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("test", 80),
        "extensions": {},
    }

    async def receive() -> Any:  # noqa: ANN401 - an event of ASGI
        return {"type": "http.request", "body": body, "more_body": False}

    async def send_event(event: Any) -> None:  # noqa: ANN401 - as above
        received.append(
            event.get("body", b"") if wants_body else str(event.get("status", "")).encode()
        )

    await app(scope, receive, send_event)
    return b"".join(received)


async def read_series(
    app: Litestar, *, runs: int
) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Read what callers could make grow, as soon as all runs are counted; calls of the store at an
    interval begin at any time.
    """
    while True:
        found = parse_samples((await call(app, "/metrics", "first", wants_body=True)).decode())
        if (
            found.get(("a2a_runs_total", frozenset({"skill": "echo", "end": "completed"}.items())))
            == runs
        ):
            return {
                series: value
                for series, value in found.items()
                if not series[0].startswith("a2a_store_")
            }
        await asyncio.sleep(0.01)


def build_message(skill: str) -> bytes:
    """Build a request with a message to a skill."""
    return json.dumps(
        {
            "message": {
                "messageId": "m",
                "role": "ROLE_USER",
                "parts": [{"text": "x"}],
                "metadata": {"skillId": skill},
            }
        }
    ).encode()


def test_queue_time_lag_and_refusals_are_measured() -> None:
    """Of every run, of the status updates of streams, and of callers that are not admitted."""
    surface = Surface(build_agent(), gate=HeaderGate(), limits=Limits(streams=1))
    with TestClient(create_app(surface, settings=SETTINGS)) as client:
        message = {
            "messageId": "m",
            "role": "ROLE_USER",
            "parts": [{"text": "x"}],
            "metadata": {"skillId": "echo"},
        }
        assert (
            "completed"
            in client.post(
                "/message:stream", json={"message": message}, headers={"a2a-version": "1.0"}
            ).text.lower()
        )
        assert (
            client.get("/tasks", headers={"a2a-version": "1.0", "x-name": "refused"}).status_code
            == 403
        )
        samples = read_samples(client)
    assert samples["a2a_queue_seconds_count", frozenset({"skill": "echo"}.items())] == 1
    assert samples["a2a_event_lag_seconds_count", frozenset()] >= 1
    assert samples["a2a_refusals_total", frozenset({"reason": "PERMISSION_DENIED"}.items())] == 1
    assert samples["a2a_notifier_connected", frozenset()] == 1


async def test_a_lost_notifier_is_seen(postgres_url: str) -> None:
    """The gauge is 0 while notifications of other processes do not arrive, and 1 again with the
    connection.
    """
    database = postgres_url.rpartition("/")[2].partition("?")[0]
    outside = await asyncpg.connect(postgres_url, database="postgres")
    try:
        async with AsyncTestClient(
            create_app(build_agent(), store=postgres_url, settings=SETTINGS)
        ) as client:
            await wait_for_sample(client, "a2a_notifier_connected", 1)
            await outside.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
            await outside.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
                database,
            )
            await wait_for_sample(client, "a2a_notifier_connected", 0)
            await outside.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
            await wait_for_sample(client, "a2a_notifier_connected", 1)
    finally:
        await outside.close()


async def wait_for_sample(client: AsyncTestClient[Litestar], name: str, value: float) -> None:
    """Wait until a metric without labels has a value."""
    async with asyncio.timeout(30):
        while parse_samples((await client.get("/metrics")).text)[name, frozenset()] != value:  # noqa: ASYNC110 - a scrape has no event
            await asyncio.sleep(0.02)


async def test_the_backlog_of_webhooks_is_counted(store: Store) -> None:
    """Deliveries that are in the store, also those that wait for their next attempt."""
    assert isinstance(store, CountedOutbox)
    await store.open()
    try:
        assert await store.count_deliveries() == 0
        config = TaskPushNotificationConfig(id="c", task_id="t", url="https://receiver.example")
        sent = Message(message_id="m", role=Role.USER, parts=[Part(text="x")])
        scope = Caller("ada").task_scope("s")
        await store.create_task(
            scope, NewTask("c-1", sent, "echo", "v1_0", wire_id="t", push_config=config)
        )
        assert await store.count_deliveries() == 1
        (delivery,) = await store.claim_due(10)
        assert await store.retry(delivery, 60)
        assert await store.count_deliveries() == 1
    finally:
        await store.close()


def test_skills_of_a_source_are_bounded() -> None:
    """Beyond a number of skills the others are counted together."""
    metrics = Metrics()
    for number in range(10 * MAX_SKILLS):
        metrics.run_ended(f"skill-{number}", "completed", 0.1)
    assert len(metrics.run_seconds) == MAX_SKILLS + 1
    assert metrics.runs[OTHER, "completed"] == 9 * MAX_SKILLS


def test_the_dashboard_and_the_alerts_read_metrics_that_exist(client: TestClient[Litestar]) -> None:
    """Every name and label in an expression is one that is served; each rule has a severity and
    texts.
    """
    for number, skill in enumerate(("echo", "fail")):
        send(client, skill, number)
    served = {name for name, _ in read_samples(client)} | {
        "a2a_store_failures_total",
        "a2a_tokens_total",
        "a2a_cost_total",
        "a2a_push_attempts_total",
        "a2a_refusals_total",
    }
    labels = {label for _, found in read_samples(client) for label, _ in found} | {
        "job",
        "instance",
        "kind",
        "currency",
        "reason",
    }
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    rules = [
        rule
        for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
        for rule in group["rules"]
    ]
    expressions = [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ] + [rule["expr"] for rule in rules]
    (scaled,) = yaml.safe_load_all(
        (DEPLOY / "hello" / "deploy" / "kubernetes" / "agent-autoscaling.yaml").read_text()
    )
    expressions += [
        trigger["metadata"]["query"]
        for trigger in scaled["spec"]["triggers"]
        if trigger["type"] == "prometheus"
    ]
    used = {name for expression in expressions for name in re.findall(r"\ba2a_\w+", expression)}
    assert used - served == set()
    grouped = {
        label
        for expression in expressions
        for group in re.findall(r"by \(([^)]*)\)", expression)
        for label in re.split(r",\s*", group)
    }
    matched = {
        label for expression in expressions for label in re.findall(r"[{,]\s*(\w+)\s*=", expression)
    }
    assert (grouped | matched) - labels == set()
    assert [
        rule["alert"]
        for rule in rules
        if not (
            rule["labels"]["severity"] and rule["annotations"].keys() >= {"summary", "description"}
        )
    ] == []
    assert len(
        {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]}
    ) == len(dashboard["panels"])
