"""Connection of a client to a surface of this process.

It loads httpx, as all of the client, so ``local`` imports it late.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import UnavailableError
from a2a_contract.v1_0 import AgentCard, StreamResponse
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.origin import Origin, current_origin
from a2a_runtime.client.calls import ClientConnection
from a2a_runtime.client.sse import MESSAGE, ServerEvent
from a2a_runtime.client.transport import Outage
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.service.cards.builder import build_card
from a2a_runtime.service.context import CallContext
from a2a_runtime.skills.contract import build_schema_path
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.surface import Surface


class LocalConnection(ClientConnection):
    """Connection to a surface of this process."""

    def __init__(self, plugin: A2APlugin, surface: Surface, caller: Caller) -> None:
        self._plugin = plugin
        self._surface = surface
        self._caller = caller

    async def execute(
        self, operation: Operation, request: WireModel, idempotency_key: str | None = None
    ) -> WireModel | None:
        """Run an operation and return its result, which may be empty."""
        method = self._get_method(operation)
        context = self._build_context(idempotency_key)
        outer = current_origin.get()
        current_origin.set(self._find_origin(context))
        try:
            result = await method(request, context)
        finally:
            current_origin.set(outer)
        if result is None:
            return None
        model: WireModel = result.model
        return model

    # the argument is unused: it is always the present one
    async def get_card(self, *, refresh: bool = False) -> AgentCard:  # noqa: ARG002
        """Build the card; without a configured address its URL is the path."""
        return build_card(self._surface, self._surface.path)

    async def fetch_document(self, url: str) -> bytes:
        """Return a schema that the card names."""
        contracts = [
            skill.contract
            for skill in self._surface.skills.values()
            if skill.contract is not None and skill.is_visible_to(self._caller)
        ]
        documents: dict[str, TypedSchema[Any]] = {}
        for each in contracts:
            for use, form in each.schemas.items():
                documents[build_schema_path(each.id, use)] = form
        found = documents.get(url.removeprefix(self._surface.path))
        if found is None:
            raise ValueError(f"{url}: not a document of this agent; read one that its card names")
        return found.document

    async def stream_events(
        self,
        operation: Operation,
        request: WireModel,
        cursor: str | None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Run an operation and yield its events."""
        context = self._build_context(idempotency_key, cursor)
        async with aclosing(self._get_method(operation)(request, context)) as events:
            while True:
                # for the run that the first event begins; not while the reader has it
                outer = current_origin.get()
                current_origin.set(self._find_origin(context))
                try:
                    event = await anext(events, None)
                finally:
                    current_origin.set(outer)
                if event is None:
                    return
                yield ServerEvent(MESSAGE, event.data.json, event.cursor or None)

    # the port of all connections gives the arguments that are deleted below

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:
        """Decode an event."""
        del operation
        return StreamResponse.model_validate_json(event.data)

    async def wait_before_retry(self, failures: int, began_at: float) -> bool:
        """Give up: nothing between the two can fail."""
        del failures, began_at
        return False

    async def wait_before_resuming(self, outage: Outage) -> bool:
        """Give up, for the same reason."""
        del outage
        return False

    def monotonic(self) -> float:
        """Return no time: nothing waits."""
        return 0.0

    def can_retry(
        self, operation: Operation, error: Exception, idempotency_key: str | None = None
    ) -> bool:
        """Never repeat a request."""
        del operation, error, idempotency_key
        return False

    def can_continue(self) -> bool:
        """Continue after any event: both sides are this runtime."""
        return True

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    # the type of each operation is another one
    def _get_method(self, operation: Operation):  # type: ignore[no-untyped-def]  # noqa: ANN202
        runtime = self._plugin.runtime
        if runtime is None or self._surface not in self._plugin.surfaces:
            raise UnavailableError(
                "The agent is not running: the lifespan of its app has not run, or the agent "
                "was removed"
            )
        return getattr(runtime.build_services(self._surface)[0], operation.service_method)

    def _find_origin(self, context: CallContext) -> Origin:
        """Find the origin of a call; one from outside of any handler begins a chain."""
        return context.origin or Origin.begin(self._surface.chain_name)

    def _build_context(self, idempotency_key: str | None, cursor: str | None = None) -> CallContext:
        calling = current_origin.get()
        origin = None if calling is None else calling.call_next(self._surface.chain_name)
        return CallContext(
            self._surface,
            self._caller,
            CANONICAL.name,
            last_event_id=cursor,
            idempotency_key=idempotency_key,
            base_url=self._surface.path,
            origin=origin,
        )
