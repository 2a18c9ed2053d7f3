"""A mesh producer as a process: a registry on a socket, signals, crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from conformance.mesh.producer import Consumer, message, summarize_event, text_of
from integration.outcome_agent import serve_on_socket

from a2a_runtime.testing.ports import find_free_port
from a2a_runtime.testing.registry import FakeRegistry

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("mesh_process.py")
PREFIX = "https://agents.example.test/public"


@contextmanager
def producer(
    port: int, store: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    """Serve in a process, and kill it in the end."""
    quiet = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("A2A_", "MCP_MESH_"))
    }
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(port), store], env={**quiet, **environment}
    ) as process:
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10
            ) as client:
                eventually(lambda: client.get("/livez").is_success, httpx.TransportError)
                yield process, client
        finally:
            process.kill()


def eventually(holds: Callable[[], object], *excused: type[Exception], seconds: float = 60) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if holds():
                return
        except excused:
            pass
        time.sleep(0.05)
    raise AssertionError("it never came to that")


@pytest.fixture
def port() -> int:
    """A free port."""
    return find_free_port()


@pytest.mark.requirement("mesh", "H6", "D1")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_producer_registers_and_deregisters(port: int, stop: signal.Signals) -> None:
    """Its card has the public URL, and every signal ends in a deregistration."""
    registry = FakeRegistry(prefix=PREFIX)
    with serve_on_socket(registry) as neighbour:
        environment = {
            "MCP_MESH_REGISTRY_URL": str(neighbour.base_url),
            "A2A_HTTP_PORT": str(port),
            "A2A_HEALTH_INTERVAL": "0.1",
        }
        with producer(port, "memory", **environment) as (process, client):
            eventually(lambda: registry.agents)
            (row,) = registry.agents.values()
            assert (row.facts["agent_type"], row.facts["name"], row.facts["http_host"]) == (
                "a2a",
                "restarting-producer",
                "127.0.0.1",
            )
            eventually(
                lambda: (
                    client.get("/agents/report/.well-known/agent.json").json()["url"]
                    == f"{PREFIX}/agents/report"
                )
            )
            eventually(
                lambda: any(each.startswith("HEAD /heartbeat/") for each in registry.requests)
            )
            assert (
                client.get("/health").json().items()
                >= {"status": "healthy", "registry": "known"}.items()
            )
            assert registry.list_surfaces()["surfaces"][0]["skill_id"] == "report"
            process.send_signal(stop)
            process.wait(15)
        assert registry.requests[-1] == f"DELETE /agents/{row.facts['agent_id']}"
        assert not row.is_healthy


def test_a_producer_serves_without_its_registry(port: int) -> None:
    """A producer starts, is ready and serves while its registry is away."""
    with producer(port, "memory", A2A_REGISTRY_URL="http://127.0.0.1:9") as (_, client):
        assert client.get("/ready").status_code == 200
        assert (
            text_of(Consumer(client, "/agents/report").task("tasks/send", message=message("x")))
            == "x done"
        )
        assert (
            client.get("/health").json().items()
            >= {"status": "healthy", "registry": "unknown"}.items()
        )


@pytest.mark.requirement("mesh", "G3", "R3", "R4", "D25")
def test_tasks_outlive_their_producer(port: int, tmp_path: Path) -> None:
    """After a crash finished and running tasks are read and followed as before, also one that was
    answered early; a lost job fails its task.
    """
    store = f"sqlite:///{tmp_path}/tasks.db"
    with producer(port, store) as (process, client):
        report = Consumer(client, "/agents/report")
        report.task("tasks/send", id="finished", message=message("quick"))
        finished = report.until("finished", "completed")
        assert (
            report.task("tasks/send", id="slow", message=message("long"))["status"]["state"]
            == "working"
        )
        assert (
            report.task("tasks/send", id="lost", message=message("job"))["status"]["state"]
            == "working"
        )
        with report.open_stream(
            "tasks/sendSubscribe", id="long", message=message("long")
        ) as response:
            assert response.status_code == 200
            eventually(lambda: report.task("tasks/get", id="long").get("metadata"))
            process.kill()
            process.wait(5)
    with producer(port, store) as (_, client):
        report = Consumer(client, "/agents/report")
        assert report.task("tasks/get", id="finished") == finished
        assert [
            summarize_event(event)[0] for event in report.stream("tasks/resubscribe", id="finished")
        ] == ["working", "artifact", "completed"]
        assert [
            summarize_event(event)[0] for event in report.stream("tasks/resubscribe", id="long")
        ][-2:] == ["artifact", "completed"]
        assert text_of(report.task("tasks/get", id="long")) == "long done"
        assert text_of(report.until("slow", "completed")) == "long done"
        lost = report.until("lost", "failed")
        assert (
            lost["status"]["message"]["parts"][0]["text"]
            == "The background job of this task was lost"
        )
        (event,) = report.stream("tasks/resubscribe", id="lost")
        assert summarize_event(event)[0::3] == ("failed", True)
        assert (
            report.error("tasks/send", {"id": "lost", "message": message("again")})["code"]
            == -32602
        )
