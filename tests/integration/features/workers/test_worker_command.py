"""``a2a-gen worker`` as a process: what it prints, its probes, its end, and the starts that it
refuses; the tables that it needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from importlib.resources import files
from pathlib import Path
from urllib.error import HTTPError

import asyncpg
import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.cli.worker import find_plugin
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.postgres import PostgresStore, upgrade, upgrade_queue
from a2a_runtime.features.workers.probes import build_response, serve_probes
from a2a_runtime.features.workers.worker import WorkerState
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.testing.agent import run_agent
from a2a_runtime.testing.embedded_postgres import DatabaseFactory

pytestmark = pytest.mark.anyio

AGENT = """
from a2a_runtime.agent import Agent
agent = Agent("maths")

@agent.skill("add", runs_on="workers", queue="sums", concurrency=2)
async def add(ctx):
    return str(sum(map(int, ctx.text.split())))

@agent.skill("quick")
async def quick(ctx):
    return "here"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an agent."""
    (tmp_path / "maths.py").write_text(AGENT, encoding="utf-8")
    return tmp_path


def start_worker(project: Path, store: str, *options: str) -> subprocess.Popen[str]:
    """Start the command."""
    command = [sys.executable, "-m", "a2a_gen", "worker", "maths:agent", "--store", store, *options]
    environment = {**os.environ, "A2A_SHUTDOWN_GRACE": "0"}
    return subprocess.Popen(
        command,
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(process: subprocess.Popen[str], last: str) -> list[str]:
    """Read the lines that a process prints, up to one of them."""
    lines = list[str]()
    assert process.stderr is not None
    for line in process.stderr:
        lines.append(line.strip())
        if line.strip() == last:
            return lines
    raise AssertionError("\n".join(lines))


def request(url: str) -> tuple[int, object]:
    """Request a probe."""
    try:
        # The URL belongs to the test.
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310
            return response.status, json.loads(response.read())
    except HTTPError as error:
        return error.code, None


@pytest.mark.slow
async def test_the_command_says_what_it_serves_and_stops_gracefully(
    project: Path, postgres_url: str
) -> None:
    """It runs tasks of the skills on workers, answers its probes, and ends with 0 on SIGTERM."""
    process = start_worker(project, postgres_url, "--port", "0")
    try:
        lines = await asyncio.to_thread(read_until, process, "worker: ready")
        assert "queue sums@maths: add (2 at once)" in lines
        (probes,) = [match[1] for line in lines if (match := re.fullmatch(r"probes: (\S+)", line))]
        status, state = await asyncio.to_thread(request, f"{probes}/ready")
        assert (status, state) == (200, {"status": "ready"})
        assert (await asyncio.to_thread(request, f"{probes}/livez"))[0] == 200
        assert (await asyncio.to_thread(request, f"{probes}/metrics"))[0] == 404
    finally:
        process.send_signal(signal.SIGTERM)
    _, rest = await asyncio.to_thread(process.communicate, timeout=60)
    assert (process.returncode, rest.strip()) == (
        0,
        "worker: stopping; running handlers have their grace time",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "options", "text"),
    [
        (
            "memory",
            (),
            (
                "MemoryStore: no queue for workers, which this store does not have; set store = "
                '"postgresql://…" (A2A_STORE)'
            ),
        ),
        ("postgresql://agent@127.0.0.1:1/none", (), "127.0.0.1:1/none: unavailable"),
        ("POSTGRES", ("--queue", "sms"), "worker: no skill runs on workers; set runs_on"),
    ],
    ids=["memory", "no database", "no such queue"],
)
async def test_a_start_that_cannot_work_ends_with_its_cure(
    project: Path, store: str, options: tuple[str, ...], text: str, postgres_url: str
) -> None:
    """One line and an exit code, no traceback."""
    process = start_worker(project, postgres_url if store == "POSTGRES" else store, *options)
    _, errors = await asyncio.to_thread(process.communicate, timeout=60)
    assert text in errors
    assert "Traceback" not in errors
    assert process.returncode == (2 if "127.0.0.1:1" in store else 1)


def test_an_agent_is_worked_for_wherever_apps_mount_it() -> None:
    """At the root of an app of agents, and at its path in the app of a host: a task belongs to the
    surface that has accepted it.
    """
    agent = Agent("maths")

    @agent.skill("add")
    async def add(_ctx: TaskContext) -> str:
        return "0"

    worked_for = {each.storage_key for each in find_plugin("maths:agent", agent).surfaces}
    assert worked_for == {
        each.storage_key
        for app in (create_app(agent), A2APlugin(agent))
        for each in find_plugin("maths:app", app).surfaces
    }


def test_probes_follow_the_state_of_the_worker() -> None:
    """It is ready while it fetches jobs and reaches the database, and alive in any case."""
    state = WorkerState()
    states = [(False, True, 503), (True, True, 200), (True, False, 503)]
    for state.is_ready, state.is_connected, status in states:
        assert build_response("GET /ready HTTP/1.1\r\n", state).startswith(b"HTTP/1.1 %d " % status)
        assert build_response("GET /livez?x=1 HTTP/1.1\r\n", state).startswith(b"HTTP/1.1 200 ")
    for line in ("POST /ready HTTP/1.1", "GET / HTTP/1.1", "", "nonsense"):
        assert build_response(line, state).startswith(b"HTTP/1.1 404 ")
    assert build_response("HEAD /livez HTTP/1.1", state).endswith(b"\r\n\r\n")


async def test_a_probe_outlives_senseless_requests() -> None:
    """Endless lines and clients that send nothing and go do not stop the server."""
    async with serve_probes(WorkerState(), "127.0.0.1", 0) as port:
        for text in (b"x" * 10_000, b""):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(text)
            writer.close()
        assert (await asyncio.to_thread(request, f"http://127.0.0.1:{port}/livez"))[0] == 200


async def test_the_upgrade_brings_older_tables_of_the_engine_up_to_date(
    postgres_databases: DatabaseFactory,
) -> None:
    """Only the steps that are missing are applied; tables of another program are left to it."""
    folder = files("procrastinate").joinpath("sql", "migrations")
    steps = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    url = await postgres_databases.create_empty()
    await upgrade(url)
    connection = await asyncpg.connect(url)
    for name in steps[:-2]:
        await connection.execute(folder.joinpath(name).read_text(encoding="utf-8"))
    assert await upgrade_queue(url) == []
    await connection.executemany(
        "INSERT INTO a2a_queue_steps (name) VALUES ($1)", [(name,) for name in steps[:-2]]
    )
    await connection.close()
    assert await upgrade_queue(url) == steps[-2:]
    assert await upgrade_queue(url) == []

    async def echo(_ctx: object) -> str:
        return "done"

    async with (
        run_agent(echo, store=PostgresStore(url), worker_store=PostgresStore(url)) as one,
        asyncio.timeout(30),
    ):
        assert (await one.send("hi")).artifacts
