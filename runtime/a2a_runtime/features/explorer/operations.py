"""Operations that the page asks for: canonical JSON in, canonical JSON out, whatever the agent
speaks.

    run_operation       one response
    stream_operation    events with their cursors, and the exchange as soon as the agent responds

A stream is one connection: the page sees where it breaks, and resumes it with ``SubscribeToTask``
and the cursor.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import uuid4

from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import InvalidParamsError, MethodNotFoundError
from a2a_contract.field_paths import field_paths
from a2a_contract.json_types import is_json_object
from a2a_contract.methods import METHODS
from a2a_contract.operations import (
    GET_EXTENDED_AGENT_CARD,
    OPERATIONS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
)
from a2a_contract.v1_0 import Role
from a2a_runtime.client.connection import AgentConnection
from a2a_runtime.features.explorer.session import AgentSession
from a2a_runtime.features.explorer.wire import Exchange

_SENDS = (SEND_MESSAGE, SEND_STREAMING_MESSAGE)
_MAX_BUFFERED_EVENTS = 64
EXCHANGE = "exchange"
EVENT = "event"
END = "end"
ERROR = "error"


class PageEvent(NamedTuple):
    """An event for the page."""

    kind: str
    data: object
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class PageCall:
    """An operation with its request, at an interface of the card."""

    operation: Operation
    request: WireModel
    interface_id: str | None
    cursor: str | None = None

    @classmethod
    def parse(cls, name: str, document: object, *, streams: bool) -> PageCall:
        """Parse what the page has sent; raise an error of the contract with the places."""
        operation = OPERATIONS.get(name)
        if operation is None or operation.streams is not streams:
            known = ", ".join(each.name for each in OPERATIONS.values() if each.streams is streams)
            raise MethodNotFoundError(f"{name}: not an operation here; use one of {known}")
        if not is_json_object(document):
            raise InvalidParamsError(fields=(("", "not an object with a request"),))
        interface, cursor = (_read_text(document, member) for member in ("interface", "cursor"))
        return cls(
            operation, parse_request(operation, document.get("request", {})), interface, cursor
        )


def parse_request(operation: Operation, given: object) -> WireModel:
    """Parse a canonical request; a message gets an id and its role if it has none, and waits unless
    it says otherwise.
    """
    binding = METHODS[CANONICAL.name][operation.calls[CANONICAL.name].method or ""]
    if not is_json_object(given):
        raise InvalidParamsError(fields=(("request", "not an object"),))
    try:
        request: WireModel = binding.request.model_validate(_complete(operation, given))
    except ValidationError as error:
        raise InvalidParamsError(fields=field_paths(error)) from error
    return request


async def run_operation(session: AgentSession, call: PageCall) -> object:
    """Run an operation, and return its result as JSON; ``None`` if it has none."""
    connection = await _connect(session, call)
    if call.operation is GET_EXTENDED_AGENT_CARD:
        return (await connection.get_extended_card()).to_dict()
    result = await connection.execute(call.operation, call.request, _build_key(call))
    if result is None:
        return None
    return result.to_dict()


async def stream_operation(
    session: AgentSession, call: PageCall
) -> AsyncGenerator[PageEvent, None]:
    """Yield the events of a stream, its exchanges before and after them, and its end."""
    queue: asyncio.Queue[PageEvent | Exception | None] = asyncio.Queue(_MAX_BUFFERED_EVENTS)

    async def show(exchange: Exchange) -> None:
        await queue.put(PageEvent(EXCHANGE, exchange.to_dict()))

    async def read() -> None:
        try:
            connection = await _connect(session, call)
            session.recorder.on_response = show
            async with aclosing(
                connection.stream_events(
                    call.operation, call.request, call.cursor, _build_key(call)
                )
            ) as events:
                async for event in events:
                    response = await connection.decode_event(call.operation, event)
                    data = {
                        **response.to_dict(),
                        "receivedAt": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    }
                    await queue.put(PageEvent(EVENT, data, event.last_event_id))
        except Exception as error:  # noqa: BLE001 - raised where the events are read
            await queue.put(error)
        else:
            await queue.put(None)

    reader = asyncio.create_task(read())
    try:
        while (event := await queue.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event
        for exchange in session.recorder.exchanges:
            yield PageEvent(EXCHANGE, exchange.to_dict())
        yield PageEvent(END, {})
    finally:
        reader.cancel()
        with suppress(asyncio.CancelledError):
            await reader


async def _connect(session: AgentSession, call: PageCall) -> AgentConnection:
    reading = await session.read_usable_card()
    return session.connect(reading, call.interface_id)[0]


def _complete(operation: Operation, given: Mapping[str, object]) -> Mapping[str, object]:
    message = given.get("message")
    if operation not in _SENDS or not is_json_object(message):
        return given
    configuration = given.get("configuration", {})
    if is_json_object(configuration):
        # a value is always sent: agents of 0.3 do not agree on what is meant by none
        configuration = {"returnImmediately": False, **configuration}
    return {
        **given,
        "message": {"messageId": str(uuid4()), "role": Role.USER.value, **message},
        "configuration": configuration,
    }


def _build_key(call: PageCall) -> str | None:
    if call.operation in _SENDS:
        return str(uuid4())
    return None


def _read_text(document: Mapping[str, object], name: str) -> str | None:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidParamsError(fields=((name, "not a text"),))
    return value or None
