"""The way of somebody who has just installed this: start a project, build it, test it, run it, call it, and break its contract."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PEER = ROOT / ".venv-peers" / "a2a-sdk-1.3.0" / "bin" / "python"
pytestmark = pytest.mark.slow

CALL = """
import asyncio, sys
sys.path.insert(0, "src")
from my_agent.contract import GreetingRequest, MyAgentClient

async def main():
    async with MyAgentClient(sys.argv[1]) as client:
        print((await client.greet(GreetingRequest(name="Ada"))).text)

asyncio.run(main())
"""


def run(folder: Path, *words: str, code: int = 0) -> str:
    """Run a command of the installed package, and give everything that it says."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("A2A_", "PYTEST"))}
    done = subprocess.run([str(BIN / words[0]), *words[1:]], cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def serving(project: Path, word: str = "serve") -> Iterator[str]:
    """Serve a project as its README says."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(BIN / "a2a-gen"), word, "--port", str(port)]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield _ready(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def _ready(url: str) -> str:
    for _ in range(100):
        try:
            httpx.get(f"{url}/.well-known/agent-card.json", trust_env=False)
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return url
    raise TimeoutError(url)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was just started and built."""
    folder = tmp_path_factory.mktemp("stranger")
    assert "a2a-gen build" in run(folder, "a2a-gen", "init", "my-agent")
    run(folder / "my-agent", "a2a-gen", "build")
    return folder / "my-agent"


def test_it_is_in_order(project: Path) -> None:
    """What was started passes its own checks: types, tests, and that the package is what the schemas say."""
    run(project, "a2a-gen", "check")
    run(project, "pytest", "-q")
    assert "no issues" in run(project, "mypy")
    run(project, "ruff", "check", ".")


def test_a_folder_with_something_in_it_is_left_alone(project: Path) -> None:
    """Starting over an existing project is refused."""
    assert "not empty" in run(project.parent, "a2a-gen", "init", "my-agent", code=2)


def test_it_is_called_in_three_ways(project: Path) -> None:
    """Plain HTTP, the generated client and the official SDK all get the greeting."""
    with serving(project) as url:
        assert httpx.post(f"{url}/skills/greet", json={"name": "Ada"}, trust_env=False).json() == {"text": "Hello, Ada!"}
        done = subprocess.run([sys.executable, "-c", CALL, url], cwd=project, capture_output=True, text=True, check=False, timeout=60)
        assert (done.stdout, done.stderr) == ("Hello, Ada!\n", "")
        if PEER.exists():
            script = str(ROOT / "tests" / "peers" / "skill_client.py")
            done = subprocess.run([str(PEER), script, url, "greet", '{"name": "Ada"}'], capture_output=True, text=True, check=False, timeout=60)
            assert json.loads(done.stdout) == [{"text": "Hello, Ada!"}], done.stderr


def test_a_breaking_edit_is_noticed_everywhere(project: Path, tmp_path: Path) -> None:
    """A member that gets another name is stale output, a finding of the gate, and after the build a mistake in the handler that mypy names."""
    schema = project / "schema" / "greeting.json"
    before = schema.read_text()
    shutil.copytree(project, tmp_path / "old")
    try:
        schema.write_text(re.sub(r'"language"', '"tongue"', before))
        assert "stale" in run(project, "a2a-gen", "check", code=1)
        assert "language" in run(project, "a2a-gen", "diff", "--against", str(tmp_path / "old"), code=1)
        run(project, "a2a-gen", "build")
        said = run(project, "mypy", code=1)
        assert "src/my_agent/handlers.py" in said
        assert '"GreetingRequest" has no attribute "language"' in said
    finally:
        schema.write_text(before)
        run(project, "a2a-gen", "build")
    run(project, "mypy")


def test_changes_are_served_while_one_works(project: Path) -> None:
    """`dev` builds and serves what has changed in a schema, and goes on with the old when the new cannot be built."""
    schema = project / "schema" / "greeting.json"
    before = schema.read_text()
    body = {"name": "Ada", "language": "fr", "loud": True}
    with serving(project, "dev") as url:
        try:
            assert httpx.post(f"{url}/skills/greet", json=body, trust_env=False).status_code == 400
            schema.write_text("{")
            time.sleep(1)
            assert httpx.post(f"{url}/skills/greet", json={"name": "Ada"}, trust_env=False).status_code == 200
            schema.write_text(before.replace('"language":', '"loud": {"type": "boolean"},\n        "language":'))
            assert _in_time(lambda: httpx.post(f"{url}/skills/greet", json=body, trust_env=False).status_code == 200)
        finally:
            schema.write_text(before)
    run(project, "a2a-gen", "build")


def _in_time(holds: Callable[[], bool]) -> bool:
    """Say whether something comes true; a server that starts again is away for a moment."""
    for _ in range(100):
        with suppress(httpx.TransportError):
            if holds():
                return True
        time.sleep(0.1)
    return False
