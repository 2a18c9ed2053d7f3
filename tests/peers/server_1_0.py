"""Runs in the environment of a2a-sdk 1.x: an agent made with it, over JSON-RPC at ``/rpc``,
HTTP+JSON below ``/rest``, and gRPC (there 0.3, too).

Nothing of this project is importable here. What the agent does, the first word of a message says;
README.md has the list.
"""

import asyncio

from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Role
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from a2a.utils.errors import InvalidParamsError
from app_server import find_free_address, serve, serve_grpc
from starlette.applications import Starlette


class Peer(AgentExecutor):
    """Does what the first word of a message says."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do it."""
        word, _, rest = context.get_user_input().partition(" ")
        if word == "message":
            return await event_queue.enqueue_event(
                new_text_message(rest, context_id=context.context_id, role=Role.ROLE_AGENT)
            )
        if word == "refuse":
            raise InvalidParamsError(message=rest)
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        work = TaskUpdater(event_queue, context.task_id, context.context_id)
        await work.start_work()
        if word == "ask":
            return await work.requires_input(work.new_agent_message([Part(text=rest)]))
        if word == "wait":
            await asyncio.sleep(60)
        if word == "fail":
            return await work.failed(work.new_agent_message([Part(text=rest)]))
        if word == "count":
            for number in range(int(rest)):
                await work.add_artifact(
                    [Part(text=f"{number} ")],
                    artifact_id="count",
                    append=number > 0,
                    last_chunk=number + 1 == int(rest),
                )
                await asyncio.sleep(0.01)
        else:
            await work.add_artifact([*context.message.parts], artifact_id="echo", name="echo")
        await work.complete()
        return None

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop."""
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def add_services(handler: DefaultRequestHandler, server) -> None:  # noqa: ANN001 - of grpcio
    """Serve 1.0 and 0.3 on one port."""
    add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), server)


def app(url: str) -> Starlette:
    """Make the agent."""
    address = find_free_address()
    card = AgentCard(
        name="Peer",
        description="Made with the official SDK.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=f"{url}/rest", protocol_binding="HTTP+JSON", protocol_version="1.0"),
            AgentInterface(url=address, protocol_binding="GRPC", protocol_version="1.0"),
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=True
        ),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Says it again.", tags=["test"])],
    )
    extended = AgentCard()
    extended.CopyFrom(card)
    extended.description = "For those who are known."
    handler = DefaultRequestHandler(
        Peer(),
        InMemoryTaskStore(),
        card,
        push_config_store=InMemoryPushNotificationConfigStore(),
        extended_agent_card=extended,
    )
    return Starlette(
        routes=[
            *create_agent_card_routes(card, cache_control="max-age=60"),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ],
        lifespan=serve_grpc(address, add_services, handler),
    )


serve(app)
