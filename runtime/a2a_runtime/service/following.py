"""Streams of events: how far each dialect follows a task, and where a reader goes on.

dialect   the stream ends
1.0       with the task
0.3       with the task, and whenever the task waits for the caller
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from a2a_contract.dialects import V0_3, V0_3_PROTO
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.service import Event
from a2a_contract.v1_0 import StreamResponse, SubscribeToTaskRequest
from a2a_runtime.execution.reading import CURSOR, SETTLED, response
from a2a_runtime.service.base import ServiceBase
from a2a_runtime.service.call import Call
from a2a_runtime.service.order import need_streaming

_DIGITS = 18
"""Every number of so many digits can be the number of an event in any store."""
_ENDS: Mapping[str, frozenset[State]] = {V0_3.name: SETTLED, V0_3_PROTO.name: SETTLED}


def ends_of(dialect: str) -> frozenset[State]:
    """Say in which states of its task a stream ends."""
    return _ENDS.get(dialect, TERMINAL)


def cursor_of(last_event_id: str | None) -> int | None:
    """Read which event a client has seen last."""
    if last_event_id is None:
        return None
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= _DIGITS):
        raise InvalidParamsError(fields=((CURSOR, "is not the number of an event"),))
    return int(last_event_id)


class Following(ServiceBase):
    """Lets clients follow tasks that exist."""

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the task and what happens to it, or what has happened since the last event that the client has seen."""
        need_streaming(call.surface)
        cursor = cursor_of(call.last_event_id)
        async with aclosing(await self._engine.follow(call.scope(request.tenant), request.id, cursor, ends_of(call.dialect))) as events:
            async for event in events:
                yield Event(event.seq, response(event))
