"""`a2a-gen dev` during edits of an agent."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from a2a_gen.entry import main
from a2a_runtime.testing.ports import find_free_port

COMMAND = [sys.executable, "-m", "a2a_gen", "dev", "--port"]


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was just started."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "hello"]) == 0
    return tmp_path / "hello"


@pytest.fixture
def port() -> int:
    """A free port."""
    return find_free_port()


@contextmanager
def working_on(project: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command until it serves, and end it whatever happens; what it says is in a file of
    the project.
    """
    with (
        (project / "said.log").open("wb") as log,
        subprocess.Popen([*COMMAND, str(port)], cwd=project, stdout=log, stderr=log) as process,
    ):
        try:
            until(lambda: is_served(port), project)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was told to end, and leave none behind that does not."""
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def is_served(port: int) -> bool:
    """Return whether the card is served."""
    return bool(card(port))


def until(is_so: Callable[[], bool], project: Path) -> None:
    """Wait until something is so."""
    for _ in range(300):
        if is_so():
            return
        time.sleep(0.1)
    raise TimeoutError((project / "said.log").read_text())


def test_calls_are_logged_by_what_they_are(hello: Path, port: int) -> None:
    """Over JSON-RPC all calls are one path: the log names the operation, the skill and how its task
    ended. The port is free after SIGTERM.
    """
    with working_on(hello, port) as process:
        message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"data": {"name": "Ada"}}]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = httpx.post(
            f"http://127.0.0.1:{port}/", json=call, headers={"A2A-Version": "1.0"}, trust_env=False
        ).json()
        assert f"task completed: {answer['result']['task']['id']}, skill greet\n" in read_output(
            hello
        )
        assert_ends(process, signal.SIGTERM, port)
    assert "SendMessage at /, in v1_0, from anonymous\n" in read_output(hello)


def test_a_port_that_is_taken_ends_the_command(
    hello: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is built, and nothing waits for a change that would not help."""
    monkeypatch.chdir(hello)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["dev", "--port", str(taken.getsockname()[1])]) == 2
    assert "address already in use" in capsys.readouterr().err
    assert not (hello / "a2a-gen.lock").exists()


def test_every_change_is_built_once(hello: Path, port: int) -> None:
    """A schema that is named, one that is named no more, and one that is there only later: each is
    one build. The port is free after SIGINT.
    """
    file = hello / "a2a.toml"
    plain = file.read_text()
    more = '\n[skills.more]\ndescription = "More."\noutput = "schema/more.json"\n'
    with working_on(hello, port) as process:
        file.write_text(plain + more)
        until(lambda: "more.json cannot be read" in read_output(hello), hello)
        (hello / "schema" / "more.json").write_text('{"type": "integer"}')
        until(lambda: builds(hello) == 2, hello)
        file.write_text(plain.replace("Greets people.", "Greets."))
        until(lambda: builds(hello) == 3, hello)
        until(lambda: "Greets." in card(port), hello)
        time.sleep(1)
        assert_ends(process, signal.SIGINT, port)
    assert builds(hello) == 3


def assert_ends(process: subprocess.Popen[bytes], stop: signal.Signals, port: int) -> None:
    """Stop the command: its server ends with it."""
    process.send_signal(stop)
    assert process.wait(timeout=30) == 0
    assert not is_served(port)


def read_output(project: Path) -> str:
    """The output of the command."""
    return (project / "said.log").read_text()


def builds(project: Path) -> int:
    """The number of builds."""
    return read_output(project).count("built in ")


def card(port: int) -> str:
    """The card as it is served, or nothing while it is not."""
    try:
        return httpx.get(
            f"http://127.0.0.1:{port}/.well-known/agent-card.json", trust_env=False
        ).text
    except httpx.TransportError:
        return ""
