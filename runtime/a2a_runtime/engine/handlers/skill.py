"""Skills: handlers, their options, and their calls.

A handler takes its context, then the dependencies of its agent by name, and is one of these:

    async def handler(ctx): return result    the value is the result of the task
    async def handler(ctx): yield chunk      each value is a chunk of the result, or a status text
    def handler(ctx): return result          runs in a thread of its own;
                                             ``ctx.block_on(…)`` runs coroutines
    def handler(ctx): yield chunk            the same, as a stream
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from types import CoroutineType
from typing import Concatenate, NamedTuple, TypeAlias

from a2a_runtime.engine.background import run_in_thread
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.engine.handlers.thread_streams import ThreadedStream
from a2a_runtime.engine.placement import Placement, WorkerOptions
from a2a_runtime.engine.signals import find_signal
from a2a_runtime.stores.models import Deferral

Handler: TypeAlias = Callable[Concatenate[TaskContext, ...], object]
"""A handler takes a ``TaskContext`` and may return an awaitable or an async generator.

One that replies with a message has no task and gets a plain ``Context``.
"""


class ReplyKind(StrEnum):
    """Reply of a skill: a task that can be followed, one message and no task, or either, as each
    call needs it (``engine.begun``).
    """

    TASK = "task"
    MESSAGE = "message"
    EITHER = "either"


class HandlerKind(StrEnum):
    """Kind of a handler."""

    ASYNC = "async function"
    STREAM = "generator"
    THREAD = "function"


@dataclass(frozen=True, slots=True)
class Skill:
    """Skill of an agent: its handler and the options of its runs.

    ``timeout`` is the limit of one run in seconds. ``restartable`` allows a new run after a crash,
    at most ``max_restarts`` times, because a handler may crash its process each time. Handovers do
    not count, nor the end of a lease because another task blocked the event loop. With
    ``expose_errors`` callers read the texts of exceptions, and results that are no JSON as text.
    Without ``can_ask`` the skill is called in dialects that have no way to answer a question. With
    ``accepts_messages`` the handler takes messages while it runs (``ctx.incoming``). ``runs_on`` is
    ``None`` for the placement of the settings; ``worker`` applies on workers only.
    """

    id: str
    handler: Handler
    answers: ReplyKind | str = ReplyKind.TASK
    timeout: float | None = 300.0
    restartable: bool = True
    max_restarts: int = 10
    expose_errors: bool = False
    can_ask: bool = True
    accepts_messages: bool = False
    runs_on: Placement | str | None = None
    worker: WorkerOptions = WorkerOptions()  # noqa: RUF009 - frozen, all of it
    handler_kind: HandlerKind = field(init=False)

    def __post_init__(self) -> None:
        handler_kind = detect_handler_kind(self.handler)
        if handler_kind is None or not _accepts_context(self.handler):
            raise TypeError(f"skill {self.id!r}: {explain_refusal(self.handler)}")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError(
                f"skill {self.id!r}: timeout {self.timeout} is not positive; use a number of "
                "seconds, or None for no limit"
            )
        object.__setattr__(self, "answers", ReplyKind(self.answers))
        object.__setattr__(self, "handler_kind", handler_kind)
        if is_plain_generator(self.handler):
            object.__setattr__(self, "handler", ThreadedStream(self.handler))
        if self.accepts_messages and self.answers is ReplyKind.MESSAGE:
            raise TypeError(
                f"skill {self.id!r}: accepts_messages: only a task can get further messages; "
                "use answers='task'"
            )
        if handler_kind is HandlerKind.STREAM and self.answers is ReplyKind.MESSAGE:
            raise TypeError(
                f"skill {self.id!r}: a handler that yields needs a task; use answers='task'"
            )
        if self.runs_on is not None:
            object.__setattr__(self, "runs_on", Placement(self.runs_on))
        if self.worker.retry.retries and not self.restartable:
            raise ValueError(
                f"skill {self.id!r}: a skill that must not be restarted cannot be retried; "
                "remove retries, or restartable"
            )
        if self.runs_on is Placement.WORKERS and self.answers is not ReplyKind.TASK:
            raise TypeError(
                f"skill {self.id!r}: a skill on workers needs a task; use answers='task', or "
                "remove runs_on"
            )

    def is_deferred(self, default: str) -> bool:
        """Return whether workers run this skill; ``default`` is the placement of skills that name
        none. Replies without a task are made at once.
        """
        return (self.runs_on or default) == Placement.WORKERS and self.answers is ReplyKind.TASK

    def build_deferral(
        self, default: str, surface: str, delay_seconds: float = 0.0
    ) -> Deferral | None:
        """Build the job of a run on workers; ``None`` for a run in the process."""
        if self.is_deferred(default):
            return self.worker.build_deferral(surface, delay_seconds)
        return None


class HandlerParameters(NamedTuple):
    """Parameters of a handler: its context, and those that are given by name."""

    context: str
    others: Mapping[str, inspect.Parameter]


_KEYWORD_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def find_parameters(handler: Handler) -> HandlerParameters:
    """Find the parameters of a handler, those of the decorated function if the decorator passes
    them on; raise ``TypeError`` without a first one.
    """
    try:
        signature = inspect.signature(handler, follow_wrapped=False)
        if any(
            each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values()
        ):
            signature = inspect.signature(handler)
    except ValueError:  # a function in C without a signature
        return HandlerParameters("", {})
    first, *rest = signature.parameters.values() or (None,)
    others = {each.name: each for each in rest if each.kind in _KEYWORD_KINDS}
    signature.bind(None, **dict.fromkeys(others))
    context_name = "" if first is None else first.name
    return HandlerParameters(context_name, others)


def _accepts_context(handler: Handler) -> bool:
    """Return whether a function can be called with a context, and with its other parameters by
    name.
    """
    try:
        find_parameters(handler)
    except TypeError:
        return False
    return True


def explain_refusal(handler: object) -> str:
    """Explain why an object is no handler, and what to write instead."""
    if detect_handler_kind(handler) is not None:
        return (
            "it cannot be called with a context; make that its first parameter: async def "
            "handler(ctx)"
        )
    return "invalid handler; use a function or a generator of the context, async or plain"


def detect_handler_kind(handler: object) -> HandlerKind | None:
    """Detect the kind of a handler, also behind decorators, partials and callable objects; ``None``
    if it is no handler.
    """
    if not callable(handler) or inspect.isclass(handler):
        return None
    plain: object = handler
    while isinstance(plain, functools.partial):
        plain = plain.func
    for function in (inspect.unwrap(handler) if plain is handler else plain, type(plain).__call__):
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            return HandlerKind.STREAM
        if inspect.iscoroutinefunction(function):
            return HandlerKind.ASYNC
    return HandlerKind.THREAD


def is_plain_generator(handler: object) -> bool:
    """Return whether a handler is a generator that is not async, and not yet wrapped into one that
    is.
    """
    plain: object = handler
    while isinstance(plain, functools.partial):
        plain = plain.func
    if inspect.isasyncgenfunction(type(plain).__call__):
        return False
    unwrapped = inspect.unwrap(plain) if callable(plain) else plain
    return inspect.isgeneratorfunction(unwrapped) or inspect.isgeneratorfunction(
        type(plain).__call__
    )


async def call_handler(
    skill: Skill, context: Context, on_chunk: Callable[[object], Awaitable[None]]
) -> object:
    """Call a handler of any kind and return its result; each value that it yields goes to
    ``on_chunk``.
    """
    # A handler that replies with a message takes a plain Context.
    handler: Callable[[Context], object] = skill.handler  # type: ignore[assignment]  # as said
    try:
        if skill.handler_kind is HandlerKind.THREAD:
            result = await run_in_thread(handler, context)
        else:
            result = handler(context)
        if skill.handler_kind is not HandlerKind.ASYNC and isinstance(result, AsyncGenerator):
            async with aclosing(result) as values:
                async for value in values:
                    await on_chunk(value)
            result = None
        elif isinstance(result, CoroutineType) or inspect.isawaitable(result):
            result = await result
    except BaseExceptionGroup as group:  # a signal was raised within a task group of the handler
        raise find_signal(group) or RuntimeError("a task group of the handler failed") from group
    except SystemExit as error:  # a handler must not end the process
        raise RuntimeError("the handler raised SystemExit") from error
    return result
