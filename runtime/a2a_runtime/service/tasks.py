"""Tasks that exist: reading, listing and canceling them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from json import dumps

from pydantic_core import from_json

from a2a_contract.base import Encoded
from a2a_contract.dialects import V0_3, V0_3_PROTO
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.service import Event
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_runtime.caller import TaskScope
from a2a_runtime.execution.engine import CURSOR_HEADER, SETTLED, to_stream_response
from a2a_runtime.push.notification import decrypt_config
from a2a_runtime.service.context import CallContext, ServiceBase
from a2a_runtime.service.validation import require_push_notifications, require_streaming
from a2a_runtime.stores.base import TaskPage, TaskQuery
from a2a_runtime.stores.pagination import MAX_PAGE_SIZE, check_page_size, decode_page_token, parse_task_token

_DEFAULT_PAGE_SIZE = 50
_DIALECTS_REQUIRING_CONTEXT = frozenset({V0_3.name})
_PRESENTATION_MEMBERS = ("page_size", "page_token", "history_length", "include_artifacts")
_NON_FILTER_MEMBERS = frozenset((*_PRESENTATION_MEMBERS, *map(ListTasksRequest.wire_name, _PRESENTATION_MEMBERS)))
"""The members of a question that say how its answer is to look, and not which tasks it is about, in both of their spellings."""


class TaskOperations(ServiceBase):
    """Reads, lists and cancels tasks."""

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Encoded[Task]:
        """Read a task as it is now."""
        stored = await self._engine.load(context.task_scope(request.tenant), request.id, context.limit_history(request.history_length))
        return stored.task

    async def list_tasks(self, request: ListTasksRequest, context: CallContext) -> Encoded[ListTasksResponse]:
        """List the caller's tasks, the most recently changed first."""
        scope, query = context.task_scope(request.tenant), parse_task_query(request)
        page = await self._engine.list(scope, replace(query, history_length=context.limit_history(query.history_length)))
        if not page.total_size and query.context_id and context.dialect in _DIALECTS_REQUIRING_CONTEXT:
            await self._require_context(scope, query.context_id)
        return Encoded.raw(ListTasksResponse, encode_page(page, query))

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Ask for a task to stop, and wait a little until it has."""
        return (await self._engine.cancel(context.task_scope(request.tenant), request.id)).task

    async def task_dialect(self, task_id: str, context: CallContext) -> str | None:
        """Say in which dialect a task was created, where several dialects call an operation the same."""
        stored = await self._store.load_task(context.task_scope(), task_id, 0, include_artifacts=False)
        return None if stored is None else stored.dialect

    async def _require_context(self, scope: TaskScope, context_id: str) -> None:
        if not await self._store.load_conversation(scope, context_id, 1):
            raise TaskNotFoundError("There is no task in this context", details={"context_id": context_id})


def parse_task_query(request: ListTasksRequest, invalid_members: Collection[str] = ()) -> TaskQuery:
    """Read which tasks are to be listed, or name everything that is wrong with the question; ``left_out`` is what was found wrong before."""
    status = None if request.status in {None, TaskState.UNSPECIFIED} else request.status
    wrong = [] if status is None or status.is_known else [(ListTasksRequest.wire_name("status"), f"{status} is not a state of a task")]
    query = TaskQuery(
        context_id=request.context_id or None,
        state=None if status is None or wrong else State(status),
        changed_after=request.status_timestamp_after,
        page_size=_DEFAULT_PAGE_SIZE if request.page_size is None else request.page_size,
        page_token=request.page_token or "",
        history_length=request.history_length,
        include_artifacts=bool(request.include_artifacts),
    )
    wrong += _find_query_errors(query, has_all_filters=not wrong and _NON_FILTER_MEMBERS.issuperset(invalid_members))
    if wrong:
        raise InvalidParamsError(fields=tuple(wrong))
    return query


def _find_query_errors(query: TaskQuery, *, has_all_filters: bool) -> Iterator[tuple[str, str]]:
    """Find what is wrong with each part of a question alone: who checks it as a whole stops at the first."""
    check_token: Callable[[], object] = partial(decode_page_token, query.page_token) if query.page_token else bool
    if has_all_filters:  # else nobody can tell whether the token is of another list
        check_token = partial(parse_task_token, TaskQuery(query.context_id, query.state, query.changed_after, page_token=query.page_token))
    for check in (partial(check_page_size, query.page_size), partial(check_page_size, 1, query.history_length), check_token):
        try:
            check()
        except InvalidParamsError as error:
            yield from error.fields


def encode_page(page: TaskPage, query: TaskQuery) -> bytes:
    """Write a page of tasks by joining what the store has written; who asks for artifacts is told of every task which it has, or that it has none."""
    shown = _ensure_artifacts if query.include_artifacts else bytes
    tasks = b",".join([shown(stored.task.json) for stored in page.tasks])
    return b'{"tasks":[%b],"nextPageToken":%b,"pageSize":%d,"totalSize":%d}' % (
        tasks,
        dumps(page.next_page_token).encode(),
        query.page_size,
        page.total_size,
    )


def _ensure_artifacts(task: bytes) -> bytes:
    """Add an empty list to a task that has none; what is called so deeper inside is somebody's data, and only then it is read."""
    has_some = b',"artifacts":[' in task and "artifacts" in from_json(task)
    return task if has_some else task[:-1] + b',"artifacts":[]}'


# Streams of events: how far each dialect follows a task, and where a reader goes on.
#
# dialect   the stream ends
# 1.0       with the task
# 0.3       with the task, and whenever the task waits for the caller
#

_MAX_CURSOR_DIGITS = 18
"""Every number of so many digits can be the number of an event in any store."""
_STREAM_END_STATES: Mapping[str, frozenset[State]] = {V0_3.name: SETTLED, V0_3_PROTO.name: SETTLED}


def stream_end_states(dialect: str) -> frozenset[State]:
    """Say in which states of its task a stream ends."""
    return _STREAM_END_STATES.get(dialect, TERMINAL)


def parse_cursor(last_event_id: str | None) -> int | None:
    """Read which event a client has seen last."""
    if last_event_id is None:
        return None
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= _MAX_CURSOR_DIGITS):
        raise InvalidParamsError(fields=((CURSOR_HEADER, "is not the number of an event"),))
    return int(last_event_id)


class SubscriptionOperations(ServiceBase):
    """Lets clients follow tasks that exist."""

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, context: CallContext) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the task and what happens to it, or what has happened since the last event that the client has seen."""
        require_streaming(context.surface)
        cursor = parse_cursor(context.last_event_id)
        async with aclosing(
            await self._engine.follow(context.task_scope(request.tenant), request.id, cursor, stream_end_states(context.dialect))
        ) as events:
            async for event in events:
                yield Event(event.seq, to_stream_response(event))


# Push configurations: which webhooks hear of a task. What is sent to them, and when, is not decided here.
#
# The credentials of a webhook are told to nobody, not even to who gave them. Its token is read by an owner who is one person; in a team, and where
# callers cannot be told apart, they would read each other's.
#


class PushConfigOperations(ServiceBase):
    """Keeps the webhooks of tasks."""

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, context: CallContext
    ) -> Encoded[TaskPushNotificationConfig]:
        """Add a webhook to a task, or change the one of that id."""
        scope = _require_scope(context, request.tenant)
        if not request.task_id:
            raise InvalidParamsError(fields=((TaskPushNotificationConfig.wire_name("task_id"), "Field required"),))
        self._check_push_config(request)
        config = self._encrypt_config(request, scope, request.task_id)
        kept = await self._store.put_push_config(scope, request.task_id, config, context.dialect, max_configs=context.surface.limits.webhooks)
        return Encoded.of(strip_credentials(kept.model_copy(update={"token": request.token})))

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> Encoded[TaskPushNotificationConfig]:
        """Read one webhook of a task; the first one where the dialect lets a client name none."""
        scope = _require_scope(context, request.tenant)
        if request.id:
            config = await self._store.get_push_config(scope, request.task_id, request.id)
        else:
            config = next(iter((await self._store.list_push_configs(scope, request.task_id, 1))[0]), None)
        if config is None:
            raise TaskNotFoundError("Push notification configuration not found", details={"task_id": request.task_id, "config_id": request.id})
        return Encoded.of(self._to_visible_config(config, context, scope))

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> Encoded[ListTaskPushNotificationConfigsResponse]:
        """List the webhooks of a task: a page, or all of them for a client that does not ask for pages."""
        scope = _require_scope(context, request.tenant)
        if request.page_size is None and not request.page_token:
            configs, token = await self._list_all(scope, request.task_id), ""
        else:
            size = MAX_PAGE_SIZE if request.page_size is None else request.page_size
            configs, token = await self._store.list_push_configs(scope, request.task_id, size, request.page_token or "")
        shown = [self._to_visible_config(config, context, scope) for config in configs]
        return Encoded.of(ListTaskPushNotificationConfigsResponse(configs=shown, next_page_token=token))

    async def delete_task_push_notification_config(self, request: DeleteTaskPushNotificationConfigRequest, context: CallContext) -> None:
        """Delete a webhook, if it is there."""
        await self._store.delete_push_config(_require_scope(context, request.tenant), request.task_id, request.id)

    def _to_visible_config(self, config: TaskPushNotificationConfig, context: CallContext, scope: TaskScope) -> TaskPushNotificationConfig:
        shown = strip_credentials(config)
        if not context.caller.is_individual:
            return shown.model_copy(update={"token": None})
        return decrypt_config(shown, self._dependencies.secret_cipher, scope, config.task_id or "")

    async def _list_all(self, scope: TaskScope, wire_id: str) -> Sequence[TaskPushNotificationConfig]:
        configs, token = await self._store.list_push_configs(scope, wire_id, MAX_PAGE_SIZE)
        found = [*configs]
        while token:
            configs, token = await self._store.list_push_configs(scope, wire_id, MAX_PAGE_SIZE, token)
            found += configs
        return found


def strip_credentials(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Show a configuration without its secret."""
    if config.authentication is None or config.authentication.credentials is None:
        return config
    return config.model_copy(update={"authentication": config.authentication.model_copy(update={"credentials": None})})


def _require_scope(context: CallContext, tenant: str | None) -> TaskScope:
    require_push_notifications(context.surface)
    return context.task_scope(tenant)
