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
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.execution.engine import to_snapshot_event, to_stream_response
from a2a_runtime.execution.follow_ups import AcceptedMessage, check_follow_up
from a2a_runtime.execution.skill import ReplyKind
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.service.authorization import is_allowed
from a2a_runtime.service.context import CallContext, ServiceBase
from a2a_runtime.service.tasks import stream_end_states
from a2a_runtime.service.validation import SendCommand, check_media_types, parse_send_request, require_permission, require_streaming, select_skill
from a2a_runtime.skills.handlers import check_reply
from a2a_runtime.stores.base import NewTask, StoredTask

_PUSH_CONFIG_PATH = "configuration.taskPushNotificationConfig."


class MessageOperations(ServiceBase):
    """Takes messages: for a new task, for one that exists, or for an answer without a task."""

    async def send_message(self, request: SendMessageRequest, context: CallContext) -> Encoded[SendMessageResponse]:
        """Take a message, and answer when its task has ended or waits for the caller, or at once."""
        order = parse_send_request(request, context)
        taken = await self._accept(order, context)
        if isinstance(taken, Message):
            return Encoded.of(SendMessageResponse(message=taken))
        if order.return_immediately:
            stored = await self._load_current(taken, order)
        else:
            stored = await self._wait_settled(taken, order, context)
        return Encoded.raw(SendMessageResponse, b'{"task":%b}' % stored.task.json)

    async def send_streaming_message(self, request: SendMessageRequest, context: CallContext) -> AsyncGenerator[Event[StreamResponse], None]:
        """Take a message, and yield its task and what happens to it, or the one answer."""
        require_streaming(context.surface)
        order = parse_send_request(request, context)
        taken = await self._accept(order, context)
        if isinstance(taken, Message):
            yield Event(0, Encoded.of(StreamResponse(message=taken)))
            return
        stored = await self._load_current(taken, order)
        ends, state = stream_end_states(context.dialect), stored.state
        try:
            first = to_snapshot_event(stored)
            yield Event(first.seq, to_stream_response(first))
            if state in ends:
                return
            async with aclosing(self._engine.follow_after(stored.key, stored.last_seq, ends)) as events:
                async for event in events:
                    state = event.state
                    yield Event(event.seq, to_stream_response(event))
        except (GeneratorExit, asyncio.CancelledError):
            if state not in ends:
                await self._on_disconnect(stored, context)
            raise

    async def _accept(self, command: SendCommand, context: CallContext) -> AcceptedMessage | Message:
        if command.push_config is not None:
            self._check_push_config(command.push_config, _PUSH_CONFIG_PATH)
        if command.message.task_id:
            return await self._accept_follow_up(command, context)
        skill = select_skill(command, context)
        if skill.contract is not None:
            skill.contract.check_message(command.message)
        if skill.skill.answers is ReplyKind.MESSAGE:
            return await self._run_inline(command, skill, context)
        new = NewTask(
            command.message.context_id or self._ids.new(),
            command.message,
            skill.id,
            context.dialect,
            idempotency_key=command.idempotency,
            process=self._engine.runner.process,
            record=command.request_info.record,
        )
        if command.push_config is not None:
            wire_id = self._ids.new()
            new = replace(new, wire_id=wire_id, push_config=self._encrypt_config(command.push_config, command.scope, wire_id))
        accepted = await self._engine.start(command.scope, new, context.caller)
        if not accepted.is_new and not await is_allowed(context, GET_TASK, accepted.stored.task.model):
            raise TaskNotFoundError(details={"task_id": accepted.stored.wire_id})
        return accepted

    async def _accept_follow_up(self, command: SendCommand, context: CallContext) -> AcceptedMessage:
        """Give a message to its task; a webhook that comes with it hears of everything that the message brings about."""
        message, wire_id = command.message, command.message.task_id or ""
        stored = await self._engine.load(command.scope, wire_id, 0, include_artifacts=False)
        skill = context.surface.skills.get(stored.skill)
        if skill is not None:
            require_permission(skill, context)
            check_media_types(command, context.surface, skill)
        if stored.state in INTERRUPTED:
            check_reply(stored.task.model.status.message, message)
        if command.push_config is not None:
            check_follow_up(stored, message)
            # Named after its message, so that a repeated message does not make a second one.
            config = (
                command.push_config
                if command.push_config.id
                else command.push_config.model_copy(update={"id": str(uuid5(NAMESPACE_OID, message.message_id))})
            )
            kept = self._encrypt_config(config, command.scope, wire_id)
            await self._store.put_push_config(command.scope, wire_id, kept, context.dialect, max_configs=context.surface.limits.webhooks)
        return await self._engine.send_message(command.scope, wire_id, message, command.idempotency)

    async def _run_inline(self, command: SendCommand, skill: SkillDefinition, context: CallContext) -> Message:
        context_id = command.message.context_id or self._ids.new()
        message = command.message.model_copy(update={"context_id": context_id})
        answer = await self._engine.run_inline(command.scope, skill.id, message, context.caller, command.request_info)
        return answer if answer.context_id else answer.model_copy(update={"context_id": context_id})

    async def _load_current(self, accepted: AcceptedMessage, command: SendCommand) -> StoredTask:
        """Read the task of a message; a new one need not be read again."""
        stored = accepted.stored
        if accepted.is_new and not command.message.task_id and command.history_length != 0:
            return stored
        return await self._engine.load(stored.scope, stored.wire_id, command.history_length)

    async def _wait_settled(self, accepted: AcceptedMessage, command: SendCommand, context: CallContext) -> StoredTask:
        try:
            return await self._engine.wait_settled(accepted, command.history_length)
        except asyncio.CancelledError:
            await self._on_disconnect(accepted.stored, context)
            raise

    async def _on_disconnect(self, stored: StoredTask, context: CallContext) -> None:
        """Stop the task of a caller who has gone away, where that is wanted."""
        if context.surface.cancel_on_disconnect:
            with suppress(TaskNotCancelableError, TaskNotFoundError):
                await self._engine.cancel(stored.scope, stored.wire_id)
