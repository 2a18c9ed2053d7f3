"""Probes of an app: what they say while it runs, without its database, and while it stops."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from litestar import Litestar, get
from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException
from litestar.middleware import (
    AbstractAuthenticationMiddleware,
    AuthenticationResult,
    DefineMiddleware,
)
from litestar.testing import TestClient

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface
from a2a_runtime.testing.ports import find_free_port

APP = """
from a2a_runtime import Agent, create_app
agent = Agent("probed")
agent.add("echo", lambda ctx: ctx.text)
app = create_app(agent, store="memory")
"""
PROBES = ("/livez", "/readyz", "/ready", "/health")


def build_agent() -> Agent:
    """Build an agent with one skill."""
    agent = Agent("probed")

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        """Say the same."""
        return ctx.text

    return agent


def read_statuses(client: TestClient[Litestar], prefix: str = "") -> list[int]:
    """Read all probes."""
    return [client.get(f"{prefix}{path}").status_code for path in PROBES]


def test_every_app_is_probed() -> None:
    """The body of /health has what registries of modules and of a mesh ask for."""
    with TestClient(create_app(build_agent())) as client:
        assert read_statuses(client) == [200] * 4
        health = client.get("/health").json()
        assert health.pop("uptime_seconds") >= 0
        assert health == {"status": "healthy", "registry": "none", "module_count": 1}


@pytest.mark.parametrize(
    ("path", "at_root", "below"), [("off", 404, 404), ("/probes", 404, 200), ("/probes/", 404, 200)]
)
def test_the_path_is_the_operators(path: str, at_root: int, below: int) -> None:
    """Probes are moved below a path, or switched off."""
    with TestClient(create_app(build_agent(), settings=Settings(health_path=path))) as client:
        assert read_statuses(client) == [at_root] * 4
        assert read_statuses(client, "/probes") == [below] * 4


class Refusing(AbstractAuthenticationMiddleware):
    """Authentication of a host that refuses every request."""

    async def authenticate_request(
        self, connection: ASGIConnection[object, object, object, object]
    ) -> AuthenticationResult:  # type: ignore[override]
        """Refuse."""
        raise NotAuthorizedException(f"not you, at {connection.url.path}")


def test_a_host_keeps_its_routes_and_probes_need_no_credentials() -> None:
    """A route of the host at one of the paths wins; the authentication of the host leaves the
    others open.
    """

    @get("/health", exclude_from_auth=True)
    async def health() -> dict[str, str]:
        return {"host": "fine"}

    plugin = A2APlugin(Surface(build_agent(), "/agent", gate=OpenGate()))
    with TestClient(
        Litestar([health], plugins=[plugin], middleware=[DefineMiddleware(Refusing)])
    ) as client:
        assert client.get("/health").json() == {"host": "fine"}
        assert read_statuses(client) == [200] * 4


def test_a_store_that_is_gone_makes_the_process_unready(tmp_path: Path) -> None:
    """The card still says 200, /readyz says which part fails; with the file back the process is
    ready again.
    """
    file = tmp_path / "tasks.db"
    with TestClient(create_app(build_agent(), store=f"sqlite:///{file}")) as client:
        assert read_statuses(client) == [200] * 4
        for path in tmp_path.glob("tasks.db*"):
            path.rename(path.with_name(f"away-{path.name}"))
        _wait_for(client, 503)
        assert read_statuses(client) == [200, 503, 503, 503]
        assert client.get("/readyz").json() == {
            "status": "not ready",
            "faults": {"store": "unavailable"},
        }
        health = client.get("/health").json()
        assert (health["status"], health["reason"]) == ("unhealthy", "store: unavailable")
        assert client.get("/.well-known/agent-card.json").status_code == 200
        for path in tmp_path.glob("away-*"):
            path.rename(path.with_name(path.name.removeprefix("away-")))
        _wait_for(client, 200)


def _wait_for(client: TestClient[Litestar], status: int) -> None:
    deadline = time.monotonic() + 30
    while client.get("/readyz").status_code != status:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_says_that_it_is_about_to_stop(tmp_path: Path) -> None:
    """With --drain-delay the port is served after SIGTERM while /readyz says 503; a second signal
    ends the delay.
    """
    (tmp_path / "probed.py").write_text(APP)
    port = find_free_port()
    words = [
        sys.executable,
        "-m",
        "a2a_gen",
        "serve",
        "probed:app",
        "--port",
        str(port),
        "--drain-delay",
        "60",
    ]
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
        subprocess.Popen(words, cwd=tmp_path) as process,
    ):
        try:
            _wait_for_server(client, 200)
            process.send_signal(signal.SIGTERM)
            _wait_for_server(client, 503)
            assert client.get("/readyz").json()["faults"] == {"server": "stopping"}
            assert client.get("/livez").status_code == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def _wait_for_server(client: httpx.Client, status: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if client.get("/readyz").status_code == status:
                return
        except httpx.ConnectError:
            pass
        time.sleep(0.05)
    raise TimeoutError(status)
