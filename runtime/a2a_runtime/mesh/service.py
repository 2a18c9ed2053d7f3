"""The five operations of the mesh dialect, for surfaces that speak it."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from types import CodeType

from pydantic import ValidationError

from a2a_contract import mesh
from a2a_contract.base import Encoded
from a2a_contract.conversions import fresh_id
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
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.clock import to_datetime
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import SETTLED
from a2a_runtime.execution.follow_ups import AcceptedMessage
from a2a_runtime.execution.run import JOB_LOST
from a2a_runtime.mesh.events import WORKING, EventProjection, flatten_parts, follow_task, project_task
from a2a_runtime.service.context import CallContext, ServiceBase
from a2a_runtime.service.validation import build_request_info, check_sizes, require_permission
from a2a_runtime.stores.base import NewTask, StoredTask
from a2a_runtime.surface import Surface

# Whether a handler asks its caller something, as far as its code shows it.
#
# A surface on which nobody can answer refuses such a handler when the app starts, and not when the first task hangs for ever.
#

_QUESTION_METHODS = frozenset((TaskContext.ask.__name__, TaskContext.require_auth.__name__))


def calls_ask(handler: Callable[..., object]) -> bool:
    """Look for questions in the code of a handler and in the functions within it."""
    plain: object = handler
    while isinstance(plain, functools.partial):
        plain = plain.func
    found: object = inspect.unwrap(plain) if callable(plain) else plain
    function = found if inspect.isroutine(found) else type(found).__call__
    code: object = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and any(not _QUESTION_METHODS.isdisjoint(each.co_names) for each in _walk_code(code))


def _walk_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk_code(constant)


# What a surface must be to speak the mesh dialect; whatever it lacks is said when the app starts, with the cure.

_ONLY_MESH = frozenset((MESH.name,))


def check_surface(surface: Surface) -> None:
    """Refuse a surface that consumers could not use."""
    if MESH.name not in surface.dialects:
        return
    name = f"the surface of agent {surface.agent.name!r} at {surface.path or '/'!r}"
    if len(surface.skills) != 1:
        raise ValueError(f"{name}: a mesh surface has one skill, and this has {len(surface.skills)}; give each its own path and only={{its id}}")
    skill = single_skill(surface)
    try:
        mesh.Surface(path=surface.path or "/", skill_id=skill.id)
    except ValidationError as error:
        wrong = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise ValueError(
            f"{name}: its {wrong} ({surface.path or '/'}, {skill.id}) is none; skill ids are small letters and digits with hyphens"
        ) from None
    if surface.dialects == _ONLY_MESH and (calls_ask(skill.skill.handler) if skill.asks is None else skill.asks):
        raise ValueError(
            f"{name}: skill {skill.id!r} asks its caller something, which nobody can answer in the mesh dialect; "
            f"add another dialect to the surface, or say asks=False if the skill does not"
        )


def single_skill(surface: Surface) -> SkillDefinition:
    """Find the one skill of a surface."""
    return next(iter(surface.skills.values()))


_MAX_ID_LENGTH = 256


class MeshService(ServiceBase, AgentService[CallContext]):
    """What consumers of mcp-mesh can ask of an agent."""

    async def send_message(self, request: SendMessageRequest, context: CallContext) -> Encoded[SendMessageResponse]:
        """Take a message for a new task, and answer when its handler has returned."""
        accepted = await self._start(request, context)
        try:
            await self._wait_returned(accepted)
        except UnavailableError as error:  # the task is there: whoever asks again will hear of it
            task = self._build_unavailable_task(accepted.stored.wire_id, error)
        else:
            task = await self._load_projected(accepted.stored, None)
        return Encoded.of(SendMessageResponse(task=task))

    async def send_streaming_message(self, request: SendMessageRequest, context: CallContext) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message for a new task, and tell how it goes."""
        try:
            accepted = await self._start(request, context)
        except TaskIdInUseError as error:  # a consumer takes any answer that is no stream for one without events
            wire_id = request.message.task_id or ""
            text = ERRORS[TaskIdInUseError].in_dialect(MESH.name).text(error)
            for each in _to_events(
                [EventProjection(wire_id, wire_id).build_failure(self._build_message(text), to_datetime(self._dependencies.clock.millis()))]
            ):
                yield each
            return
        stored = accepted.stored
        async for response in follow_task(self._engine, stored, EventProjection(stored.wire_id, stored.context_id)):
            yield Event(0, Encoded.of(response))

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Encoded[Task]:
        """Read a task as it is now; as long as the store is away, it is taken to go on."""
        try:
            stored = await self._engine.load(context.task_scope(request.tenant), request.id)
        except UnavailableError as error:
            return Encoded.of(self._build_unavailable_task(request.id, error))
        return Encoded.of(project_task(stored.task.model, request.history_length))

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Ask for a task to stop, wait a little until it has, and show it; one that has ended is shown as it is."""
        scope = context.task_scope(request.tenant)
        try:
            stored = await self._engine.cancel(scope, request.id)
        except TaskNotCancelableError:
            stored = await self._engine.load(scope, request.id)
        return Encoded.of(project_task(stored.task.model))

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, context: CallContext) -> AsyncGenerator[Event[StreamResponse], None]:
        """Tell how a task goes from now on, and how it ends or has ended."""
        stored = await self._engine.load(context.task_scope(request.tenant), request.id)
        task, news = stored.task.model, EventProjection(stored.wire_id, stored.context_id)
        status = task.status
        if not (status.message and flatten_parts(status.message.parts) == JOB_LOST):  # then there is nothing that could be said to be going on
            for each in _to_events(news.project_start(status.timestamp)):
                yield each
        if stored.state in TERMINAL:
            for each in _to_events(news.project_end(task)):
                yield each
            return
        for each in _to_events(news.project_status(status, task.metadata)):
            yield each
        async for response in follow_task(self._engine, stored, news):
            yield Event(0, Encoded.of(response))

    async def _start(self, request: SendMessageRequest, context: CallContext) -> AcceptedMessage:
        skill, scope = single_skill(context.surface), context.task_scope(request.tenant)
        if not skill.is_visible_to(context.caller):
            raise PermissionDeniedError
        require_permission(skill, context)
        check_sizes(request.message, context.surface.limits)
        if skill.contract is not None:
            skill.contract.check_message(request.message)
        wire_id = request.message.task_id or fresh_id()
        if len(wire_id) > _MAX_ID_LENGTH or not wire_id.isprintable():
            raise InvalidParamsError(fields=((TaskSendParams.wire_name("id"), f"is not one line of at most {_MAX_ID_LENGTH} characters"),))
        context_id = request.message.context_id or wire_id
        message = request.message.model_copy(update={"task_id": None, "context_id": context_id})
        return await self._engine.start(
            scope,
            NewTask(context_id, message, skill.id, context.dialect, wire_id, record=build_request_info(request, context).record),
            context.caller,
        )

    async def _wait_returned(self, accepted: AcceptedMessage) -> None:
        """Wait until the task has ended, or its handler has handed back a job."""
        key, cursor = accepted.stored.key, accepted.cursor
        handed_back = self._engine.runner.job_started(key)
        if handed_back is None:
            await self._engine.wait(key, cursor, SETTLED)
            return
        # Waiting begins with the call of wait(), so the call belongs into the task: until that runs, the handler may have written already.
        settled = asyncio.ensure_future(self._wait_settled(key, cursor))
        try:
            await asyncio.wait((settled, handed_back), return_when=asyncio.FIRST_COMPLETED)
            if settled.done():
                settled.result()
        finally:
            settled.cancel()
            await asyncio.gather(settled, return_exceptions=True)

    async def _wait_settled(self, key: str, cursor: int) -> None:
        await self._engine.wait(key, cursor, SETTLED)

    async def _load_projected(self, stored: StoredTask, history_length: int | None) -> Task:
        try:
            return project_task((await self._engine.load(stored.scope, stored.wire_id)).task.model, history_length)
        except UnavailableError as error:
            return self._build_unavailable_task(stored.wire_id, error)

    def _build_unavailable_task(self, wire_id: str, error: UnavailableError) -> Task:
        """Show a task of which nothing can be known now."""
        at, said = to_datetime(self._dependencies.clock.millis()), self._build_message(f"status unavailable: {error.message}")
        return Task(id=wire_id, context_id=wire_id, status=TaskStatus(state=WORKING, message=said, timestamp=at))

    def _build_message(self, text: str) -> Message:
        return Message(message_id=self._ids.new(), role=Role.AGENT, parts=[Part(text=text)])


def _to_events(responses: Iterable[StreamResponse]) -> Iterator[Event[StreamResponse]]:
    """Make events without numbers: nobody can go on from one in this dialect."""
    return (Event(0, Encoded.of(each)) for each in responses)
