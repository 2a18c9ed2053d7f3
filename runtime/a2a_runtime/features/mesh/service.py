"""Operations of the mesh dialect, and the checks of its surfaces."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from datetime import datetime
from types import CodeType
from typing import Any

from pydantic import ValidationError

from a2a_contract import mesh
from a2a_contract.base import Encoded
from a2a_contract.conversions import fresh_id
from a2a_contract.dialects import MESH
from a2a_contract.errors import (
    ERRORS,
    InvalidParamsError,
    PermissionDeniedError,
    TaskIdInUseError,
    TaskNotCancelableError,
    UnavailableError,
)
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
from a2a_runtime.base.clock import to_datetime
from a2a_runtime.engine.follow_ups import AcceptedMessage
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import ReplyKind
from a2a_runtime.engine.run import JOB_LOST, STATUS_UNAVAILABLE
from a2a_runtime.features.mesh.projection import (
    FAILED,
    WORKING,
    EventProjection,
    flatten_parts,
    follow_task,
    project_task,
)
from a2a_runtime.features.mesh.sent_messages import keep_sent
from a2a_runtime.service.context import CallContext, ServiceBase
from a2a_runtime.service.validation import build_request_info, check_sizes, require_permission
from a2a_runtime.stores.models import NewTask
from a2a_runtime.surface import Surface

_ONLY_MESH = frozenset((MESH.name,))
_MAX_ID_LENGTH = 256
_QUESTION_METHODS = frozenset((TaskContext.ask.__name__, TaskContext.require_auth.__name__))


class MeshService(ServiceBase, AgentService[CallContext]):
    """Operations for consumers of mcp-mesh."""

    async def send_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> Encoded[SendMessageResponse]:
        """Create a task, and return it when its handler has returned, at the latest after the time
        that the surface sets for that.
        """
        accepted = await self._start(request, context)
        limit = context.surface.answer_within
        stored = accepted.stored
        try:
            if limit:
                await self._wait_returned(accepted, limit)
                stored = await self._engine.load(stored.scope, stored.wire_id)
            task = project_task(stored.task.model)
        except UnavailableError as error:  # the task exists: a later request reads it
            task = self._build_unavailable_task(stored.wire_id, error)
        return Encoded.of(SendMessageResponse(task=task))

    async def send_streaming_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Create a task and yield its events."""
        try:
            stored = (await self._start(request, context)).stored
        except (
            TaskIdInUseError
        ) as error:  # a consumer reads a response that is no stream as a stream without events
            wire_id = request.message.task_id or ""
            message = self._build_message(
                ERRORS[TaskIdInUseError].in_dialect(MESH.name).text(error)
            )
            yield EventProjection(wire_id, wire_id).build_status(
                TaskStatus(state=FAILED, timestamp=self._now(), message=message)
            )
            return
        async with aclosing(
            follow_task(self._engine, stored, EventProjection(stored.wire_id, stored.context_id))
        ) as events:
            async for event in events:
                yield event

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Encoded[Task]:
        """Return a task in its present state; as working while the store is unavailable."""
        try:
            stored = await self._engine.load(context.task_scope(request.tenant), request.id)
        except UnavailableError as error:
            return Encoded.of(self._build_unavailable_task(request.id, error))
        return Encoded.of(project_task(stored.task.model, request.history_length))

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Cancel a task, wait for its end up to the cancel timeout, and return it; also one that
        has ended before.
        """
        scope = context.task_scope(request.tenant)
        try:
            stored = await self._engine.cancel(scope, request.id)
        except TaskNotCancelableError:
            stored = await self._engine.load(scope, request.id)
        return Encoded.of(project_task(stored.task.model))

    async def subscribe_to_task(
        self, request: SubscribeToTaskRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the present status of a task, its later events and its end."""
        stored = await self._engine.load(context.task_scope(request.tenant), request.id)
        task = stored.task.model
        projection = EventProjection(stored.wire_id, stored.context_id)
        status = task.status
        if not (
            status.message and flatten_parts(status.message.parts) == JOB_LOST
        ):  # such a task did not go on
            for event in projection.project_start(status.timestamp):
                yield event
        if stored.state in TERMINAL:
            for event in projection.project_end(task):
                yield event
            return
        for event in projection.project_status(status, task.metadata):
            yield event
        async with aclosing(follow_task(self._engine, stored, projection)) as events:
            async for event in events:
                yield event

    async def _start(self, request: SendMessageRequest, context: CallContext) -> AcceptedMessage:
        skill = single_skill(context.surface)
        scope = context.task_scope(request.tenant)
        if not skill.is_visible_to(context.caller):
            raise PermissionDeniedError
        require_permission(skill, context)
        sent = keep_sent(request.message, context.body)
        check_sizes(sent, context.surface.limits)
        if skill.contract is not None:
            skill.contract.check_message(request.message)
        wire_id = request.message.task_id or fresh_id()
        if len(wire_id) > _MAX_ID_LENGTH or not wire_id.isprintable():
            raise InvalidParamsError(
                fields=(
                    (
                        TaskSendParams.wire_name("id"),
                        f"is not one line of at most {_MAX_ID_LENGTH} characters",
                    ),
                )
            )
        context_id = request.message.context_id or wire_id
        message = sent.model_copy(update={"task_id": None, "context_id": context_id})
        info = build_request_info(request, context)
        hidden = context.hidden_skills
        if context.origin is not None:
            info = self._accept_origin(info, context.origin, context.surface.agent)
        new = NewTask(
            context_id,
            message,
            skill.id,
            context.dialect,
            wire_id,
            record=info.record,
            hidden_skills=hidden,
            limit_key=context.caller.limit_key(context.client_address),
        )
        return await self._engine.start(scope, new, context.caller)

    async def _wait_returned(self, accepted: AcceptedMessage, limit_seconds: float) -> None:
        """Wait until the task has settled, its handler has returned a job, or the time is over."""
        settled = asyncio.ensure_future(
            self._engine.wait(accepted.stored, accepted.cursor, mark=accepted.mark)
        )
        job_started = self._engine.runner.job_started(accepted.stored.key)
        futures: list[asyncio.Future[Any]] = (
            [settled] if job_started is None else [settled, job_started]
        )
        try:
            await asyncio.wait(futures, timeout=limit_seconds, return_when=asyncio.FIRST_COMPLETED)
            if settled.done():
                settled.result()
        finally:
            settled.cancel()
            await asyncio.gather(settled, return_exceptions=True)

    def _build_unavailable_task(self, wire_id: str, error: UnavailableError) -> Task:
        """Build a task whose state cannot be read."""
        message = self._build_message(f"{STATUS_UNAVAILABLE}: {error.message}")
        return Task(
            id=wire_id,
            context_id=wire_id,
            status=TaskStatus(state=WORKING, message=message, timestamp=self._now()),
        )

    def _build_message(self, text: str) -> Message:
        return Message(message_id=self._ids.new(), role=Role.AGENT, parts=[Part(text=text)])

    def _now(self) -> datetime:
        return to_datetime(self._dependencies.clock.millis())


def check_surface(surface: Surface) -> None:
    """Raise ``ValueError`` for a surface with the mesh dialect that consumers could not use.

    Called when the app starts.
    """
    if MESH.name not in surface.dialects:
        return
    name = f"surface of agent {surface.agent.name!r} at {surface.path or '/'!r}"
    if len(surface.skills) != 1:
        raise ValueError(
            f"{name}: a mesh surface has one skill, not {len(surface.skills)}; use one path "
            f"for each skill, with only={{its id}}"
        )
    skill = single_skill(surface)
    try:
        mesh.Surface(path=surface.path or "/", skill_id=skill.id)
    except ValidationError as error:
        members = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise ValueError(
            f"{name}: invalid {members} ({surface.path or '/'}, {skill.id}); use lowercase "
            "letters, digits and hyphens in skill ids"
        ) from None
    if surface.dialects == _ONLY_MESH and (
        calls_ask(skill.skill.handler) if skill.asks is None else skill.asks
    ):
        raise ValueError(
            f"{name}: skill {skill.id!r} asks questions, and the mesh dialect has no way to "
            "answer them; "
            f"add another dialect to the surface, or set asks=False if the skill does not ask"
        )
    if surface.dialects == _ONLY_MESH and skill.skill.answers is ReplyKind.EITHER:
        raise ValueError(
            f"{name}: skill {skill.id!r} has answers='either', and the mesh dialect has "
            "tasks only; use answers='task', or add another dialect"
        )
    if surface.dialects == _ONLY_MESH and skill.skill.accepts_messages:
        raise ValueError(
            f"{name}: skill {skill.id!r} accepts messages, and the mesh dialect sends none "
            "to tasks; add another dialect to the surface"
        )


def single_skill(surface: Surface) -> SkillDefinition:
    """Return the one skill of a surface."""
    return next(iter(surface.skills.values()))


def calls_ask(handler: Callable[..., object]) -> bool:
    """Return whether the code of a handler, or of a function inside it, calls a method that asks
    the caller.
    """
    plain: object = handler
    while isinstance(plain, functools.partial):
        plain = plain.func
    found: object = inspect.unwrap(plain) if callable(plain) else plain
    function = found if inspect.isroutine(found) else type(found).__call__
    code: object = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and any(
        not _QUESTION_METHODS.isdisjoint(each.co_names) for each in _walk_code(code)
    )


def _walk_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk_code(constant)
