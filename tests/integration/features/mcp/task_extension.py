"""The extension of tasks for the official client of MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import mcp_types as mt
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import SerializeAsAny

from a2a_runtime.features.mcp.server.long_tools import TaskParams, UpdateTaskParams


class Handle(mt.Result):
    """The handle of a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class Described(mt.Result):
    """The description of a task."""

    status: str
    status_message: str | None = None
    result: mt.CallToolResult | None = None
    input_requests: dict[str, mt.ElicitRequest] | None = None


class TaskRequest(mt.Request[SerializeAsAny[TaskParams], str]):
    """A request for a task."""

    method: str
    params: SerializeAsAny[TaskParams]


class Tasks(ClientExtension):
    """The extension of tasks, as its specification describes a client: it polls, and answers
    questions.
    """

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, *answers: mt.ElicitResult, cancel: bool = False) -> None:
        self.answers = [*answers]
        self.cancel = cancel
        self.seen: list[str] = []
        self.handle = ""

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Take handles."""
        return [ResultClaim(result_type="task", model=Handle, resolve=self.resolve)]

    async def resolve(self, handle: Handle, context: ClaimContext) -> mt.CallToolResult:
        """Follow a task to its end."""
        self.handle = handle.task_id
        self.seen.append(handle.status)
        params = TaskParams(task_id=handle.task_id)
        answered = set[str]()
        if self.cancel:
            await context.session.send_request(
                TaskRequest(method="tasks/cancel", params=params), mt.EmptyResult
            )
        while True:
            found = await context.session.send_request(
                TaskRequest(method="tasks/get", params=params), Described
            )
            self.seen.append(found.status)
            if found.status in {"completed", "cancelled"}:
                return found.result or mt.CallToolResult(
                    is_error=True, content=[mt.TextContent(text=found.status)]
                )
            for key in (found.input_requests or {}).keys() - answered:
                answered.add(key)
                update = UpdateTaskParams(
                    task_id=handle.task_id, input_responses={key: self.answers.pop(0)}
                )
                await context.session.send_request(
                    TaskRequest(method="tasks/update", params=update), mt.EmptyResult
                )
            await asyncio.sleep(0.01)
