"""Operations that send a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import NAMESPACE_OID, uuid5

from msgspec.structs import replace

from a2a_contract.base import Encoded
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.operations import GET_TASK
from a2a_contract.service import Event
from a2a_contract.v1_0 import Message, SendMessageRequest, SendMessageResponse, StreamResponse
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.base.lifecycle import INTERRUPTED, SETTLED
from a2a_runtime.engine.engine import to_stream_response
from a2a_runtime.engine.follow_ups import AcceptedMessage, check_follow_up, check_last_seq
from a2a_runtime.engine.handlers.skill import ReplyKind
from a2a_runtime.service.authorization import is_allowed
from a2a_runtime.service.context import CallContext, ServiceBase
from a2a_runtime.service.push_configs import check_config
from a2a_runtime.service.routing import route_message
from a2a_runtime.service.validation import (
    SendCommand,
    check_media_types,
    find_skill,
    parse_send_request,
    require_permission,
    require_streaming,
)
from a2a_runtime.skills.handlers import check_reply
from a2a_runtime.stores.models import NewTask, StoredTask
from a2a_runtime.surface import find_lowest_limit

_PUSH_CONFIG_PATH = "configuration.taskPushNotificationConfig."


class MessageOperations(ServiceBase):
    """Accepts messages: for a new task, for an existing task, or for a reply without a task."""

    async def send_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> Encoded[SendMessageResponse]:
        """Accept a message and return its task as soon as it has ended or waits for the caller, or
        at once.
        """
        command = parse_send_request(request, context)
        accepted = await self._accept(command, context)
        if isinstance(accepted, Message):
            return Encoded.of(SendMessageResponse(message=accepted))
        if command.return_immediately:
            stored = await self._load_current(accepted, command)
        else:
            cancel_on_disconnect = context.surface.cancel_on_disconnect
            if context.origin is not None:
                cancel_on_disconnect = context.is_canceled_on_disconnect
            stored = await self._engine.wait_settled(
                accepted, command.history_length, cancel_on_disconnect=cancel_on_disconnect
            )
        return Encoded(SendMessageResponse, (b'{"task":', stored.task.json, b"}"))

    async def send_streaming_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Accept a message and yield its task and the events of this task until it has ended or
        waits for the caller, or the reply.
        """
        require_streaming(context.surface)
        command = parse_send_request(request, context)
        accepted = await self._accept(command, context, is_streaming=True)
        if isinstance(accepted, Message):
            yield Event(0, Encoded.of(StreamResponse(message=accepted)))
            return
        stored = await self._load_current(accepted, command)
        state = stored.state
        try:
            yield Event(stored.last_seq, to_stream_response(stored.to_event()), stored.mark)
            if state in SETTLED:
                return
            shows_messages = context.shows_messages
            following = self._engine.readers.follow(
                stored, stored.last_seq, SETTLED, mark=stored.mark, shows_messages=shows_messages
            )
            async with aclosing(following) as events:
                async for event in events:
                    state = event.state
                    yield Event(event.seq, to_stream_response(event), event.mark)
        except (GeneratorExit, asyncio.CancelledError):
            if context.is_canceled_on_disconnect and state not in SETTLED:
                await self._engine.cancel_if_active(stored)
            raise

    async def _accept(
        self, command: SendCommand, context: CallContext, *, is_streaming: bool = False
    ) -> AcceptedMessage | Message:
        if context.origin is not None:
            info = self._accept_origin(command.request_info, context.origin, context.surface.agent)
            command = replace(command, request_info=info)
        if command.push_config is not None:
            check_config(command.push_config, self._dependencies.check_url, _PUSH_CONFIG_PATH)
        message = command.message
        if message.task_id:
            return await self._accept_follow_up(command, message.task_id, context)
        skill = find_skill(command, context) or await route_message(command, context)
        require_permission(skill, context)
        check_media_types(command, context.surface, skill)
        if skill.contract is not None:
            skill.contract.check_message(message)
        if skill.check is not None:
            await skill.check(message, context.caller)
        if skill.skill.answers is ReplyKind.MESSAGE:
            return await self._engine.run_inline(
                command.scope,
                skill.id,
                message,
                context.caller,
                command.request_info,
                context.hidden_skills,
            )
        if is_streaming and skill.can_merge:
            info = replace(command.request_info, is_streaming=True)
            command = replace(command, request_info=info)
        new = self._plan_task(command, context, skill)
        if skill.skill.answers is ReplyKind.EITHER and not (
            command.return_immediately or command.push_config or command.idempotency_key
        ):
            return await self._engine.begin(command.scope, new, context.caller)
        accepted = await self._engine.start(command.scope, new, context.caller)
        if not accepted.is_new and not await is_allowed(
            context, GET_TASK, accepted.stored.task.model
        ):
            raise TaskNotFoundError(details={"task_id": accepted.stored.wire_id})
        return accepted

    def _plan_task(
        self, command: SendCommand, context: CallContext, skill: SkillDefinition
    ) -> NewTask:
        """Plan the task of a message: what the store needs to create it."""
        max_open = context.surface.limits.open_tasks
        setting = self._dependencies.settings.max_caller_open_tasks
        if setting:
            max_open = find_lowest_limit(max_open, setting)
        context_id = command.message.context_id or self._ids.new()
        wire_id = None
        push_config = None
        if command.push_config is not None:
            # The configuration is encrypted for the id of its task, so the id is chosen here.
            wire_id = self._ids.new()
            push_config = self._encrypt_config(command.push_config, command.scope, wire_id)
        return NewTask(
            context_id,
            command.message,
            skill.skill.id,
            context.dialect,
            idempotency_key=command.idempotency_key,
            wire_id=wire_id,
            process=self._engine.runner.process,
            push_config=push_config,
            max_open=max_open,
            record=command.request_info.record,
            hidden_skills=context.hidden_skills,
            metadata={} if context.origin is None else context.origin.task_metadata,
            limit_key=context.caller.limit_key(context.client_address),
        )

    async def _accept_follow_up(
        self, command: SendCommand, wire_id: str, context: CallContext
    ) -> AcceptedMessage:
        """Accept a message for an existing task.

        Its push configuration is stored first, so that the webhook gets every event of the message.
        """
        message = command.message
        config = command.push_config
        stored = await self._engine.load(command.scope, wire_id, 0, include_artifacts=False)
        if config is not None and command.idempotency_key is None:
            check_last_seq(stored, context.if_last_seq)
        skill = context.surface.skills.get(stored.skill)
        if skill is not None:
            require_permission(skill, context)
            check_media_types(command, context.surface, skill)
        if stored.state in INTERRUPTED:
            check_reply(stored.task.model.status.message, message)
        if config is not None:
            check_follow_up(stored, message, None if skill is None else skill.skill)
            # an id made from the message id, so that a repeated message does not add a second
            # configuration
            if not config.id:
                config = config.model_copy(
                    update={"id": str(uuid5(NAMESPACE_OID, message.message_id))}
                )
            config = self._encrypt_config(config, command.scope, wire_id)
            await self._store.put_push_config(
                command.scope,
                wire_id,
                config,
                context.dialect,
                max_configs=context.surface.limits.webhooks,
            )
        return await self._engine.send_message(
            command.scope,
            wire_id,
            message,
            command.idempotency_key,
            if_last_seq=context.if_last_seq,
        )

    async def _load_current(self, accepted: AcceptedMessage, command: SendCommand) -> StoredTask:
        """Read the task of a message, unless it was created by this call."""
        stored = accepted.stored
        if accepted.is_new and not command.message.task_id and command.history_length != 0:
            return stored
        return await self._engine.load(stored.scope, stored.wire_id, command.history_length)
