"""Apps in processes of their own: how they are served, and starts that fail."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from integration.shouting_project import SKILLS

from a2a_runtime.testing.ports import find_free_port


def test_importing_the_module_of_the_app_reads_nothing(tmp_path: Path) -> None:
    """The app of the project is built on first access."""
    code = "import a2a_runtime.app as app; app.create_app; print('fine')"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == "fine\n", found.stderr


def environment() -> dict[str, str]:
    """Let a subprocess find the packages of this process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "A2A_CANCEL_GRACE": "0.2"}


def run(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command in a folder."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ask(port: int, process: subprocess.Popen[str]) -> httpx.Response:
    """Ask a server for a card, as soon as it has started."""
    for _ in range(1200):
        assert process.poll() is None, process.communicate()[0]
        try:
            return httpx.get(
                f"http://127.0.0.1:{port}/a/.well-known/agent-card.json", trust_env=False
            )
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the server did not start")


SERVE = "from a2a_runtime.cli.serve import command; command()"


SERVERS = [
    ("-c", SERVE),
    ("-m", "litestar", "--app", "a2a_runtime.app:app", "run"),
    ("-m", "uvicorn", "a2a_runtime.app:app"),
]


@pytest.mark.parametrize("command", SERVERS, ids=["a2a-gen serve", "litestar run", "uvicorn"])
def test_a_project_is_served(shouting_folder: Path, command: tuple[str, ...]) -> None:
    """By our own command and by those that people have; it stops when it is told to, and says that
    all was well.
    """
    port = find_free_port()
    server = run(shouting_folder, *command, "--port", str(port))
    try:
        assert ask(port, server).json()["name"] == "shouter"
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=120)
    if command == SERVERS[0]:
        assert server.returncode == 0, output
    assert (shouting_folder / "tasks.db").exists()


WHO_CALLS = """
async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            await send({"type": (await receive())["type"] + ".complete"})
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["client"][0].encode()})
"""


@pytest.mark.parametrize(
    ("words", "caller"),
    [((), "127.0.0.1"), (("--forwarded-allow-ips", "127.0.0.1"), "10.0.0.1")],
    ids=["nobody", "a proxy"],
)
def test_only_trusted_proxies_set_the_client_address(
    tmp_path: Path, words: tuple[str, ...], caller: str
) -> None:
    """The client is the connected address unless that is a trusted proxy; no log contains the query
    of a request, where keys may be.
    """
    (tmp_path / "who.py").write_text(WHO_CALLS)
    port = find_free_port()
    server = run(tmp_path, "-c", SERVE, "who:asgi", "--port", str(port), *words)
    try:
        ask(port, server)
        url = f"http://127.0.0.1:{port}/tasks?key=hush"
        assert (
            httpx.get(url, headers={"x-forwarded-for": "10.0.0.1"}, trust_env=False).text == caller
        )
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=120)
    assert "GET /tasks 200 in" in output
    assert "hush" not in output


AGENT = (
    "from a2a_runtime import Agent, create_app\nagent = Agent('a', "
    "description='b')\nagent.add('c', lambda ctx: 'd')\napp = create_app(agent)\n"
)


STORES = ("sqlite:////nowhere/tasks.db", "sqlit:///tasks.db", "postgresql://ada@127.0.0.1:1/tasks")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere:app",), 1, "nowhere"),
        (("shouting:app",), 1, "module:attribute"),
        ((), 1, "a2a.toml: not found"),
        (
            ("agent:app", "--mcp", "python -m tools"),
            1,
            "agent:app: not served beside --extensions-dir or --mcp; leave it out",
        ),
        (("--prt", "1"), 1, "'--port'"),
        (("tokens:app",), 1, "pip install 'a2a-gen[auth]'"),
        (("shouting:nothing", "--ssl-certfile", "shouting.py"), 1, "give files with a certificate"),
        (
            ("shouting:nothing", "--port", "{taken}"),
            2,
            "address already in use; stop what runs there",
        ),
        pytest.param(
            ("agent:app", "--store", STORES[0]),
            2,
            "/nowhere/tasks.db: the folder does not exist; create it",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ("agent:app", "--store", STORES[1]),
            1,
            "is not a store URL; use memory",
            marks=pytest.mark.soak,
        ),
        (("agent:app", "--store", STORES[2]), 2, "check that the server runs"),
        (("agent:app", "--env-file", "variables"), 1, "is not a store URL; use memory"),
        (
            ("agent:app", "--check", "--store", STORES[0]),
            2,
            "/nowhere/tasks.db: the folder does not exist; create it",
        ),
        (
            ("agent:app", "--check", "--store", "sqlite:///."),
            2,
            ".: a folder; name a file in it, such as tasks.db",
        ),
        pytest.param(
            ("agent:app", "--check", "--store", STORES[1]),
            1,
            "is not a store URL; use memory",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_start_that_fails_is_one_line_and_an_exit_code(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    """1 for a configuration that cannot be used, 2 for a start that fails."""
    (tmp_path / "shouting.py").write_text(
        SKILLS.replace("nothing = 7", "from litestar import Litestar\nnothing = Litestar()")
    )
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "tokens.py").write_text("raise ModuleNotFoundError(name='jwt')\n")
    (tmp_path / "variables").write_text(f"A2A_STORE={STORES[1]}\n")
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        port = str(taken.getsockname()[1])
        free = str(other.getsockname()[1])
        other.close()
        arguments = [word.format(taken=port) for word in words]
        server = run(
            tmp_path, "-c", SERVE, *arguments, *(() if "--port" in words else ("--port", free))
        )
        output, _ = server.communicate(timeout=120)
    assert server.returncode == code, output
    assert said in output.splitlines()[-1]
    assert "Traceback" not in output


def test_a_check_opens_the_store(tmp_path: Path) -> None:
    """Also beside a process that runs on it; what could be served is printed."""
    (tmp_path / "agent.py").write_text(AGENT)
    for _ in range(2):
        check = run(tmp_path, "-c", SERVE, "agent:app", "--check", "--store", "sqlite:///tasks.db")
        output, _ = check.communicate(timeout=120)
        assert (check.returncode, output) == (0, "ready to serve: a at /, 1 skill; SqliteStore\n")
    assert (tmp_path / "tasks.db").exists()


def test_an_app_that_raises_at_start_shows_where(tmp_path: Path) -> None:
    """Its traceback begins at its own code."""
    (tmp_path / "broken.py").write_text(
        "from litestar import Litestar\n\ndef fail():\n    raise KeyError('tea')\n\napp = "
        "Litestar(on_startup=[fail])\n"
    )
    server = run(tmp_path, "-c", SERVE, "broken:app", "--port", "0")
    output, _ = server.communicate(timeout=120)
    assert server.returncode == 2, output
    assert "in fail" in output
    assert output.splitlines()[-1] == "KeyError: 'tea'"
