"""What a user registers: a function, and how it is to be run.

A handler takes one argument, its context, and is one of these:

    async def handler(ctx): return answer       the answer is the task's result
    async def handler(ctx): yield chunk         each value is a chunk of the result, or news of the task
    def handler(ctx): return answer             runs in a thread of its own; ``ctx.block_on(…)`` calls what is async

``answers`` says what a caller gets: a task that can be followed, or, for skills that are done in no time, one message and no task at all.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from a2a_runtime.execution.context import TaskContext

Handler: TypeAlias = Callable[[TaskContext], object]
"""It may give back an awaitable or an async generator. One that answers with a message, without a task, must be content with a ``Context``."""


class ReplyKind(StrEnum):
    """What a caller of a skill gets."""

    TASK = "task"
    MESSAGE = "message"


class HandlerKind(StrEnum):
    """How a handler is to be called."""

    ASYNC = "async function"
    STREAM = "async generator"
    THREAD = "function"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill of an agent: its handler, what it answers with, how many seconds one run may take, and whether it may run again after a crash.

    ``restarts`` is how often: a handler that takes its process along every time must not do so for ever. Callers of an ``outspoken`` skill read the
    text of what its handler raises, and whatever it returns that is no JSON as text. One that may not ask is called where nobody can answer.
    """

    id: str
    handler: Handler
    answers: ReplyKind | str = ReplyKind.TASK
    timeout: float | None = 300.0
    restartable: bool = True
    max_restarts: int = 10
    expose_errors: bool = False
    can_ask: bool = True
    handler_kind: HandlerKind = field(init=False)

    def __post_init__(self) -> None:
        style = detect_handler_kind(self.handler)
        if style is None or not _accepts_one_argument(self.handler):
            raise TypeError(f"skill {self.id!r}: a handler is an async function, an async generator or a plain function of one argument")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError(f"skill {self.id!r}: the timeout is a positive number of seconds, or None for no limit")
        object.__setattr__(self, "answers", ReplyKind(self.answers))
        object.__setattr__(self, "handler_kind", style)
        if style is HandlerKind.STREAM and self.answers is ReplyKind.MESSAGE:
            raise TypeError(f"skill {self.id!r}: a handler that streams needs a task to stream into: answers='task'")


def _accepts_one_argument(handler: Handler) -> bool:
    """Say whether a function can be called with one argument; of some that are written in C nobody knows."""
    try:
        inspect.signature(handler, follow_wrapped=False).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def detect_handler_kind(handler: object) -> HandlerKind | None:
    """Say how a handler is to be called, looking through wrappers and at objects that are called; ``None`` when it is no handler."""
    if not callable(handler) or inspect.isclass(handler):
        return None
    plain: object = handler
    while isinstance(plain, functools.partial):
        plain = plain.func
    for function in (inspect.unwrap(handler) if plain is handler else plain, type(plain).__call__):
        if inspect.isasyncgenfunction(function):
            return HandlerKind.STREAM
        if inspect.iscoroutinefunction(function):
            return HandlerKind.ASYNC
        if inspect.isgeneratorfunction(function):
            return None
    return HandlerKind.THREAD
