"""A call of a tool in flight: a task of its own, whose progress and questions are taken by the run
that follows it.

A question that the server asks within a call ends the run, while the call stays open. The run that
the answer begins takes the same call again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

import mcp_types as mt

ToolResult: TypeAlias = mt.CallToolResult | mt.InputRequiredResult
ElicitParams: TypeAlias = mt.ElicitRequestFormParams | mt.ElicitRequestURLParams
Send: TypeAlias = Callable[["ToolCall"], Awaitable[ToolResult]]

current_call: ContextVar[ToolCall | None] = ContextVar("mcp_call", default=None)
"""The call whose messages are being read, where the transport keeps contexts."""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The last progress of a call that was not taken."""

    fraction: float | None
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class LiveQuestion:
    """A question within a call, which waits for its answer."""

    params: ElicitParams
    number: int
    answer: asyncio.Future[mt.ElicitResult]


class ToolCall:
    """One call."""

    def __init__(self, send: Send) -> None:
        self._changed = asyncio.Event()
        self._progress: ToolProgress | None = None
        self._questions = 0
        self.question: LiveQuestion | None = None
        """The question that waits for an answer."""
        self._task = asyncio.create_task(self._run(send))
        self._task.add_done_callback(self._end)

    async def _run(self, send: Send) -> ToolResult:
        current_call.set(self)
        return await send(self)

    def _end(self, _task: asyncio.Task[ToolResult]) -> None:
        self.answer(mt.ElicitResult(action="cancel"))  # of a call that was canceled or lost
        self._changed.set()

    async def next_event(self) -> ToolProgress | LiveQuestion | None:
        """Wait for the next progress or question; ``None`` at the end of the call."""
        while True:
            self._changed.clear()
            if (progress := self._progress) is not None:
                self._progress = None
                return progress
            if self.question is not None:
                return self.question
            if self._task.done():
                return None
            await self._changed.wait()

    async def report_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        """Note a progress; a reader who is slower than the server finds the last one."""
        if total:
            fraction = min(max(progress / total, 0.0), 1.0)
            self._progress = ToolProgress(fraction, message or "")
        else:
            self._progress = ToolProgress(None, message or f"{progress:g}")
        self._changed.set()

    async def ask(self, params: ElicitParams) -> mt.ElicitResult:
        """Wait for the answer to a question of the server."""
        answer: asyncio.Future[mt.ElicitResult] = asyncio.get_running_loop().create_future()
        self.question = LiveQuestion(params, self._questions, answer)
        self._questions += 1
        self._changed.set()
        return await answer

    def answer(self, result: mt.ElicitResult) -> None:
        """Answer the question."""
        if self.question is not None and not self.question.answer.done():
            self.question.answer.set_result(result)
        self.question = None

    def result(self) -> ToolResult:
        """Return the result of a call that has ended, or raise its error."""
        return self._task.result()

    async def cancel(self) -> None:
        """Cancel the call, at the server too; a no-op if it has ended."""
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            # There may be nothing else that looks at the exception.
            self._task.exception()
