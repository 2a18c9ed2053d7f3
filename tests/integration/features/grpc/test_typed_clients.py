"""Generated clients over gRPC, and a client of the official SDK that leaves a stream."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from integration.features.grpc.calls import serve_agent
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import BlockingHandler, build_test_agent, serve_on_socket
from peers.environments import interpreter
from report_agent.contract import ReportAgentClient, ReportRequest, SummaryRequest, make_surfaces
from report_agent.handlers import ReportAgent

from a2a_runtime.app import create_app
from a2a_runtime.client import GRPC, CardNotFoundError, ClientOptions, Pin
from a2a_runtime.surface import Limits
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


async def test_a_typed_client_calls_the_port() -> None:
    """Typed results, and streams; without a URL of a card it says what it needs."""
    address = find_free_address()
    app = create_app(*make_surfaces(ReportAgent()), settings=FAST_SETTINGS, grpc=address)
    with serve_on_socket(app) as served:
        async with ReportAgentClient(
            str(served.base_url), options=ClientOptions(pin=Pin(transport=GRPC))
        ) as client:
            assert (
                await client.summarize(SummaryRequest(text="One. Two.", sentences=1))
            ).text == "One."
            assert [each.title async for each in client.write_report(ReportRequest(topic="Tea"))]
        async with ReportAgentClient(f"grpc://{address}") as client:
            with pytest.raises(
                CardNotFoundError,
                match=r"pass the URL of the agent or of its card, with Pin\(transport=GRPC\)",
            ):
                await client.summarize(SummaryRequest(text="One. Two.", sentences=1))


CANCEL = """
import asyncio, sys
import grpc
from a2a.types import a2a_pb2, a2a_pb2_grpc

FIRST_STATES = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")

async def main():
    async with grpc.aio.insecure_channel(sys.argv[1]) as channel:
        stub = a2a_pb2_grpc.A2AServiceStub(channel)
        parts = [a2a_pb2.Part(text="x")]
        message = a2a_pb2.Message(message_id="m", role=a2a_pb2.ROLE_USER, parts=parts)
        request = a2a_pb2.SendMessageRequest(message=message)
        request.metadata["skillId"] = "wait"
        for _ in range(3):
            call = stub.SendStreamingMessage(request)
            event = await call.read()
            call.cancel()
            task = await stub.GetTask(a2a_pb2.GetTaskRequest(id=event.task.id))
            state = a2a_pb2.TaskState.Name(task.status.state)
            print(event.WhichOneof("payload"), state in FIRST_STATES)
            while True:  # the one place is free when the server has seen the end of the call
                probe = stub.SubscribeToTask(a2a_pb2.SubscribeToTaskRequest(id=event.task.id))
                try:
                    await probe.read()
                    break
                except grpc.aio.AioRpcError as error:
                    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, error
                finally:
                    probe.cancel()
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)

asyncio.run(main())
"""


@pytest.mark.peer
async def test_official_classes_may_leave_a_stream(tmp_path: Path) -> None:
    """The place of the stream is free again, the task goes on, and its handler is not canceled."""
    handler = BlockingHandler()
    script = tmp_path / "cancel.py"
    script.write_text(CANCEL)
    async with serve_agent(build_test_agent(handler), limits=Limits(streams=1)) as client:
        process = await asyncio.create_subprocess_exec(
            str(interpreter("a2a-sdk-1.3.0")),
            str(script),
            client.address,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert output.decode().split() == ["task", "True"] * 3, errors.decode()
        assert handler.canceled_texts == []
