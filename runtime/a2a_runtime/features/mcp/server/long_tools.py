"""Tools that take long, as tasks of the extension of 2026-07-28, for clients that declare it.

    tools/call       the result if the task of the agent ends soon; else its handle
    tasks/get        its status: working, input_required with the question,
                     completed with the result, cancelled
    tasks/update     the answer to its question
    tasks/cancel     cancels it

The handle names the tool and the task. It is worth nothing to other callers, because a task belongs
to its caller.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

import mcp_types as mt
from mcp import MCPError
from pydantic import ValidationError

from a2a_contract.errors import A2AError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Task
from a2a_runtime.base.texts import join_texts
from a2a_runtime.client.stream import INTERRUPTED_STATES, TERMINAL_STATES
from a2a_runtime.client.typed.errors import SkillError
from a2a_runtime.client.typed.results import build_answer, parse_question
from a2a_runtime.features.mcp.server.questions import build_elicitation, find_support, read_answer
from a2a_runtime.features.mcp.server.results import build_error_result
from a2a_runtime.features.remote_tools import RemoteTools, build_result

TASKS = "io.modelcontextprotocol/tasks"
"""The extension."""
POLL_MILLIS = 1000
SOON_SECONDS = 1.0
"""Time after which a call returns a handle."""

Document: TypeAlias = dict[str, Any]


class TaskParams(mt.RequestParams):
    """Parameters of ``tasks/get`` and ``tasks/cancel``."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """Parameters of ``tasks/update``."""

    input_responses: dict[str, mt.ElicitResult]


class TaskHandle(NamedTuple):
    """A task of the agent, the tool that has begun it, and when."""

    tool: str
    created_at: str
    task_id: str

    def to_text(self) -> str:
        """Serialize the handle; names of tools and times have no slash."""
        return "/".join(self)

    @classmethod
    def from_text(cls, text: str) -> TaskHandle:
        """Parse the result of ``to_text``, or raise ``MCPError``."""
        parts = text.split("/", 2)
        if len(parts) != len(cls._fields):
            raise MCPError(code=mt.INVALID_PARAMS, message=f"Unknown task: {text[:200]}")
        return cls(*parts)


def wants_tasks(context: Any) -> bool:  # noqa: ANN401 - of the library, with open types
    """Return whether the client of a request takes handles."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and TASKS in (capabilities.extensions or {})


async def wait_soon(remote: RemoteTools, begun: Task) -> Task:
    """Wait a moment for the end of a task, or for its question."""
    try:
        with suppress(TimeoutError, A2AError):  # it has ended before it was followed
            async with asyncio.timeout(SOON_SECONDS), remote.untyped.subscribe(begun) as events:
                async for _ in events:
                    pass
        return await remote.untyped.get(begun.id)
    except asyncio.CancelledError:
        with suppress(A2AError):
            await asyncio.shield(remote.untyped.cancel(begun))
        raise


def build_handle(tool: str, task: Task) -> Document:
    """Build the result of a call that goes on as a task."""
    handle = TaskHandle(tool, datetime.now(UTC).isoformat(timespec="milliseconds"), task.id)
    return {"resultType": "task", **_describe(handle, task)}


async def describe_task(
    context: Any,  # noqa: ANN401 - of the library
    remote: RemoteTools,
    handle: TaskHandle,
    build: Any,  # noqa: ANN401 - as above
) -> Document:
    """Describe a task; ``build`` makes the result of its tool."""
    task = await _load(remote, handle)
    document = {"resultType": "complete", **_describe(handle, task)}
    question: Message | None = task.status.message
    if question is not None and str(task.status.state) in INTERRUPTED_STATES:
        elicitation = build_elicitation(parse_question(task), find_support(context))
        if elicitation is None:
            task = await remote.untyped.cancel(task)
            return {
                "resultType": "complete",
                **_describe(handle, task),
                "statusMessage": "The client cannot be asked, so that the task was canceled",
            }
        document["inputRequests"] = {question.message_id: _dump(elicitation)}
    if document["status"] == "completed":
        try:
            document["result"] = _dump(build(build_result(task)))
        except SkillError as error:
            document["result"] = _dump(build_error_result(str(error)))
    return document


async def answer_task(
    remote: RemoteTools, handle: TaskHandle, responses: dict[str, mt.ElicitResult]
) -> Document:
    """Answer the question of a task; an answer to an earlier one has no effect."""
    task = await _load(remote, handle)
    message: Message | None = task.status.message
    given = None if message is None else responses.get(message.message_id)
    if given is not None and str(task.status.state) in INTERRUPTED_STATES:
        question = parse_question(task)
        if given.action == "accept":
            await remote.untyped.send(
                build_answer(question, read_answer(question, given)), wait=False
            )
        else:
            await remote.untyped.cancel(task)
    return {"resultType": "complete"}


async def cancel_task(remote: RemoteTools, handle: TaskHandle) -> Document:
    """Cancel a task; one that has ended stays as it is."""
    task = await _load(remote, handle)
    if str(task.status.state) not in TERMINAL_STATES:
        with suppress(A2AError):  # it has ended meanwhile
            await remote.untyped.cancel(task)
    return {"resultType": "complete"}


async def _load(remote: RemoteTools, handle: TaskHandle) -> Task:
    try:
        return await remote.untyped.get(handle.task_id)
    except (A2AError, ValidationError) as error:
        raise MCPError(
            code=mt.INVALID_PARAMS, message=f"Unknown task: {handle.to_text()[:200]}"
        ) from error


def _describe(handle: TaskHandle, task: Task) -> Document:
    status = "working"
    if str(task.status.state) in INTERRUPTED_STATES:
        status = "input_required"
    elif str(task.status.state) in TERMINAL_STATES:
        status = "cancelled" if str(task.status.state) == str(State.CANCELED) else "completed"
    message: Message | None = task.status.message
    updated = task.status.timestamp
    document: Document = {
        "taskId": handle.to_text(),
        "status": status,
        "createdAt": handle.created_at,
        "lastUpdatedAt": handle.created_at if updated is None else updated.isoformat(),
        "ttlMs": None,
        "pollIntervalMs": POLL_MILLIS,
    }
    if text := join_texts(message):
        return {**document, "statusMessage": text}
    return document


def _dump(model: Any) -> Document:  # noqa: ANN401 - any model of the library
    document: Document = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return document
