"""Runs in the environment of a2a-sdk 0.3: an agent made with it, over JSON-RPC at ``/``, HTTP+JSON
below ``/rest``, and gRPC.

The card below ``/rest`` has the names of Python, as the SDK writes them there.

Nothing of this project is importable here. What the agent does, the first word of a message says;
README.md has the list.
"""

import asyncio

from a2a.grpc.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    FilePart,
    FileWithBytes,
    InvalidParamsError,
    Part,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task
from a2a.utils.errors import ServerError
from app_server import find_free_address, serve, serve_grpc
from starlette.applications import Starlette


class Peer(AgentExecutor):
    """Does what the first word of a message says."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do it."""
        word, _, rest = context.get_user_input().partition(" ")
        if word == "message":
            return await event_queue.enqueue_event(new_agent_text_message(rest, context.context_id))
        if word == "refuse":
            raise ServerError(InvalidParamsError(message=rest))
        if context.current_task is None:
            await event_queue.enqueue_event(new_task(context.message))
        work = TaskUpdater(event_queue, context.task_id, context.context_id)
        await work.start_work()
        if word == "ask":
            return await work.requires_input(
                new_agent_text_message(rest, context.context_id, context.task_id), final=True
            )
        if word == "wait":
            await asyncio.sleep(60)
        if word == "fail":
            return await work.failed(
                new_agent_text_message(rest, context.context_id, context.task_id)
            )
        if word == "count":
            for number in range(int(rest)):
                part = Part(root=TextPart(text=f"{number} "))
                await work.add_artifact(
                    [part],
                    artifact_id="count",
                    append=number > 0,
                    last_chunk=number + 1 == int(rest),
                )
                await asyncio.sleep(0.01)
        elif word == "bytes":
            came = context.message.parts[1].root.file.bytes
            parts = [
                Part(root=TextPart(text=came)),
                Part(root=FilePart(file=FileWithBytes(bytes="//4A", name="f.bin"))),
            ]
            await work.add_artifact(parts, artifact_id="bytes", name="bytes")
        else:
            await work.add_artifact(context.message.parts, artifact_id="echo", name="echo")
        await work.complete()
        return None

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop."""
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def app(url: str) -> Starlette:
    """Make the agent."""
    address = find_free_address()
    card = AgentCard(
        name="Peer",
        description="Made with the official SDK.",
        version="1",
        url=f"{url}/",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(url=f"{url}/", transport="JSONRPC"),
            AgentInterface(url=f"{url}/rest", transport="HTTP+JSON"),
            AgentInterface(url=address, transport="GRPC"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        supports_authenticated_extended_card=True,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Says it again.", tags=["test"])],
    )
    extended = card.model_copy(update={"description": "For those who are known."})
    handler = DefaultRequestHandler(
        Peer(), InMemoryTaskStore(), push_config_store=InMemoryPushNotificationConfigStore()
    )
    whole = Starlette(
        lifespan=serve_grpc(
            address, add_A2AServiceServicer_to_server, GrpcHandler(extended, handler)
        )
    )
    whole.mount(
        "/rest", A2ARESTFastAPIApplication(card, handler, extended_agent_card=extended).build()
    )
    A2AStarletteApplication(card, handler, extended_agent_card=extended).add_routes_to_app(whole)
    return whole


serve(app)
