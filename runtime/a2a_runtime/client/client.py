"""The client: each operation of an agent as a method, in the canonical model, for every dialect.

async with A2AClient("https://agent.example.com") as client:
    answer = await client.send("Hello!")
    async for event in client.stream("Tell me more", task=answer):
        print(event)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Self, TypeAlias
from uuid import uuid4

import httpx

from a2a_contract import operations
from a2a_contract.extension_table import Extension
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SendMessageResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_runtime.base.card_extensions import SKILL_ID, Params, find_params
from a2a_runtime.client.auth import CardAuth, Credential, build_auth
from a2a_runtime.client.calls import ClientConnection
from a2a_runtime.client.card_resolver import CardResolver, is_http_url
from a2a_runtime.client.connection import AgentConnection
from a2a_runtime.client.errors import InvalidResponseError
from a2a_runtime.client.generations import add_generation
from a2a_runtime.client.grpc import GrpcCapableClient, GrpcTransport, is_grpc_url
from a2a_runtime.client.options import ClientOptions, SendOptions
from a2a_runtime.client.stream import TaskStream
from a2a_runtime.client.task_ids import check_task_id
from a2a_runtime.client.transport import HttpTransport
from a2a_runtime.net.authorities import load_ssl_context

TaskOrId: TypeAlias = Task | str
"""A task, or its id."""


def to_task_id(task: TaskOrId) -> str:
    """Return the id of a task."""
    if isinstance(task, Task):
        return check_task_id(task.id)
    return check_task_id(task)


class PushConfigs:
    """Push notification configs of tasks; ``client.push_configs``."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def create(
        self, task: TaskOrId, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        """Create a config that delivers the updates of a task to a URL; the result has its id."""
        request = config.model_copy(update={"task_id": to_task_id(task)})
        return await self._connection.call(
            operations.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, request, TaskPushNotificationConfig
        )

    async def get(self, task: TaskOrId, config_id: str) -> TaskPushNotificationConfig:
        """Read one config."""
        request = GetTaskPushNotificationConfigRequest(task_id=to_task_id(task), id=config_id)
        return await self._connection.call(
            operations.GET_TASK_PUSH_NOTIFICATION_CONFIG, request, TaskPushNotificationConfig
        )

    async def list(self, task: TaskOrId) -> AsyncIterator[TaskPushNotificationConfig]:
        """Yield all configs of a task, page by page."""
        request = ListTaskPushNotificationConfigsRequest(task_id=to_task_id(task))
        while True:
            page = await self._connection.call(
                operations.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
                request,
                ListTaskPushNotificationConfigsResponse,
            )
            for config in page.configs or ():
                yield config
            if not page.next_page_token or page.next_page_token == request.page_token:
                return
            request = request.model_copy(update={"page_token": page.next_page_token})

    async def delete(self, task: TaskOrId, config_id: str) -> None:
        """Delete a config."""
        await self._connection.execute(
            operations.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            DeleteTaskPushNotificationConfigRequest(task_id=to_task_id(task), id=config_id),
        )


Content: TypeAlias = (
    "str | Part | Message | Mapping[str, object] | Sequence[Part | str | Mapping[str, object]]"
)
"""Content of a message: a text, data (an object), a part, a sequence of these, or a complete
message.
"""

_NO_OPTIONS = SendOptions()


def build_message(
    content: Content,
    task: Task | str | None = None,
    context_id: str | None = None,
    options: SendOptions = _NO_OPTIONS,
) -> Message:
    """Build a message of the user, about a task or in a context; members that a complete message
    has are kept.
    """
    if isinstance(task, Task):
        context_id = context_id or task.context_id
        task = task.id
    if isinstance(content, Message):
        return _complete_message(content, task, context_id, options)
    contents: Sequence[Part | str | Mapping[str, object]] = (
        [content] if isinstance(content, str | Part | Mapping) else content
    )
    return _complete_message(
        Message(parts=[build_part(each) for each in contents]), task, context_id, options
    )


def build_part(content: str | Part | Mapping[str, object]) -> Part:
    """Build one part from a text or data."""
    if isinstance(content, Part):
        return content
    if isinstance(content, str):
        return Part(text=content)
    return Part(data=dict(content))


def _complete_message(
    message: Message, task_id: str | None, context_id: str | None, options: SendOptions
) -> Message:
    missing: dict[str, object] = {
        "message_id": message.message_id or options.message_id or str(uuid4()),
        "role": Role.USER if message.role is Role.UNSPECIFIED else message.role,
        "task_id": message.task_id or task_id,
        "context_id": message.context_id or context_id,
    }
    if options.reference_task_ids is not None and message.reference_task_ids is None:
        missing["reference_task_ids"] = [*options.reference_task_ids]
    if options.extensions is not None and message.extensions is None:
        missing["extensions"] = [*options.extensions]
    return message.model_copy(update=missing)


# a stream holds its connection while the task runs
_POOL_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)


class A2AClient:
    """A client of the agent at a URL.

    ``url`` is that of the agent or of its card. ``auth`` is a bearer token, an ``httpx.Auth``, or
    credentials by scheme name, among which the card chooses (``client.auth``). ``timeout`` is the
    time in seconds for the complete response to a message, by default as long as the agent takes;
    everything else has ``ClientOptions.read_timeout`` or less. ``transport`` is for tests and
    special networks: ``httpx.ASGITransport(app)`` calls an app in the same process.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | str | Mapping[str, Credential] | None = None,
        timeout: float | None = None,
        options: ClientOptions | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        options = complete_options(url, timeout, options or ClientOptions())
        http_auth = None if auth is None else build_auth(auth)
        card_auth = http_auth if isinstance(http_auth, CardAuth) else None
        calls = GrpcTransport(
            options.grpc_credentials, max(options.limits.response_bytes, options.limits.event_bytes)
        )
        verify = (card_auth and card_auth.ssl_context) or load_ssl_context()
        http = GrpcCapableClient(
            calls, auth=http_auth, transport=transport, limits=_POOL_LIMITS, verify=verify
        )
        http_transport = HttpTransport(http, options, timeout)
        resolver = CardResolver(url, http_transport, options, options.headers)
        self._connection: ClientConnection = AgentConnection(
            http_transport, resolver, options, card_auth
        )
        self.push_configs = PushConfigs(self._connection)

    @classmethod
    def over(cls, connection: ClientConnection) -> Self:
        """Build a client over another connection than HTTP."""
        client = cls.__new__(cls)
        # a member of this class
        client._connection = connection  # noqa: SLF001
        client.push_configs = PushConfigs(connection)
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; open streams end with ``ClosedError``."""
        await self._connection.aclose()

    async def get_card(self, *, refresh: bool = False) -> AgentCard:
        """Read the agent's card, from the cache until it expires; ``refresh`` asks the agent."""
        return await self._connection.get_card(refresh=refresh)

    async def find_extension(self, extension: Extension[Params]) -> Params | None:
        """Read the parameters of an extension (``a2a_contract.extension_table``); ``None`` if the
        card does not declare it.
        """
        return find_params(await self.get_card(), extension)

    async def get_extended_card(self) -> AgentCard:
        """Read the extended card for authenticated callers."""
        return await self._connection.get_extended_card()

    async def fetch_document(self, url: str) -> bytes:
        """Read a document that the card names, such as the schema of a skill."""
        return await self._connection.fetch_document(url)

    async def send(
        self,
        content: Content,
        *,
        task: TaskOrId | None = None,
        context_id: str | None = None,
        wait: bool = True,
        if_generation: int | None = None,
        options: SendOptions | None = None,
    ) -> Task | Message:
        """Send a message and wait for the result; ``wait=False`` returns as soon as the task
        exists.

        With ``if_generation`` the message is refused (``TaskGenerationMismatchError``) if the task
        has changed since that generation was read.
        """
        options = _add_generation(options, if_generation)
        request = _build_request(
            build_message(content, task, context_id, options), options, wait=wait
        )
        response = await self._connection.call(
            operations.SEND_MESSAGE,
            request,
            SendMessageResponse,
            options.idempotency_key or str(uuid4()),
        )
        result = response.task or response.message
        if result is None:
            raise InvalidResponseError("Response to SendMessage: neither a task nor a message")
        return result

    def stream(
        self,
        content: Content,
        *,
        task: TaskOrId | None = None,
        context_id: str | None = None,
        if_generation: int | None = None,
        options: SendOptions | None = None,
    ) -> TaskStream:
        """Send a message when the iteration begins, and yield events until the task ends;
        ``if_generation`` is as in ``send``.
        """
        options = _add_generation(options, if_generation)
        request = _build_request(
            build_message(content, task, context_id, options), options, wait=True
        )
        key = options.idempotency_key or str(uuid4())
        return TaskStream(
            self._connection, operations.SEND_STREAMING_MESSAGE, request, idempotency_key=key
        )

    def subscribe(self, task: TaskOrId, *, cursor: str | None = None) -> TaskStream:
        """Yield events of a task from now on, or after the event with the number ``cursor``."""
        request = SubscribeToTaskRequest(id=to_task_id(task))
        return TaskStream(
            self._connection,
            operations.SUBSCRIBE_TO_TASK,
            request,
            task_id=to_task_id(task),
            cursor=cursor,
        )

    async def get(self, task: TaskOrId, *, history_length: int | None = None) -> Task:
        """Read the current state of a task."""
        return await self._connection.call(
            operations.GET_TASK,
            GetTaskRequest(id=to_task_id(task), history_length=history_length),
            Task,
        )

    async def list(
        self,
        *,
        context_id: str | None = None,
        state: State | None = None,
        since: datetime | None = None,
        include_artifacts: bool = False,
        history_length: int | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[Task]:
        """Yield the caller's matching tasks, the most recently changed first, page by page."""
        status = None if state is None else TaskState(state)
        request = ListTasksRequest(
            context_id=context_id,
            status=status,
            status_timestamp_after=since,
            include_artifacts=include_artifacts or None,
            history_length=history_length,
            page_size=page_size,
        )
        while True:
            page = await self._connection.call(operations.LIST_TASKS, request, ListTasksResponse)
            for task in page.tasks:
                yield task
            if not page.next_page_token or page.next_page_token == request.page_token:
                return
            request = request.model_copy(update={"page_token": page.next_page_token})

    async def cancel(self, task: TaskOrId, *, metadata: Mapping[str, object] | None = None) -> Task:
        """Cancel a task."""
        members = None if metadata is None else dict(metadata)
        request = CancelTaskRequest(id=to_task_id(task), metadata=members)
        return await self._connection.call(operations.CANCEL_TASK, request, Task)


def complete_options(url: str, timeout: float | None, options: ClientOptions) -> ClientOptions:
    """Refuse what could never work, and add the verifier of cards for the keys of the options."""
    origins = (("trusted_origins", each) for each in options.trusted_origins)
    for name, each in (("url", url), ("interface_url", options.interface_url or url), *origins):
        if not is_http_url(each) and not is_grpc_url(each):
            raise ValueError(
                f"A2AClient: {name}: {each!r} is not a URL; begin it with https:// or "
                "http://, followed by a host"
            )
    if is_grpc_url(url) and options.interface_url is None:
        # such an address has no card
        options = replace(options, interface_url=url)
    if timeout is not None and not timeout > 0:
        raise ValueError(
            f"A2AClient: timeout: {timeout} is not above 0; give seconds, or None to wait as "
            "long as the agent takes"
        )
    if not options.card_keys:
        return options
    if options.card_verifier is not None:
        raise ValueError("A2AClient: both card_keys and card_verifier are set; give one of them")
    # an extra, imported only to verify
    from a2a_runtime.client.signatures import build_card_verifier  # noqa: PLC0415

    return replace(options, card_verifier=build_card_verifier(options.card_keys))


def _add_generation(options: SendOptions | None, if_generation: int | None) -> SendOptions:
    options = options or _NO_OPTIONS
    if if_generation is None:
        return options
    return replace(options, if_generation=if_generation)


def _build_request(message: Message, options: SendOptions, *, wait: bool) -> SendMessageRequest:
    output_modes = None if options.output_modes is None else [*options.output_modes]
    configuration = SendMessageConfiguration(
        accepted_output_modes=output_modes,
        task_push_notification_config=options.push_config,
        history_length=options.history_length,
        return_immediately=not wait,
    )
    metadata = None if options.metadata is None else dict(options.metadata)
    if options.skill is not None:
        metadata = {**(metadata or {}), SKILL_ID: options.skill}
    request = SendMessageRequest(message=message, configuration=configuration, metadata=metadata)
    if options.if_generation is None:
        return request
    return add_generation(request, options.if_generation)
