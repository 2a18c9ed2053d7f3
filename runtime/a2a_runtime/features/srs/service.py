"""Operations that answer as the apcore SRS asks, in place of those of 0.3, on surfaces that read
its forms.

message/send         continues the task of its context that waits for input   0.3: begins a new one
message/stream       in a form of the SRS begins with a status                begins with the task
tasks/list           the newest first, also of a context without tasks        last changed first
tasks/resubscribe    of an ended task gives its status once                   is refused
tasks/cancel         of an ended task: the error names the state              does not name it
push configurations  no such method without webhooks; deleting none: error    another error; none
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from msgspec.structs import replace

from a2a_contract.base import Encoded
from a2a_contract.errors import MethodNotFoundError, TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.service import Event
from a2a_contract.v1_0 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import TaskTerminalError
from a2a_runtime.features.srs.answers import build_cancel_error, build_status_event
from a2a_runtime.features.srs.forms import SrsForm
from a2a_runtime.service.authorization import find_readable, list_readable
from a2a_runtime.service.cards.builder import build_card, sign_card
from a2a_runtime.service.context import CallContext
from a2a_runtime.service.push_configs import FAILURE_KEY_PREFIX
from a2a_runtime.service.service import Service
from a2a_runtime.service.tasks import encode_page, parse_task_query
from a2a_runtime.stores.models import TaskPage, TaskQuery
from a2a_runtime.stores.pagination import MAX_PAGE_SIZE


def get_form(context: CallContext) -> SrsForm | None:
    """Return the form of a call, if it is one of the SRS."""
    if isinstance(context.form, SrsForm):
        return context.form
    return None


class SrsService(Service):
    """Operations of 0.3 on a surface with the forms of the SRS."""

    async def send_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> Encoded[SendMessageResponse]:
        """Accept a message, also for the task of its context that waits for input."""
        return await super().send_message(await self._address(request, context), context)

    async def send_streaming_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Accept a message as above; a call in a form of the SRS begins with a status."""
        is_first = get_form(context) is not None
        async with aclosing(
            super().send_streaming_message(await self._address(request, context), context)
        ) as events:
            async for event in events:
                task = event.data.model.task if is_first else None
                is_first = False
                if task is None:
                    yield event
                else:
                    update = TaskStatusUpdateEvent(
                        task_id=task.id, context_id=task.context_id or "", status=task.status
                    )
                    yield Event(event.seq, Encoded.of(StreamResponse(status_update=update)))

    async def _address(
        self, request: SendMessageRequest, context: CallContext
    ) -> SendMessageRequest:
        """Address a message to the task of its context that waits for input; it needs no id
        there.
        """
        message = request.message
        if message.task_id or not message.context_id:
            return request
        query = TaskQuery(
            message.context_id,
            State.INPUT_REQUIRED,
            page_size=1,
            history_length=0,
            hidden_skills=frozenset(context.hidden_skills),
        )
        page = await self._store.list_tasks(context.task_scope(request.tenant), query)
        waiting = await find_readable(page.tasks, context)
        if not waiting:
            return request
        return request.model_copy(
            update={"message": message.model_copy(update={"task_id": waiting[0].wire_id})}
        )

    async def list_tasks(
        self, request: ListTasksRequest, context: CallContext
    ) -> Encoded[ListTasksResponse]:
        """List the tasks of the caller, the newest first."""
        form = get_form(context)
        if form is None:
            return await self._list(request, context, by_creation=True)
        scope = context.task_scope(request.tenant)
        query = parse_task_query(request)
        size = query.page_size if form.page_size is None else form.page_size
        query = replace(
            query,
            history_length=context.limit_history(query.history_length),
            by_creation=True,
            page_size=size,
        )
        page = await list_readable(partial(self._list_page, scope), query, context)
        return Encoded(ListTasksResponse, encode_page(page, query))

    async def _list_page(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """Read a page, which may be longer than a page of the store."""
        page = await self._store.list_tasks(
            scope, replace(query, page_size=min(query.page_size, MAX_PAGE_SIZE))
        )
        left = query.page_size - MAX_PAGE_SIZE
        if not page.next_page_token or left <= 0:
            return page
        rest = await self._list_page(
            scope, replace(query, page_size=left, page_token=page.next_page_token)
        )
        return TaskPage([*page.tasks, *rest.tasks], rest.next_page_token, page.total_size)

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Cancel a task; the error for one that has ended names its state."""
        try:
            return await super().cancel_task(request, context)
        except TaskNotCancelableError:
            stored = await self._engine.load(
                context.task_scope(request.tenant), request.id, 0, include_artifacts=False
            )
            raise build_cancel_error(stored) from None

    async def subscribe_to_task(
        self, request: SubscribeToTaskRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the events of a task; of one that has ended, its status."""
        try:
            async with aclosing(super().subscribe_to_task(request, context)) as events:
                async for event in events:
                    yield event
        except TaskTerminalError:
            scope = context.task_scope(request.tenant)
            yield build_status_event(
                await self._engine.load(scope, request.id, 0, include_artifacts=False)
            )

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, context: CallContext
    ) -> Encoded[TaskPushNotificationConfig]:
        """Add a push configuration, and report whether its deliveries were given up."""
        _require_method(context)
        config = await super().create_task_push_notification_config(request, context)
        await self._report_status(config.model, context, context.task_scope(request.tenant))
        return config

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> Encoded[TaskPushNotificationConfig]:
        """Return a push configuration, as above."""
        _require_method(context)
        config = await super().get_task_push_notification_config(request, context)
        await self._report_status(config.model, context, context.task_scope(request.tenant))
        return config

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> Encoded[ListTaskPushNotificationConfigsResponse]:
        """List push configurations."""
        _require_method(context)
        return await super().list_task_push_notification_configs(request, context)

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, context: CallContext
    ) -> None:
        """Delete a push configuration; in a form of the SRS, one that does not exist is an
        error.
        """
        _require_method(context)
        if get_form(context) is not None:
            scope = context.task_scope(request.tenant)
            if await self._store.get_push_config(scope, request.task_id, request.id) is None:
                raise TaskNotFoundError(
                    "Push notification configuration not found",
                    details={"task_id": request.task_id},
                )
        await super().delete_task_push_notification_config(request, context)

    async def _report_status(
        self, config: TaskPushNotificationConfig, context: CallContext, scope: TaskScope
    ) -> None:
        """Report that deliveries have been given up, where the form of the response has a place for
        it.
        """
        form = get_form(context)
        if form is None:
            return
        stored = await self._store.load_task(
            scope, config.task_id or "", 0, include_artifacts=False
        )
        metadata = (stored.task.model.metadata or {}) if stored else {}
        if f"{FAILURE_KEY_PREFIX}{config.id}" in metadata:
            form.result["status"] = "failed"

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, context: CallContext
    ) -> Encoded[AgentCard]:
        """Return the card of what a caller may see: every caller gets one."""
        if get_form(context) is None:
            return await super().get_extended_agent_card(request, context)
        context.task_scope(request.tenant)  # raises for the tenant of another caller
        card = build_card(context.surface, context.base_url, context.dialect, reader=context.caller)
        return Encoded.of(sign_card(card, context.surface, context.dialect))


def _require_method(context: CallContext) -> None:
    """Without webhooks, the SRS knows no such method."""
    if get_form(context) is not None and not context.surface.agent.capabilities.push_notifications:
        raise MethodNotFoundError
