"""Operations on existing tasks: get, list, cancel, subscribe, and push configurations."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from json import dumps

from msgspec.structs import replace
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
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.card_extensions import CURSOR_HEADER
from a2a_runtime.base.lifecycle import SETTLED
from a2a_runtime.engine.engine import to_stream_response
from a2a_runtime.service.authorization import list_readable
from a2a_runtime.service.context import CallContext, ServiceBase
from a2a_runtime.service.push_configs import check_config, decrypt_config
from a2a_runtime.service.validation import require_push_notifications, require_streaming
from a2a_runtime.stores.models import TaskPage, TaskQuery
from a2a_runtime.stores.pagination import (
    MAX_PAGE_SIZE,
    check_page_size,
    decode_page_token,
    parse_page_token,
)

_DEFAULT_PAGE_SIZE = 50
_NO_CONFIG = "Push notification configuration not found"
_DIALECTS_REQUIRING_CONTEXT = frozenset({V0_3.name})
_PRESENTATION_MEMBERS = ("page_size", "page_token", "history_length", "include_artifacts")
_NON_FILTER_MEMBERS = frozenset(
    (*_PRESENTATION_MEMBERS, *map(ListTasksRequest.wire_name, _PRESENTATION_MEMBERS))
)
"""Members of a list request that do not select tasks, in both spellings."""
_CURSOR = re.compile(r"([0-9]{1,18})(?:-([0-9a-f]{1,15}))?")
"""Number and mark of an event; numbers and marks of so many digits fit into any store."""
_SUBSCRIPTION_END_STATES: Mapping[str, frozenset[State]] = {
    V0_3.name: SETTLED,
    V0_3_PROTO.name: SETTLED,
}


class TaskOperations(ServiceBase):
    """Gets, lists and cancels tasks."""

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Encoded[Task]:
        """Return a task in its present state."""
        stored = await self._engine.load(
            context.task_scope(request.tenant),
            request.id,
            context.limit_history(request.history_length),
        )
        return stored.task

    async def list_tasks(
        self, request: ListTasksRequest, context: CallContext
    ) -> Encoded[ListTasksResponse]:
        """List the tasks of the caller, the most recently changed first."""
        return await self._list(request, context)

    async def _list(
        self, request: ListTasksRequest, context: CallContext, *, by_creation: bool = False
    ) -> Encoded[ListTasksResponse]:
        scope = context.task_scope(request.tenant)
        query = parse_task_query(request)
        query = replace(
            query,
            history_length=context.limit_history(query.history_length),
            by_creation=by_creation,
        )
        page = await list_readable(partial(self._store.list_tasks, scope), query, context)
        needs_context = not page.total_size and context.dialect in _DIALECTS_REQUIRING_CONTEXT
        if (
            needs_context
            and query.context_id
            and not await self._store.load_conversation(
                scope, query.context_id, 1, context.hidden_skills
            )
        ):
            raise TaskNotFoundError(
                "There is no task in this context", details={"context_id": query.context_id}
            )
        return Encoded(ListTasksResponse, encode_page(page, query))

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Encoded[Task]:
        """Cancel a task and wait for its end up to the cancel timeout."""
        return (await self._engine.cancel(context.task_scope(request.tenant), request.id)).task

    async def task_dialect(self, task_id: str, context: CallContext) -> str | None:
        """Return the dialect in which a task was created; it decides where dialects share the name
        of an operation.
        """
        stored = await self._store.load_task(
            context.task_scope(), task_id, 0, include_artifacts=False
        )
        if stored is None:
            return None
        return stored.dialect


def parse_task_query(request: ListTasksRequest, invalid_members: Collection[str] = ()) -> TaskQuery:
    """Parse a list request, or raise all of its field errors; ``invalid_members`` have been found
    before.
    """
    errors: list[tuple[str, str]] = []
    state: State | None = None
    status = request.status
    if status is not None and status != TaskState.UNSPECIFIED:
        if status.is_known:
            state = State(status)
        else:
            errors.append(
                (ListTasksRequest.wire_name("status"), f"{status} is not a state of a task")
            )
    query = TaskQuery(
        context_id=request.context_id or None,
        state=state,
        changed_after=request.status_timestamp_after,
        page_size=_DEFAULT_PAGE_SIZE if request.page_size is None else request.page_size,
        page_token=request.page_token or "",
        history_length=request.history_length,
        include_artifacts=bool(request.include_artifacts),
    )
    errors += _find_query_errors(
        query, has_all_filters=not errors and _NON_FILTER_MEMBERS.issuperset(invalid_members)
    )
    if errors:
        raise InvalidParamsError(fields=tuple(errors))
    return query


def _find_query_errors(query: TaskQuery, *, has_all_filters: bool) -> Iterator[tuple[str, str]]:
    """Check each part of a query alone: a check of the whole stops at its first error."""
    checks: list[Callable[[], object]] = [
        partial(check_page_size, query.page_size),
        partial(check_page_size, 1, query.history_length),
    ]
    if query.page_token and has_all_filters:
        checks.append(partial(parse_page_token, query.page_token, *query.token_filters))
    elif query.page_token:
        # The list of the token is unknown without all filters.
        checks.append(partial(decode_page_token, query.page_token))
    for check in checks:
        try:
            check()
        except InvalidParamsError as error:
            yield from error.fields


def encode_page(page: TaskPage, query: TaskQuery) -> bytes:
    """Serialize a page by joining the stored JSON of its tasks.

    With artifacts requested, each task has a list of them, even if it is empty.
    """
    encode = _ensure_artifacts if query.include_artifacts else bytes
    tasks = b",".join([encode(stored.task.json) for stored in page.tasks])
    token = dumps(page.next_page_token).encode()
    return b'{"tasks":[%b],"nextPageToken":%b,"pageSize":%d,"totalSize":%d}' % (
        tasks,
        token,
        query.page_size,
        page.total_size,
    )


def _ensure_artifacts(task: bytes) -> bytes:
    """Add an empty list of artifacts to a task without one; it is parsed only if the word occurs,
    which may be in the data of a client.
    """
    has_some = b',"artifacts":[' in task and "artifacts" in from_json(task)
    if has_some:
        return task
    return task[:-1] + b',"artifacts":[]}'


def parse_cursor(last_event_id: str | None) -> tuple[int | None, int]:
    """Parse the ``Last-Event-ID`` of a request: the number of an event, and its mark in a store
    that has marks.
    """
    if last_event_id is None:
        return None, 0
    found = _CURSOR.fullmatch(last_event_id)
    if found is None:
        raise InvalidParamsError(fields=((CURSOR_HEADER, "is not the id of an event"),))
    return int(found[1]), int(found[2] or "0", 16)


class SubscriptionOperations(ServiceBase):
    """Streams the events of existing tasks."""

    async def subscribe_to_task(
        self, request: SubscribeToTaskRequest, context: CallContext
    ) -> AsyncGenerator[Event[StreamResponse], None]:
        """Yield the task and its later events, or the events after the cursor of the client.

        In 1.0 the subscription outlasts the questions of the task; in 0.3 the event of a question
        has ``final``, after which nothing may come.
        """
        require_streaming(context.surface)
        cursor, mark = parse_cursor(context.last_event_id)
        end_states = _SUBSCRIPTION_END_STATES.get(context.dialect, TERMINAL)
        scope = context.task_scope(request.tenant)
        following = await self._engine.follow(
            scope,
            request.id,
            cursor,
            end_states,
            mark=mark,
            shows_messages=context.shows_messages,
        )
        async with aclosing(following) as events:
            async for event in events:
                yield Event(event.seq, to_stream_response(event), event.mark)


class PushConfigOperations(ServiceBase):
    """Manages the push configurations of tasks.

    The credentials of a webhook are never returned. Its token is returned to an individual owner
    only: members of a team, and callers that cannot be told apart, would read the tokens of each
    other.
    """

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, context: CallContext
    ) -> Encoded[TaskPushNotificationConfig]:
        """Add a push configuration to a task, or replace the one with its id."""
        scope = _require_scope(context, request.tenant)
        if not request.task_id:
            raise InvalidParamsError(
                fields=((TaskPushNotificationConfig.wire_name("task_id"), "Field required"),)
            )
        check_config(request, self._dependencies.check_url)
        config = self._encrypt_config(request, scope, request.task_id)
        stored = await self._store.put_push_config(
            scope,
            request.task_id,
            config,
            context.dialect,
            max_configs=context.surface.limits.webhooks,
        )
        return Encoded.of(strip_credentials(stored.model_copy(update={"token": request.token})))

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> Encoded[TaskPushNotificationConfig]:
        """Return one push configuration of a task; the first one if the dialect allows a request
        without its id.
        """
        scope = _require_scope(context, request.tenant)
        if request.id:
            config = await self._store.get_push_config(scope, request.task_id, request.id)
        else:
            config = next(
                iter((await self._store.list_push_configs(scope, request.task_id, 1))[0]), None
            )
        if config is None:
            raise TaskNotFoundError(
                _NO_CONFIG, details={"task_id": request.task_id, "config_id": request.id}
            )
        return Encoded.of(self._to_visible_config(config, context, scope))

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> Encoded[ListTaskPushNotificationConfigsResponse]:
        """List the push configurations of a task: one page, or all of them for a request without
        paging.
        """
        scope = _require_scope(context, request.tenant)
        if request.page_size is None and not request.page_token:
            configs = await self._list_all(scope, request.task_id)
            token = ""
        else:
            size = MAX_PAGE_SIZE if request.page_size is None else request.page_size
            configs, token = await self._store.list_push_configs(
                scope, request.task_id, size, request.page_token or ""
            )
        visible = [self._to_visible_config(config, context, scope) for config in configs]
        return Encoded.of(
            ListTaskPushNotificationConfigsResponse(configs=visible, next_page_token=token)
        )

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, context: CallContext
    ) -> None:
        """Delete a push configuration; a no-op if it does not exist."""
        scope = _require_scope(context, request.tenant)
        await self._store.delete_push_config(scope, request.task_id, request.id)

    def _to_visible_config(
        self, config: TaskPushNotificationConfig, context: CallContext, scope: TaskScope
    ) -> TaskPushNotificationConfig:
        config = strip_credentials(config)
        if not context.caller.is_individual:
            return config.model_copy(update={"token": None})
        return decrypt_config(config, self._dependencies.secret_cipher, scope, config.task_id or "")

    async def _list_all(
        self, scope: TaskScope, wire_id: str
    ) -> Sequence[TaskPushNotificationConfig]:
        found: list[TaskPushNotificationConfig] = []
        token = ""
        while True:
            configs, token = await self._store.list_push_configs(
                scope, wire_id, MAX_PAGE_SIZE, token
            )
            found += configs
            if not token:
                return found


def strip_credentials(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Remove the credentials from a push configuration."""
    if config.authentication is None or config.authentication.credentials is None:
        return config
    return config.model_copy(
        update={"authentication": config.authentication.model_copy(update={"credentials": None})}
    )


def _require_scope(context: CallContext, tenant: str | None) -> TaskScope:
    require_push_notifications(context.surface)
    return context.task_scope(tenant)
