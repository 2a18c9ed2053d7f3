"""An agent made with a2a-sdk 1.x as its documentation shows it, on the store that ``A2A_STORE``
names, and over gRPC at ``A2A_GRPC`` if that is set.

Runs in an environment of its own.
"""

import asyncio
import os
from contextlib import asynccontextmanager
from typing import Any

import grpc
from a2a.helpers.proto_helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}


class Echo(AgentExecutor):
    """Does what the first word of a message says."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do it."""
        word, _, number = context.get_user_input().partition(" ")
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        work = TaskUpdater(event_queue, context.task_id, context.context_id)
        await work.start_work()
        if word == "wait":
            await asyncio.sleep(0.05)
        if word in {"count", "pace"}:
            for place in range(int(number)):
                if word == "pace":
                    await asyncio.sleep(0.02)
                await work.add_artifact(
                    [Part(text="chunk")], artifact_id="result", append=place > 0
                )
        else:
            await work.add_artifact(
                [Part(text=context.get_user_input())], artifact_id="result", name="result"
            )
        await work.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop."""
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def _store(address: str) -> TaskStore:
    if address == "memory":
        return InMemoryTaskStore()
    kind, _, rest = address.partition(":")
    engine = create_async_engine(f"{_DRIVERS[kind]}:{rest}")
    if kind == "sqlite":
        event.listen(engine.sync_engine, "connect", _tune)
    return DatabaseTaskStore(engine)


def _tune(connection: Any, _record: object) -> None:  # noqa: ANN401 - of a driver without types
    """Set what users of SQLite set: a log beside the file, and commits that wait for the disk now
    and then only.
    """
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


card = AgentCard(
    name="sdk",
    description="Says the same.",
    version="1",
    supported_interfaces=[
        AgentInterface(url="http://127.0.0.1/", protocol_binding="JSONRPC", protocol_version="1.0")
    ],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="echo", name="Echo", description="Says the same.", tags=["echo"])],
)
handler = DefaultRequestHandler(Echo(), _store(os.environ["A2A_STORE"]), card)


@asynccontextmanager
async def lifespan(_app: Starlette):  # noqa: ANN201 - of Starlette
    """Serve gRPC too, if there is an address for it."""
    server = grpc.aio.server()
    add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    if address := os.environ.get("A2A_GRPC"):
        server.add_insecure_port(address)
        await server.start()
    yield
    await server.stop(0)


app = Starlette(
    lifespan=lifespan,
    routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")],
)
