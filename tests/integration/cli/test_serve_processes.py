"""``a2a-gen serve`` as several processes, with reloads, and the settings that it shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from a2a_runtime.testing.ports import find_free_port

AGENT = """
import os
from a2a_runtime import Agent, create_app

agent = Agent("served", description="{words}")
agent.add("pid", lambda ctx: str(os.getpid()))
app = create_app(agent)
"""
HOSTED = """
from starlette.applications import Starlette
from a2a_runtime import Surface
from a2a_runtime.auth import PresenceGate
from a2a_runtime.starlette import mount_agents

hosted = Starlette()
mount_agents(hosted, "/agent", Surface(agent, gate=PresenceGate()))
"""
PROJECT = """
store = "sqlite:///here.db"

[retention]
tasks = 60

[agent]
name = "a"
description = "b"
version = "1"

[skills.s]
description = "c"
handler = "x:y"
"""
WAIT_SECONDS = 60.0
PASSWORD = "hush-7f3a"  # noqa: S105 - of nothing


def start(folder: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Start the command, with variables besides those of this process."""
    command = [sys.executable, "-m", "a2a_gen", "serve", *words]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("A2A_")}
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**inherited, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until(is_done: Callable[[], bool], server: subprocess.Popen[str]) -> None:
    """Wait for a condition while a server runs."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_done():
        assert server.poll() is None, server.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def read_card(port: int) -> str:
    """Read the description of the agent; empty while it does not answer."""
    try:
        return str(
            httpx.get(
                f"http://127.0.0.1:{port}/.well-known/agent-card.json", trust_env=False
            ).json()["description"]
        )
    except (httpx.TransportError, ValueError):
        return ""


def ask_process(port: int) -> int:
    """Ask for the process that runs a task, over a connection of its own; 0 while none answers."""
    message = {"messageId": os.urandom(8).hex(), "role": "ROLE_USER", "parts": [{"text": "x"}]}
    try:
        url = f"http://127.0.0.1:{port}/message:send"
        task = httpx.post(
            url, json={"message": message}, headers={"a2a-version": "1.0"}, trust_env=False
        ).json()["task"]
        return int(task["artifacts"][0]["parts"][0]["text"])
    except (httpx.TransportError, KeyError, ValueError):
        return 0


def find_processes(port: int, known: set[int], server: subprocess.Popen[str]) -> set[int]:
    """Ask until two processes have answered."""
    found = set(known)

    def has_two() -> bool:
        found.update(filter(None, (ask_process(port),)))
        return len(found) >= 2

    wait_until(has_two, server)
    return found


def test_processes_share_a_port(tmp_path: Path, postgres_url: str) -> None:
    """One that is killed is replaced; all stop together, and no secret is among their arguments or
    in their log.
    """
    (tmp_path / "served.py").write_text(AGENT.format(words="one"))
    (tmp_path / "store").write_text(postgres_url)
    port = find_free_port()
    server = start(
        tmp_path,
        "served:app",
        "--port",
        str(port),
        "--workers",
        "2",
        A2A_STORE_FILE=str(tmp_path / "store"),
    )
    try:
        first = find_processes(port, set(), server)
        assert server.pid not in first
        arguments = [Path(f"/proc/{each}/cmdline").read_text() for each in (server.pid, *first)]
        assert not any("postgres" in each for each in arguments)
        killed = first.pop()
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: ask_process(port) not in {0, killed, *first}, server)
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=WAIT_SECONDS)
    assert server.returncode == 0, output
    assert f"server process {killed} has ended (-9): starting another" in output
    assert postgres_url not in output


@pytest.mark.parametrize(
    "store", [pytest.param("memory", marks=pytest.mark.soak), "sqlite:///tasks.db"]
)
def test_a_store_of_one_process_is_refused(tmp_path: Path, store: str) -> None:
    """Several processes on such a store are refused in one line, before any starts."""
    (tmp_path / "served.py").write_text(AGENT.format(words="one"))
    server = start(
        tmp_path, "served:app", "--port", str(find_free_port()), "--workers", "2", "--store", store
    )
    output, _ = server.communicate(timeout=WAIT_SECONDS)
    assert server.returncode == 1
    assert output.splitlines()[-1] == (
        "error: --workers 2: the store belongs to one process; set --store postgresql://…, "
        "or --workers 1"
    )


def test_an_open_agent_is_refused_beyond_this_machine(tmp_path: Path) -> None:
    """In one line with the cure; an app of another framework too, whose agents only their start can
    find. ``--open`` serves it.
    """
    (tmp_path / "served.py").write_text(AGENT.format(words="one") + HOSTED)
    # The test is about this address.
    everywhere = ("--host", "0.0.0.0", "--port", str(port := find_free_port()))  # noqa: S104
    servers = [start(tmp_path, f"served:{name}", *everywhere) for name in ("app", "hosted")]
    for server, problem in zip(
        servers, ("nothing identifies its callers", "verifies no token"), strict=True
    ):
        output, _ = server.communicate(timeout=WAIT_SECONDS)
        assert server.returncode == 1, output
        assert (
            f"{problem}, and other machines can reach 0.0.0.0; set auth in a2a.toml"
            in output.splitlines()[-1]
        )
    opened = start(tmp_path, "served:app", *everywhere, "--open")
    try:
        wait_until(lambda: read_card(port) == "one", opened)
    finally:
        opened.send_signal(signal.SIGTERM)
        output, _ = opened.communicate(timeout=WAIT_SECONDS)
    assert "callers: /: every client\n" in output


def test_processes_that_cannot_start_end_the_command(tmp_path: Path) -> None:
    """With the exit code and the line of the first of them; nothing is started for ever."""
    (tmp_path / "served.py").write_text(AGENT.format(words="one"))
    address = "postgresql://ada@127.0.0.1:1/tasks"
    server = start(
        tmp_path,
        "served:app",
        "--port",
        str(find_free_port()),
        "--workers",
        "2",
        "--store",
        address,
    )
    output, _ = server.communicate(timeout=WAIT_SECONDS)
    assert server.returncode == 2, output
    assert "check that the server runs" in output


def test_a_change_of_the_code_starts_again(tmp_path: Path) -> None:
    """A file that cannot be imported is waited for: the next change starts again."""
    module = tmp_path / "served.py"
    module.write_text(AGENT.format(words="one"))
    port = find_free_port()
    server = start(tmp_path, "served:app", "--port", str(port), "--reload")
    try:
        wait_until(lambda: read_card(port) == "one", server)
        module.write_text("this is no Python")
        wait_until(lambda: read_card(port) == "", server)
        wait_until(Rewriting(module, port), server)
    finally:
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=WAIT_SECONDS)
    assert server.returncode == 0, output
    assert "files have changed" in output


class Rewriting:
    """Writes a module until it is served: a change during a start may be one change with that
    before. Each change has the time of a start.
    """

    def __init__(self, module: Path, port: int) -> None:
        self._module = module
        self._port = port
        self._next_write = 0.0

    def __call__(self) -> bool:
        """Return whether the module is served."""
        if read_card(self._port) == "two":
            return True
        if time.monotonic() >= self._next_write:
            self._module.write_text(AGENT.format(words="two"))
            self._next_write = time.monotonic() + WAIT_SECONDS / 4
        return False


def test_show_settings_lists_sources(tmp_path: Path) -> None:
    """From the file, the environment, a secret's own file, an option and the default; secrets are
    masked.
    """
    (tmp_path / "a2a.toml").write_text(PROJECT)
    (tmp_path / "keys").write_text(PASSWORD)
    address = f"postgresql://u:{PASSWORD}@db/x"
    words = ("--show-settings", "--log-format", "json")
    variables = {
        "A2A_SHUTDOWN_GRACE": "45",
        "A2A_ENCRYPTION_KEYS_FILE": str(tmp_path / "keys"),
        "A2A_STORE_DIRECT": address,
        "A2A_AGENT_ID": "a-1",
    }
    output, _ = (server := start(tmp_path, *words, **variables)).communicate(timeout=WAIT_SECONDS)
    assert server.returncode == 0, output
    values = {line.split()[0]: line.split()[1:] for line in output.splitlines()}
    assert values["A2A_SHUTDOWN_GRACE"] == ["45", "A2A_SHUTDOWN_GRACE"]
    assert values["A2A_STORE"] == ["sqlite://***", "a2a.toml"]
    assert values["A2A_TASK_RETENTION"] == ["60", "a2a.toml"]
    assert values["A2A_ENCRYPTION_KEYS"] == ["***", f"A2A_ENCRYPTION_KEYS_FILE={tmp_path / 'keys'}"]
    assert values["A2A_STORE_DIRECT"] == ["postgresql://***", "A2A_STORE_DIRECT"]
    assert values["A2A_LOG_FORMAT"] == ["json", "--log-format"]
    assert values["A2A_PUSH_CONCURRENCY"] == ["64", "default"]
    assert values["A2A_AGENT_ID"] == ["a-1", "A2A_AGENT_ID"]
    assert PASSWORD not in output


def test_settings_that_cannot_be_used_are_one_line(tmp_path: Path) -> None:
    """Invalid settings are one line on stderr, with exit code 1."""
    output, _ = (
        server := start(tmp_path, "--show-settings", A2A_LEASE_DURATION="soon")
    ).communicate(timeout=WAIT_SECONDS)
    assert (server.returncode, output.splitlines()[-1]) == (
        1,
        "error: A2A_LEASE_DURATION: 'soon' is not a number",
    )


def test_a_password_among_the_arguments_is_warned_of(tmp_path: Path) -> None:
    """The list of processes has it; the warning names the cure, and not the password."""
    output, _ = start(
        tmp_path, "--show-settings", "--store", f"postgresql://u:{PASSWORD}@db/x"
    ).communicate(timeout=WAIT_SECONDS)
    assert "--store: its password is visible in the list of processes; set A2A_STORE_FILE" in output
    assert PASSWORD not in output
