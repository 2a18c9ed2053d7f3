"""The handler of the guide that streams from an interface compatible with OpenAI's, against a
server of that interface.
"""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio
GUIDE = Path(__file__).parents[3] / "docs" / "model-frameworks.md"


def respond(request: httpx.Request) -> httpx.Response:
    """Stream how much was said so far, in two pieces, and the usage, whose chunk has no choices."""
    count = len(json.loads(request.content)["messages"])
    chunks = [{"choices": [{"delta": {"content": text}}]} for text in (f"{count} ", "messages")]
    lines = [
        f"data: {json.dumps(chunk)}\n\n"
        for chunk in (*chunks, {"choices": [], "usage": {"total_tokens": 3}})
    ]
    return httpx.Response(200, content="".join([*lines, "data: [DONE]\n\n"]))


async def test_the_handler_of_the_guide_streams_and_remembers() -> None:
    """Both turns of a conversation reach the model."""
    names: dict[str, object] = {}
    # The document is our own.
    exec(GUIDE.read_text().rpartition("```python\n")[2].partition("```")[0], names)  # noqa: S102
    agent = names["agent"]
    assert isinstance(agent, Agent)
    with agent.override(http=lambda: httpx.AsyncClient(transport=httpx.MockTransport(respond))):
        async with (
            run_app(create_app(agent, settings=FAST_SETTINGS)) as transport,
            A2AClient("http://agent", transport=transport) as client,
        ):
            said = []
            for _ in range(2):
                task = await client.send("hello", context_id="talk")
                assert isinstance(task, Task)
                assert task.artifacts
                said.append("".join(part.text or "" for part in task.artifacts[0].parts))
    assert said == ["1 messages", "3 messages"]
