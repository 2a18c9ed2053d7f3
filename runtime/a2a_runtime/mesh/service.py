"""The five operations of the mesh dialect, for surfaces that speak it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator

from a2a_contract.base import Encoded
from a2a_contract.derive import fresh_id
from a2a_contract.dialects import MESH
from a2a_contract.errors import ERRORS, InvalidParamsError, PermissionDeniedError, TaskIdInUseError, TaskNotCancelableError, UnavailableError
from a2a_contract.lifecycle import TERMINAL
from a2a_contract.mesh import TaskSendParams
from a2a_contract.service import AgentService, Event
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskStatus,
)
from a2a_runtime.clock import moment
from a2a_runtime.execution.followups import Accepted
from a2a_runtime.execution.reading import SETTLED
from a2a_runtime.execution.run import JOB_LOST
from a2a_runtime.mesh.checks import skill_of
from a2a_runtime.mesh.following import follow
from a2a_runtime.mesh.news import News
from a2a_runtime.mesh.showing import WORKING, shown, text_of
from a2a_runtime.service.base import ServiceBase
from a2a_runtime.service.call import Call
from a2a_runtime.service.order import need_permission, rest_of
from a2a_runtime.service.sizes import check_sizes
from a2a_runtime.stores.port import NewTask, StoredTask

_LONGEST_ID = 256


class MeshService(ServiceBase, AgentService[Call]):
    """What consumers of mcp-mesh can ask of an agent."""

    async def send_message(self, request: SendMessageRequest, call: Call) -> Encoded[SendMessageResponse]:
        """Take a message for a new task, and answer when its handler has returned."""
        accepted = await self._begin(request, call)
        try:
            await self._returned(accepted)
        except UnavailableError as error:  # the task is there: whoever asks again will hear of it
            task = self._unknown(accepted.stored.wire_id, error)
        else:
            task = await self._look(accepted.stored, None)
        return Encoded.of(SendMessageResponse(task=task))

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message for a new task, and tell how it goes."""
        try:
            accepted = await self._begin(request, call)
        except TaskIdInUseError as error:  # a consumer takes any answer that is no stream for one without events
            wire_id = request.message.task_id or ""
            text = ERRORS[TaskIdInUseError].in_dialect(MESH.name).text(error)
            for each in _events([News(wire_id, wire_id).failure(self._said(text), moment(self._means.clock.millis()))]):
                yield each
            return
        stored = accepted.stored
        async for response in follow(self._engine, stored, News(stored.wire_id, stored.context_id)):
            yield Event(0, Encoded.of(response))

    async def get_task(self, request: GetTaskRequest, call: Call) -> Encoded[Task]:
        """Read a task as it is now; as long as the store is away, it is taken to go on."""
        try:
            stored = await self._engine.load(call.scope(request.tenant), request.id)
        except UnavailableError as error:
            return Encoded.of(self._unknown(request.id, error))
        return Encoded.of(shown(stored.task.model, request.history_length))

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> Encoded[Task]:
        """Ask for a task to stop, wait a little until it has, and show it; one that has ended is shown as it is."""
        scope = call.scope(request.tenant)
        try:
            stored = await self._engine.cancel(scope, request.id)
        except TaskNotCancelableError:
            stored = await self._engine.load(scope, request.id)
        return Encoded.of(shown(stored.task.model))

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Tell how a task goes from now on, and how it ends or has ended."""
        stored = await self._engine.load(call.scope(request.tenant), request.id)
        task, news = stored.task.model, News(stored.wire_id, stored.context_id)
        status = task.status
        if not (status.message and text_of(status.message.parts) == JOB_LOST):  # then there is nothing that could be said to be going on
            for each in _events(news.opening(status.timestamp)):
                yield each
        if stored.state in TERMINAL:
            for each in _events(news.end(task)):
                yield each
            return
        for each in _events(news.status(status, task.metadata)):
            yield each
        async for response in follow(self._engine, stored, news):
            yield Event(0, Encoded.of(response))

    async def _begin(self, request: SendMessageRequest, call: Call) -> Accepted:
        skill, scope = skill_of(call.surface), call.scope(request.tenant)
        if not skill.is_there_for(call.caller):
            raise PermissionDeniedError
        need_permission(skill, call)
        check_sizes(request.message, call.surface.limits)
        if skill.contract is not None:
            skill.contract.check(request.message)
        wire_id = request.message.task_id or fresh_id()
        if len(wire_id) > _LONGEST_ID or not wire_id.isprintable():
            raise InvalidParamsError(fields=((TaskSendParams.wire_name("id"), f"is not one line of at most {_LONGEST_ID} characters"),))
        context_id = request.message.context_id or wire_id
        message = request.message.model_copy(update={"task_id": None, "context_id": context_id})
        return await self._engine.start(
            scope, NewTask(context_id, message, skill.id, call.dialect, wire_id, record=rest_of(request, call).record), call.caller
        )

    async def _returned(self, accepted: Accepted) -> None:
        """Wait until the task has ended, or its handler has handed back a job."""
        key, cursor = accepted.stored.key, accepted.cursor
        handed_back = self._engine.runner.handed_back(key)
        if handed_back is None:
            await self._engine.wait(key, cursor, SETTLED)
            return
        # Waiting begins with the call of wait(), so the call belongs into the task: until that runs, the handler may have written already.
        settled = asyncio.ensure_future(self._settled(key, cursor))
        try:
            await asyncio.wait((settled, handed_back), return_when=asyncio.FIRST_COMPLETED)
            if settled.done():
                settled.result()
        finally:
            settled.cancel()
            await asyncio.gather(settled, return_exceptions=True)

    async def _settled(self, key: str, cursor: int) -> None:
        await self._engine.wait(key, cursor, SETTLED)

    async def _look(self, stored: StoredTask, history_length: int | None) -> Task:
        try:
            return shown((await self._engine.load(stored.scope, stored.wire_id)).task.model, history_length)
        except UnavailableError as error:
            return self._unknown(stored.wire_id, error)

    def _unknown(self, wire_id: str, error: UnavailableError) -> Task:
        """Show a task of which nothing can be known now."""
        at, said = moment(self._means.clock.millis()), self._said(f"status unavailable: {error.message}")
        return Task(id=wire_id, context_id=wire_id, status=TaskStatus(state=WORKING, message=said, timestamp=at))

    def _said(self, text: str) -> Message:
        return Message(message_id=self._ids.new(), role=Role.AGENT, parts=[Part(text=text)])


def _events(responses: Iterable[StreamResponse]) -> Iterator[Event[StreamResponse]]:
    """Make events without numbers: nobody can go on from one in this dialect."""
    return (Event(0, Encoded.of(each)) for each in responses)
