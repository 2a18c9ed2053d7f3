"""An app of a host with agents in it."""

from __future__ import annotations

from dataclasses import replace

from litestar import Litestar, get
from litestar.testing import TestClient

from a2a_runtime.agent import Agent
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

MESSAGE = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}


@get("/books")
async def books() -> list[str]:
    """List books of the host."""
    return ["Momo"]


def plugin(*mounted: Surface | Agent) -> A2APlugin:
    """Build a plugin with fast settings; agents are at the root, and surfaces without a gate are
    open.
    """
    surfaces = (Surface(each) if isinstance(each, Agent) else each for each in mounted)
    return A2APlugin(
        *(replace(each, gate=each.gate or OpenGate()) for each in surfaces), settings=FAST_SETTINGS
    )


def texts(client: TestClient[Litestar], path: str) -> str:
    """Send a message to the agent at a path, and return the text of its result."""
    task = client.post(f"{path}/message:send", json=MESSAGE).json()["task"]
    return "".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])


def build_saying_agent(words: str) -> Agent:
    """Build an agent that replies with its own name."""
    agent = Agent(words)

    @agent.skill("say")
    async def say(_ctx: TaskContext) -> str:
        return words

    return agent
