"""The client by the names of the SRS."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest
from integration.features.apcore.test_auth import AUTH, bearer
from integration.features.apcore.world import URL, Add, build_registry, build_world

from a2a_contract import v0_3
from a2a_contract.errors import InvalidParamsError
from a2a_runtime.features.apcore.client import (
    A2AClient,
    A2AConnectionError,
    A2ADiscoveryError,
    A2AServerError,
    TaskNotCancelableError,
    TaskNotFoundError,
)
from a2a_runtime.features.apcore.server import async_serve
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("apcore", "FR-CLI-001")
async def test_a_client_is_made_of_a_url() -> None:
    """An HTTP one, with a token."""
    for wrong in ("agent", "ftp://agent.example", ""):
        with pytest.raises(ValueError, match="is not an HTTP URL"):
            A2AClient(wrong)
    async with (
        run_app(async_serve(build_registry(math__add=Add()), auth=AUTH).litestar) as transport,
        A2AClient(URL, auth=bearer()["authorization"], transport=transport, timeout=60) as client,
    ):
        task = await client.send_message({"a": 1, "b": 2}, skill_id="math.add")
        assert isinstance(task, v0_3.Task)
        assert task.status.state == "completed"


@pytest.mark.requirement("apcore", "FR-CLI-001")
def test_the_client_needs_no_server() -> None:
    """The client loads neither the server nor the framework."""
    program = (
        "import sys, a2a_runtime.features.apcore.client as c; c.A2AClient('http://x'); "
        "print({'litestar', 'uvicorn', 'starlette', 'apcore'} & sys.modules.keys())"
    )
    paths = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    assert (
        subprocess.run(
            [sys.executable, "-c", program], env=paths, capture_output=True, text=True, check=True
        ).stdout.strip()
        == "set()"
    )


@pytest.mark.requirement("apcore", "FR-CLI-002", "FR-CLI-002.a")
async def test_the_card_is_read_and_kept() -> None:
    """Until its time is over; what is no card is an error with the URL, and the status of a
    response that is an error.
    """
    requests: list[str] = []

    class Counting(httpx.AsyncBaseTransport):
        def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
            self._inner = inner

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            requests.append(request.url.path)
            return await self._inner.handle_async_request(request)

    async with (
        run_app(async_serve(build_world()).litestar) as transport,
        A2AClient(URL, transport=Counting(transport)) as client,
    ):
        card = await client.agent_card
        assert len(card.skills) == 10
        assert (await client.agent_card).name == card.name
        assert len(requests) == 1
    for status, content in (
        (500, b"{}"),
        (502, b"<html>"),
        (401, b""),
        (404, b""),
        (200, b"no json"),
        (200, b"{}"),
    ):
        respond = httpx.MockTransport(
            lambda _, status=status, content=content: httpx.Response(
                status, content=content, headers={"retry-after": "0"}
            )
        )
        async with A2AClient(URL, transport=respond) as client:
            with pytest.raises(A2ADiscoveryError, match=URL) as caught:
                await client.agent_card
            assert status == httpx.codes.OK or f"status {status}" in str(caught.value)
            assert caught.value.status == (None if status == httpx.codes.OK else status)
    async with A2AClient("http://127.0.0.1:9") as client:
        with pytest.raises(A2AConnectionError):
            await client.agent_card


@pytest.mark.requirement("apcore", "FR-CLI-003", "FR-CLI-005")
async def test_messages_and_tasks() -> None:
    """The client sends messages in every form, and raises typed errors."""
    async with (
        run_app(async_serve(build_world()).litestar) as transport,
        A2AClient(URL, transport=transport) as client,
    ):
        srs = {
            "role": "user",
            "parts": [{"type": "data", "data": {"a": 1, "b": 2}, "mediaType": "application/json"}],
        }
        text = v0_3.Message.model_validate(
            {
                "kind": "message",
                "messageId": "m-1",
                "role": "user",
                "parts": [{"kind": "text", "text": '{"a": 1, "b": 2}'}],
            }
        )
        file = {"parts": [{"type": "file", "uri": "https://x/a.png", "mimeType": "image/png"}]}
        tasks = [
            await client.send_message(each, metadata={"skillId": "math.add"}, context_id="c-1")
            for each in (srs, text, '{"a": 1, "b": 2}')
        ]
        tasks.append(await client.send_message(file, skill_id="file.open", context_id="c-1"))
        assert [task.status.state for task in tasks if isinstance(task, v0_3.Task)] == [
            "completed"
        ] * 4
        first = tasks[0]
        assert isinstance(first, v0_3.Task)
        assert (await client.get_task(first.id)).artifacts == first.artifacts
        assert len(await client.list_tasks("c-1")) == len(await client.list_tasks()) == 4
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(first.id)
        with pytest.raises(TaskNotFoundError):
            await client.get_task("gone")
        with pytest.raises(InvalidParamsError):
            await client.send_message({"a": "x"}, skill_id="math.add")
        waiting = await client.send_message({"number": 1}, skill_id="data.delete")
        assert isinstance(waiting, v0_3.Task)
        assert (await client.cancel_task(waiting.id)).status.state == "canceled"
    async with A2AClient("http://127.0.0.1:9") as client:
        with pytest.raises(A2AConnectionError):
            await client.send_message("hello")
    assert issubclass(A2AServerError, Exception)


@pytest.mark.requirement("apcore", "FR-CLI-004")
async def test_streams() -> None:
    """Each event is an update, the last one the end."""
    async with (
        run_app(async_serve(build_world()).litestar) as transport,
        A2AClient(URL, transport=transport) as client,
    ):
        events = [
            event async for event in client.stream_message({"number": 2}, skill_id="count.up_to")
        ]
        kinds = [
            each.status.state if isinstance(each, v0_3.TaskStatusUpdateEvent) else "artifact"
            for each in events
        ]
        assert kinds == ["submitted", "working", "artifact", "artifact", "completed"]
