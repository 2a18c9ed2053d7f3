"""The client by the names of apcore, which needs no server: the client of this runtime, with
objects of A2A 0.3.

    async with A2AClient("https://agent.example.com", auth="Bearer …") as client:
        task = await client.send_message("hello", skill_id="demo.greet")
        print(task.status.state, task.artifacts)

It calls any agent, in the version and binding that its card offers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from types import TracebackType
from typing import Any, Self, TypeAlias

import httpx
from pydantic import TypeAdapter

from a2a_contract import v0_3, v1_0
from a2a_contract.errors import A2AError, InternalError, TaskNotCancelableError, TaskNotFoundError
from a2a_contract.translate.v0_3.card import write_agent_card
from a2a_contract.translate.v0_3.event import (
    write_task_artifact_update_event,
    write_task_status_update_event,
)
from a2a_contract.translate.v0_3.message import read_message
from a2a_contract.translate.v0_3.message import write_message as write_v0_3_message
from a2a_contract.translate.v0_3.task import write_task as write_v0_3_task
from a2a_runtime.client import client as runtime_client
from a2a_runtime.client.card_resolver import STATUS, is_http_url
from a2a_runtime.client.errors import (
    A2AClientError,
    DiscoveryError,
    TransportError,
    UnexpectedStatusError,
)
from a2a_runtime.client.options import ClientOptions, SendOptions

__all__ = [
    "A2AClient",
    "A2AConnectionError",
    "A2ADiscoveryError",
    "A2AServerError",
    "TaskNotCancelableError",
    "TaskNotFoundError",
]

A2AServerError = InternalError
A2AConnectionError = TransportError
A2ADiscoveryError = DiscoveryError

MessageContent: TypeAlias = "str | Mapping[str, object] | v0_3.Message | v1_0.Message"
"""A text, a message as of 0.3 (also with ``type`` in its parts), an object without ``parts`` as
data, or a message.
"""
Updates: TypeAlias = v0_3.TaskStatusUpdateEvent | v0_3.TaskArtifactUpdateEvent

_BEARER = "bearer "
_MESSAGE: TypeAdapter[v0_3.Message] = TypeAdapter(v0_3.Message)


class ApcoreClient:
    """A client of the agent at a URL.

    ``auth`` is the value of the ``Authorization`` header, or a token; times are in seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: str | None = None,
        timeout: float = 30.0,
        card_ttl: float = 300.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not is_http_url(url):
            raise ValueError(
                f"A2AClient: {url!r} is not an HTTP URL; give one such as https://agent.example.com"
            )
        token = (
            auth[len(_BEARER) :] if auth is not None and auth.lower().startswith(_BEARER) else auth
        )
        self._client = runtime_client.A2AClient(
            url,
            auth=token,
            timeout=timeout,
            options=ClientOptions(card_max_age=card_ttl),
            transport=transport,
        )
        self._url = url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    @property
    def agent_card(self) -> Awaitable[v0_3.AgentCard]:
        """The card of the agent, to be awaited: read on first use, then kept."""
        return self._read_card()

    async def _read_card(self) -> v0_3.AgentCard:
        try:
            card = await self._client.get_card()
        except (DiscoveryError, TransportError):
            raise
        except (A2AClientError, A2AError) as error:
            notes: list[str] = getattr(error, "__notes__", [])
            refused = A2ADiscoveryError(f"{self._url}: no card: {'; '.join((str(error), *notes))}")
            refused.status = _find_status(error)
            raise refused from error
        return v0_3.AgentCard.model_validate(write_agent_card(card.to_dict()))

    async def send_message(
        self,
        message: MessageContent,
        *,
        skill_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        context_id: str | None = None,
    ) -> v0_3.Task | v0_3.Message:
        """Send a message, and wait until its task has ended or asks."""
        content = _to_content(message)
        sent = await self._client.send(
            content, context_id=context_id, options=_build_options(skill_id, metadata)
        )
        if isinstance(sent, v1_0.Task):
            return _to_task(sent)
        return v0_3.Message.model_validate(write_v0_3_message(sent.to_dict()))

    async def stream_message(
        self,
        message: MessageContent,
        *,
        skill_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        context_id: str | None = None,
    ) -> AsyncIterator[Updates]:
        """Send a message, and yield the updates of its task until it has ended or asks."""
        stream = self._client.stream(
            _to_content(message), context_id=context_id, options=_build_options(skill_id, metadata)
        )
        async for event in stream:
            for update in _to_updates(event):
                yield update

    async def get_task(self, task_id: str) -> v0_3.Task:
        """Read a task."""
        return _to_task(await self._client.get(task_id))

    async def cancel_task(self, task_id: str) -> v0_3.Task:
        """Cancel a task."""
        return _to_task(await self._client.cancel(task_id))

    async def list_tasks(self, context_id: str | None = None) -> list[v0_3.Task]:
        """List tasks, those of a conversation or all."""
        return [
            _to_task(task)
            async for task in self._client.list(context_id=context_id, include_artifacts=True)
        ]


A2AClient = ApcoreClient


def _find_status(error: A2AClientError | A2AError) -> int | None:
    """Find the HTTP status of the response that an error was made of."""
    if isinstance(error, UnexpectedStatusError):
        return error.status
    status = error.details.get(STATUS) if isinstance(error, A2AError) else None
    if status is None:
        return None
    return int(status)


def _build_options(skill_id: str | None, metadata: Mapping[str, object] | None) -> SendOptions:
    """Build the options of a message; its skill is in the metadata of the request, where agents of
    apcore look for it.
    """
    members = {**(metadata or {})}
    if skill_id is not None:
        members["skillId"] = skill_id
    return SendOptions(metadata=members or None)


def _to_content(message: MessageContent) -> runtime_client.Content:
    if isinstance(message, v0_3.Message):
        return v1_0.Message.model_validate(read_message(message))
    if not isinstance(message, Mapping) or "parts" not in message:
        return message
    given: dict[str, Any] = dict(message)
    document = {
        "kind": "message",
        "role": "user",
        "messageId": "",
        **given,
        "parts": [_nest_file(_rename_type(dict(part))) for part in given["parts"]],
    }
    return v1_0.Message.model_validate(read_message(_MESSAGE.validate_python(document)))


def _rename_type(part: dict[str, Any]) -> dict[str, Any]:
    """Call the member ``type`` of a part ``kind``, in its place."""
    return {("kind" if name == "type" else name): value for name, value in part.items()}


def _nest_file(part: dict[str, Any]) -> dict[str, Any]:
    """Nest the members of a flat file."""
    if part.get("kind") != "file" or "file" in part:
        return part
    return {"kind": "file", "file": {name: value for name, value in part.items() if name != "kind"}}


def _to_task(task: v1_0.Task) -> v0_3.Task:
    return v0_3.Task.model_validate(write_v0_3_task(task.to_dict()))


def _to_updates(event: object) -> list[Updates]:
    """Convert an event; the task at the beginning of a stream is a status and the artifacts that it
    has.
    """
    match event:
        case v1_0.TaskStatusUpdateEvent():
            return [
                v0_3.TaskStatusUpdateEvent.model_validate(
                    write_task_status_update_event(event.to_dict())
                )
            ]
        case v1_0.TaskArtifactUpdateEvent():
            return [
                v0_3.TaskArtifactUpdateEvent.model_validate(
                    write_task_artifact_update_event(event.to_dict())
                )
            ]
        case v1_0.Task():
            context_id = event.context_id or ""
            artifacts = [
                v1_0.TaskArtifactUpdateEvent(task_id=event.id, context_id=context_id, artifact=each)
                for each in event.artifacts or ()
            ]
            status = v1_0.TaskStatusUpdateEvent(
                task_id=event.id, context_id=context_id, status=event.status
            )
            updates: list[Updates] = []
            for each in (*artifacts, status):
                updates += _to_updates(each)
            return updates
        case _:
            return []
