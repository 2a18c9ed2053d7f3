"""Clients of agent frameworks and our server: each gets an answer, and a question without waiting
for ever.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.outcome_agent import serve_on_socket
from peers.environments import interpreter

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface

pytestmark = [pytest.mark.peer, pytest.mark.soak(share="frameworks")]

_SCRIPT = Path(__file__).with_name("framework_clients.py")
_TIMEOUT_SECONDS = 300
ENVIRONMENTS = {
    "google-adk": "google-adk-2.13.0",
    "agent-framework": "agent-framework-1.0.0b261022",
    "strands": "strands-1.62.0",
    "a2akit": "a2akit-0.0.32",
}


async def greet(ctx: TaskContext) -> str:
    """Greet."""
    return f"Hello, {ctx.text}!"


async def ask(ctx: TaskContext) -> str:
    """Ask, and greet afterwards."""
    return f"Hello, {(await ctx.ask(f'Which {ctx.text}?')).text}!"


@pytest.fixture(scope="module", params=[greet, ask], ids=["answer", "question"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The URL of an agent on a socket, and what it says to Ada."""
    agent = Agent("desk", description="Greets people.")
    agent.add("greet", request.param, description="Greet a person.")
    said = {greet: "Hello, Ada!", ask: "Which Ada?"}[request.param]
    with serve_on_socket(create_app(Surface(agent, gate=OpenGate()))) as client:
        yield str(client.base_url).rstrip("/"), said


def call(framework: str, environment: str, url: str) -> str:
    """Let the client of a framework call an agent."""
    words = [str(interpreter(environment)), str(_SCRIPT), framework, url, "Ada"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stderr[-3000:]
    text = json.loads(done.stdout.splitlines()[-1])["text"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("framework", ENVIRONMENTS)
def test_a_framework_gets_answers_and_questions(framework: str, place: tuple[str, str]) -> None:
    """A stream that a message began ends at a question, so that nothing waits for more."""
    url, said = place
    assert said in call(framework, ENVIRONMENTS[framework], url)


def test_fasta2a_gets_an_error_that_names_the_part(place: tuple[str, str]) -> None:
    """It calls the method of 0.3 with parts of 1.0, which is neither: the error names the part."""
    text = call("fasta2a", "fasta2a-2.1.1", place[0])
    assert "-32602" in text
    assert "message.parts[0]" in text
