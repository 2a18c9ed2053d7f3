"""Agents of this process for code of their host: start a task in the name of a caller, without HTTP, and follow it.

    client = connect(request.app, Caller("ada"), "/agent")
    task = await client.send("Write the report", wait=False)
    async for event in client.subscribe(task):
        …

The host vouches for the caller: no gate is asked, and limits of requests do not count. Everything else is as over HTTP: a task belongs to its caller,
and the policy and the requirements of skills apply.

    await release(request.app, authorization)        a task that waits for an authorization goes on, see ``ctx.require_auth``
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from litestar import Litestar

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import CANONICAL, MESH
from a2a_contract.errors import UnavailableError
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, GET_TASK
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest, GetTaskRequest, Message, Role, StreamResponse, Task
from a2a_runtime.caller import Caller
from a2a_runtime.cards.builder import build_card
from a2a_runtime.execution.questions import AuthorizationRequest
from a2a_runtime.execution.results import to_parts
from a2a_runtime.ids import IdGenerator
from a2a_runtime.origin import Origin, current_origin
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.service.context import CallContext
from a2a_runtime.skills.contract import build_schema_path
from a2a_runtime.surface import Surface

if TYPE_CHECKING:
    from a2a_runtime.client.client import A2AClient
    from a2a_runtime.client.sse import ServerEvent

ResponseModel = TypeVar("ResponseModel", bound=WireModel)


def connect(app: Litestar, caller: Caller, path: str | None = None) -> A2AClient:
    """Connect to the agent at a path of an app, for a caller; without a path, to the only agent of the app."""
    from a2a_runtime.client.client import A2AClient  # noqa: PLC0415 - loads httpx, which agents without clients do not need

    plugin = _find_plugin(app, "connect")
    found = [each for each in plugin.surfaces if path is None or each.path == path.rstrip("/")]
    if len(found) != 1:
        paths = ", ".join(each.path or "/" for each in plugin.surfaces)
        problem = "no agent at this path" if path is not None else "the app has several agents"
        raise ValueError(f"connect: {problem}; pass one of {paths}")
    if MESH.name in found[0].dialects and len(found[0].dialects) == 1:
        raise ValueError(f"connect: {found[0]} has only the mesh dialect, which has no questions; add another dialect")
    return A2AClient.over(LocalConnection(plugin, found[0], caller))


async def release(app: Litestar, authorization: str, *values: object) -> Task:
    """Release a task that waits for an authorization, such as in the callback route of an OAuth provider, and return it.

    ``authorization`` is what ``ctx.authorization`` has returned, and ``values`` are the answer that the handler gets. They stay in the history of the
    task, so pass no secrets. ``TaskNotAcceptingMessagesError`` if the task does not wait for this authorization, such as a second time.
    """
    request = AuthorizationRequest.from_text(authorization)
    runtime = _find_plugin(app, "release").runtime
    if runtime is None:
        raise UnavailableError("The agents are not running: the lifespan of their app has not run")
    parts = [part for value in values or ("Authorized",) for part in to_parts(value)]
    message = Message(message_id=IdGenerator(runtime.clock).new(), role=Role.USER, parts=parts)
    accepted = await runtime.engine.send_message(request.scope, request.task_id, message, authorization=request.key)
    return (await runtime.engine.load(request.scope, accepted.stored.wire_id)).task.model


def _find_plugin(app: Litestar, function: str) -> A2APlugin:
    plugin = next((each for each in app.plugins if isinstance(each, A2APlugin)), None)
    if plugin is None:
        raise ValueError(f"{function}: the app has no A2APlugin; pass the Litestar app that has it, or what mount_agents has returned")
    return plugin


class LocalConnection:
    """Connection to a surface of this process."""

    def __init__(self, plugin: A2APlugin, surface: Surface, caller: Caller) -> None:
        self._plugin, self._surface, self._caller = plugin, surface, caller

    async def execute(self, operation: Operation, request: WireModel, idempotency_key: str | None = None) -> WireModel | None:
        """Run an operation and return its result, which may be empty."""
        method, context = self._get_method(operation), self._build_context(idempotency_key)
        outer = current_origin.get()
        current_origin.set(self._find_origin(context))
        try:
            result = await method(request, context)
        finally:
            current_origin.set(outer)
        return None if result is None else result.model

    async def call(
        self, operation: Operation, request: WireModel, response_type: type[ResponseModel], idempotency_key: str | None = None
    ) -> ResponseModel:
        """Run an operation and return its result, which has a type."""
        from a2a_runtime.client.connection import require_result  # noqa: PLC0415 - as above

        return require_result(operation, await self.execute(operation, request, idempotency_key), response_type)

    async def get_task(self, task_id: str) -> Task:
        """Read the current state of a task."""
        return await self.call(GET_TASK, GetTaskRequest(id=task_id), Task)

    async def get_card(self, *, refresh: bool = False) -> AgentCard:  # noqa: ARG002 - it is always the present one
        """Build the card; without a configured address its URL is the path."""
        return build_card(self._surface, self._surface.path)

    async def get_extended_card(self) -> AgentCard:
        """Build the card for the caller."""
        return await self.call(GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), AgentCard)

    async def fetch_document(self, url: str) -> bytes:
        """Return a schema that the card names."""
        contracts = [skill.contract for skill in self._surface.skills.values() if skill.contract is not None and skill.is_visible_to(self._caller)]
        documents = {build_schema_path(each.id, use): form for each in contracts for use, form in each.schemas.items()}
        found = documents.get(url.removeprefix(self._surface.path))
        if found is None:
            raise ValueError(f"{url}: not a document of this agent; read one that its card names")
        return found.document

    async def stream_events(
        self, operation: Operation, request: WireModel, cursor: str | None, idempotency_key: str | None = None
    ) -> AsyncGenerator[ServerEvent, None]:
        """Run an operation and yield its events."""
        from a2a_runtime.client.sse import MESSAGE, ServerEvent  # noqa: PLC0415 - as above

        context = self._build_context(idempotency_key, cursor)
        async with aclosing(self._get_method(operation)(request, context)) as events:
            while True:
                outer = current_origin.get()
                current_origin.set(self._find_origin(context))  # for the run that the first event begins; not while the reader has it
                try:
                    event = await anext(events, None)
                finally:
                    current_origin.set(outer)
                if event is None:
                    return
                yield ServerEvent(MESSAGE, event.data.json, str(event.seq) if event.seq else None)

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:  # noqa: ARG002 - the port of all connections
        """Decode an event."""
        return StreamResponse.model_validate_json(event.data)

    async def wait_before_retry(self, failures: int) -> bool:  # noqa: ARG002 - as above
        """Give up: nothing between the two can fail."""
        return False

    def can_retry(self, operation: Operation, error: Exception, idempotency_key: str | None = None) -> bool:  # noqa: ARG002 - as above
        """Never repeat a request."""
        return False

    def can_continue(self) -> bool:
        """Continue after any event: both sides are this runtime."""
        return True

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _get_method(self, operation: Operation):  # type: ignore[no-untyped-def]  # noqa: ANN202 - the type of each operation is another one
        runtime = self._plugin.runtime
        if runtime is None or self._surface not in self._plugin.surfaces:
            raise UnavailableError("The agent is not running: the lifespan of its app has not run, or the agent was removed")
        return getattr(runtime.build_services(self._surface)[0], operation.service_method)

    def _find_origin(self, context: CallContext) -> Origin:
        """Find the origin of a call; one from outside of any handler begins a chain."""
        return context.origin or Origin.from_record({}, self._surface.chain_name)

    def _build_context(self, idempotency_key: str | None, cursor: str | None = None) -> CallContext:
        calling = current_origin.get()
        return CallContext(
            self._surface,
            self._caller,
            CANONICAL.name,
            last_event_id=cursor,
            idempotency_key=idempotency_key,
            base_url=self._surface.path,
            origin=None if calling is None else calling.call_next(self._surface.chain_name),
        )
