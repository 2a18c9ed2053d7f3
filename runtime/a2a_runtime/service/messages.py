"""Messages: what becomes of them, and how their senders learn of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from uuid import NAMESPACE_OID, uuid5

from a2a_contract.base import Encoded
from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.operations import GET_TASK
from a2a_contract.service import Event
from a2a_contract.v1_0 import Message, SendMessageRequest, SendMessageResponse, StreamResponse
from a2a_runtime.agent import DeclaredSkill
from a2a_runtime.execution.engine import response, snapshot
from a2a_runtime.execution.follow_ups import Accepted, refuse
from a2a_runtime.execution.skill import Answers
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.service.authorization import may
from a2a_runtime.service.context import Call, ServiceBase
from a2a_runtime.service.tasks import ends_of
from a2a_runtime.service.validation import Order, check_modes, need_permission, need_streaming, order_of, skill_of
from a2a_runtime.skills.handlers import check_reply
from a2a_runtime.stores.base import NewTask, StoredTask

_INLINE = "configuration.taskPushNotificationConfig."


class Sending(ServiceBase):
    """Takes messages: for a new task, for one that exists, or for an answer without a task."""

    async def send_message(self, request: SendMessageRequest, call: Call) -> Encoded[SendMessageResponse]:
        """Take a message, and answer when its task has ended or waits for the caller, or at once."""
        order = order_of(request, call)
        taken = await self._take(order, call)
        if isinstance(taken, Message):
            return Encoded.of(SendMessageResponse(message=taken))
        if order.at_once:
            stored = await self._as_it_is(taken, order)
        else:
            stored = await self._settled(taken, order, call)
        return Encoded.raw(SendMessageResponse, b'{"task":%b}' % stored.task.json)

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message, and yield its task and what happens to it, or the one answer."""
        need_streaming(call.surface)
        order = order_of(request, call)
        taken = await self._take(order, call)
        if isinstance(taken, Message):
            yield Event(0, Encoded.of(StreamResponse(message=taken)))
            return
        stored = await self._as_it_is(taken, order)
        ends, state = ends_of(call.dialect), stored.state
        try:
            first = snapshot(stored)
            yield Event(first.seq, response(first))
            if state in ends:
                return
            async with aclosing(self._engine.after(stored.key, stored.last_seq, ends)) as events:
                async for event in events:
                    state = event.state
                    yield Event(event.seq, response(event))
        except (GeneratorExit, asyncio.CancelledError):
            if state not in ends:
                await self._left_alone(stored, call)
            raise

    async def _take(self, order: Order, call: Call) -> Accepted | Message:
        if order.push is not None:
            self._check(order.push, _INLINE)
        if order.message.task_id:
            return await self._follow_up(order, call)
        skill = skill_of(order, call)
        if skill.contract is not None:
            skill.contract.check(order.message)
        if skill.run.answers is Answers.MESSAGE:
            return await self._answer(order, skill, call)
        new = NewTask(
            order.message.context_id or self._ids.new(),
            order.message,
            skill.id,
            call.dialect,
            idempotency=order.idempotency,
            process=self._engine.runner.process,
            record=order.request.record,
        )
        if order.push is not None:
            wire_id = self._ids.new()
            new = replace(new, wire_id=wire_id, push=self._sealed(order.push, order.scope, wire_id))
        accepted = await self._engine.start(order.scope, new, call.caller)
        if not accepted.is_new and not await may(call, GET_TASK, accepted.stored.task.model):
            raise TaskNotFoundError(details={"task_id": accepted.stored.wire_id})
        return accepted

    async def _follow_up(self, order: Order, call: Call) -> Accepted:
        """Give a message to its task; a webhook that comes with it hears of everything that the message brings about."""
        message, wire_id = order.message, order.message.task_id or ""
        stored = await self._engine.load(order.scope, wire_id, 0, include_artifacts=False)
        skill = call.surface.skills.get(stored.skill)
        if skill is not None:
            need_permission(skill, call)
            check_modes(order, call.surface, skill)
        if stored.state in INTERRUPTED:
            check_reply(stored.task.model.status.message, message)
        if order.push is not None:
            refuse(stored, message)
            # Named after its message, so that a repeated message does not make a second one.
            config = order.push if order.push.id else order.push.model_copy(update={"id": str(uuid5(NAMESPACE_OID, message.message_id))})
            kept = self._sealed(config, order.scope, wire_id)
            await self._store.put_push_config(order.scope, wire_id, kept, call.dialect, most=call.surface.limits.webhooks)
        return await self._engine.message(order.scope, wire_id, message, order.idempotency)

    async def _answer(self, order: Order, skill: DeclaredSkill, call: Call) -> Message:
        context_id = order.message.context_id or self._ids.new()
        message = order.message.model_copy(update={"context_id": context_id})
        answer = await self._engine.answer(order.scope, skill.id, message, call.caller, order.request)
        return answer if answer.context_id else answer.model_copy(update={"context_id": context_id})

    async def _as_it_is(self, accepted: Accepted, order: Order) -> StoredTask:
        """Read the task of a message; a new one need not be read again."""
        stored = accepted.stored
        if accepted.is_new and not order.message.task_id and order.history_length != 0:
            return stored
        return await self._engine.load(stored.scope, stored.wire_id, order.history_length)

    async def _settled(self, accepted: Accepted, order: Order, call: Call) -> StoredTask:
        try:
            return await self._engine.settled(accepted, order.history_length)
        except asyncio.CancelledError:
            await self._left_alone(accepted.stored, call)
            raise

    async def _left_alone(self, stored: StoredTask, call: Call) -> None:
        """Stop the task of a caller who has gone away, where that is wanted."""
        if call.surface.cancel_on_disconnect:
            with suppress(TaskNotCancelableError, TaskNotFoundError):
                await self._engine.cancel(stored.scope, stored.wire_id)
