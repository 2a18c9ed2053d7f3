"""The port of clients to one agent: calls and streams of events, over HTTP or in the process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, TypeVar

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.operations import (
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
)
from a2a_contract.v1_0 import (
    AgentCard,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    StreamResponse,
    Task,
)
from a2a_runtime.client.errors import (
    InvalidResponseError,
)
from a2a_runtime.client.sse import ServerEvent
from a2a_runtime.client.task_ids import check_task_id
from a2a_runtime.client.transport import (
    Outage,
)

ResponseModel = TypeVar("ResponseModel", bound=WireModel)


class ClientConnection(Protocol):
    """Port: operations of one agent, as the client and its streams use them.

    Typed results are those of ``execute``.
    """

    async def execute(
        self, operation: Operation, request: WireModel, idempotency_key: str | None = None
    ) -> WireModel | None:
        """Run an operation and return its result, which may be empty."""
        ...

    async def call(
        self,
        operation: Operation,
        request: WireModel,
        response_type: type[ResponseModel],
        idempotency_key: str | None = None,
    ) -> ResponseModel:
        """Run an operation and return its result, which has a type."""
        return require_result(
            operation, await self.execute(operation, request, idempotency_key), response_type
        )

    async def get_task(self, task_id: str) -> Task:
        """Read the current state of a task."""
        return await self.call(GET_TASK, GetTaskRequest(id=check_task_id(task_id)), Task)

    async def needs_polls(self) -> bool:
        """Tell whether the agent has no streams, but numbers the changes of a task, so that reads
        wait for them.
        """
        return False

    async def get_card(self, *, refresh: bool = False) -> AgentCard:
        """Read the card."""
        ...

    async def get_extended_card(self) -> AgentCard:
        """Read the card for authenticated callers."""
        return await self.call(GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), AgentCard)

    async def fetch_document(self, url: str) -> bytes:
        """Read a document that the card names."""
        ...

    def stream_events(
        self,
        operation: Operation,
        request: WireModel,
        cursor: str | None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Run an operation and yield its events."""
        ...

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:
        """Decode an event, or raise the error in it."""
        ...

    async def wait_before_retry(self, failures: int, began_at: float) -> bool:
        """Wait before the next attempt of a call that began then; ``False`` if there is none."""
        ...

    async def wait_before_resuming(self, outage: Outage) -> bool:
        """Wait before a broken stream is resumed; ``False`` if its time is over."""
        ...

    def monotonic(self) -> float:
        """Read the clock of these times."""
        ...

    def can_retry(
        self, operation: Operation, error: Exception, idempotency_key: str | None = None
    ) -> bool:
        """Tell whether a request may be repeated after an error."""
        ...

    def can_continue(self) -> bool:
        """Tell whether the agent continues a stream after an event that the client names; else it
        begins with a snapshot.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


def require_result(
    operation: Operation, result: WireModel | None, result_type: type[ResponseModel]
) -> ResponseModel:
    """Return a result if it has the type, or raise."""
    if not isinstance(result, result_type):
        raise InvalidResponseError(f"Response to {operation.name}: empty")
    return result
