"""Length of the way of a message through our own objects, as ``docs/architecture.md`` draws it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import httpx
import pytest

from a2a_contract.base import JsonObject
from a2a_contract.dialects import CANONICAL, VERSION
from a2a_contract.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext

pytestmark = pytest.mark.anyio

WALKS = {
    SEND_MESSAGE.name: ({"create_task", "echo", "publish", "send_response"}, 12),
    SEND_STREAMING_MESSAGE.name: ({"follow", "_send_chunk"}, 10),
}
"""The functions at which the way is recorded, and its greatest length: the commit, the handler,
both ends of the event hub, and the response.
"""


def find_class(frame: FrameType) -> str | None:
    """Find the class of ours whose method runs in a frame."""
    path = Path(frame.f_code.co_filename)
    name = frame.f_code.co_qualname
    is_ours = not {"a2a_runtime", "a2a_contract"}.isdisjoint(path.parts)
    if is_ours and "." in name and "<locals>" not in name:
        return name.partition(".")[0]
    return None


@pytest.mark.parametrize("operation", WALKS)
async def test_a_message_passes_few_of_our_objects(operation: str) -> None:
    """Each class that a call comes through, on its way to the commit, the handler, the event hub or
    the response, is one step.
    """
    landmarks, max_steps = WALKS[operation]
    agent = Agent("echo")
    steps = dict[str, None]()

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    def record(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in landmarks:
            chain: list[str] = []
            caller: FrameType | None = frame
            while caller is not None:
                chain += filter(None, [find_class(caller)])
                caller = caller.f_back
            steps.update(dict.fromkeys(reversed(chain)))

    app = create_app(agent)
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    body: JsonObject = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": operation,
        "params": {"message": message},
    }
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agent") as client,
    ):
        await client.post("/", json=body, headers={VERSION.headers[0]: CANONICAL.version or ""})
        sys.setprofile(record)
        try:
            response = await client.post(
                "/", json=body, headers={VERSION.headers[0]: CANONICAL.version or ""}
            )
        finally:
            sys.setprofile(None)
    assert "hello" in response.text
    assert {"JsonRpcEndpoint", "MessageOperations", "EventHub"} <= steps.keys()
    assert len(steps) <= max_steps, list(steps)
