"""The walk of a blocking send in docs/architecture.md, beside a send."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import httpx
import pytest

from a2a_runtime import Agent, OpenGate, Surface, TaskContext, create_app
from a2a_runtime.testing.asgi_transport import run_app

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "SendMessage",
    "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Ada"}]}},
}

pytestmark = pytest.mark.anyio


async def test_a_send_enters_the_functions_of_the_page_in_their_order() -> None:
    """A reader who follows the page through the code meets each function that it names."""
    agent = Agent("greeter", description="Greets.")

    @agent.skill("greet", description="Greets a person.")
    async def greet(ctx: TaskContext) -> str:
        return f"Hello {ctx.text}"

    app = create_app(Surface(agent, gate=OpenGate()), store="memory")
    async with (
        run_app(app) as transport,
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        await client.post("/", json=CALL, headers={"A2A-Version": "1.0"})
        entered = await record_send(client)
    walk = list(read_walk())
    assert [name for name in walk if name not in entered] == []
    assert sorted(walk, key=entered.index) == walk


async def record_send(client: httpx.AsyncClient) -> list[str]:
    """Send a message, and list the functions that are entered meanwhile."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _value: object) -> None:
        if event == "call":
            entered.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        response = await client.post("/", json=CALL, headers={"A2A-Version": "1.0"})
    finally:
        sys.setprofile(before)
    assert response.json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    return entered


def read_walk() -> Iterator[str]:
    """Read the functions of the page in their order."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## A blocking send\n")[2].partition("\n## ")[0]
    for function in re.findall(r"^\| \d+ \| ([^|]+) \|", section, re.MULTILINE):
        yield from re.findall(r"`(\w+(?:\.\w+)?)`", function)
