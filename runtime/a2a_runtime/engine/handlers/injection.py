"""Values of dependencies: those of the process while it runs, and those of each run around its
handler.

    the run …                                    what a generator or context manager of the run sees
    returns, or asks a question                  its normal end
    raises, rejects, fails                       that exception
    is canceled, times out, loses its lease      ``CancelledError``

A handler without dependencies is called as it is.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

from a2a_runtime.engine.background import run_in_thread
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.engine.handlers.providers import CONTEXT, Provider, ProviderGraph
from a2a_runtime.engine.handlers.skill import HandlerKind, Skill
from a2a_runtime.engine.signals import TaskEnded, TaskSuspended, find_signal

log = logging.getLogger(__name__)

_YieldingHandler = Callable[..., AsyncGenerator[object, None]]


class ProcessDependencies:
    """Dependencies of an agent, and the values of those that live as long as the process."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._graph = ProviderGraph(providers)
        self._services: list[AbstractAsyncContextManager[object]] = []
        self.values: dict[str, object] = {}

    def bind(self, skill: Skill) -> Skill:
        """Give a skill a handler that gets its dependencies, if it has some."""
        service = find_service(skill.handler)
        if service is not None and service not in self._services:
            self._services.append(service)
        names = self._graph.find_names(skill)
        if not names:
            return skill
        inject = InjectedStream if skill.handler_kind is HandlerKind.STREAM else InjectedHandler
        return replace(skill, handler=inject(skill, self, names, self._graph.select(names)))

    async def open(self, stack: AsyncExitStack) -> None:
        """Open what lives as long as the process, and enter services that are context managers; the
        stack closes them in reverse.
        """
        stack.callback(self.values.clear)
        for provider in self._graph.ordered:
            if not provider.per_run:
                self.values[provider.name] = await provider.open(self.values, stack)
        for service in self._services:
            await stack.enter_async_context(service)


def find_service(handler: object) -> AbstractAsyncContextManager[object] | None:
    """Find the object of a bound method, or of a typed handler, if it is an async context
    manager.
    """
    method = inspect.unwrap(handler) if callable(handler) else handler
    service = getattr(method, "__self__", method)
    if isinstance(service, AbstractAsyncContextManager):
        return service
    return None


class RunDependencyValues:
    """Values of the dependencies of one run; an exception of the handler always passes."""

    def __init__(
        self,
        skill_id: str,
        process: ProcessDependencies,
        names: Sequence[str],
        per_run: Sequence[Provider],
        context: Context,
    ) -> None:
        self._skill_id = skill_id
        self._process = process
        self._names = names
        self._per_run = per_run
        self._context = context
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Mapping[str, object]:
        async with self._stack as stack:
            values = {**self._process.values, CONTEXT: self._context}
            for provider in self._per_run:
                values[provider.name] = await provider.open(values, stack)
            self._stack = stack.pop_all()
        return {name: values[name] for name in self._names}

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal: BaseException | None = None
        if isinstance(error, GeneratorExit):
            signal = error
        elif error is not None:
            signal = find_signal(error)
        if signal is None or isinstance(signal, TaskEnded):
            await self._stack.__aexit__(kind, error, trace)
            return
        try:
            if isinstance(signal, TaskSuspended):
                await self._stack.__aexit__(None, None, None)
            else:
                # Whatever has stopped the run, its dependencies see a cancellation.
                seen = asyncio.CancelledError()
                await self._stack.__aexit__(type(seen), seen, None)
        except Exception:  # the run is over: its task cannot change any more
            log.exception("dependencies not closed: skill %s", self._skill_id)


class InjectedHandler:
    """Handler that returns, called with its dependencies; a plain function runs in its thread."""

    def __init__(
        self,
        skill: Skill,
        process: ProcessDependencies,
        names: Sequence[str],
        per_run: Sequence[Provider],
    ) -> None:
        self._handler: Callable[..., Any] = skill.handler
        self._is_threaded = skill.handler_kind is HandlerKind.THREAD
        self._open = partial(RunDependencyValues, skill.id, process, names, per_run)

    async def __call__(self, context: Context) -> object:
        """Call the handler."""
        async with self._open(context) as values:
            if self._is_threaded:
                result = await run_in_thread(partial(self._handler, **values), context)
                if inspect.isawaitable(result):
                    return await result
                return result
            return await self._handler(context, **values)


class InjectedStream:
    """Handler that yields, called with its dependencies."""

    def __init__(
        self,
        skill: Skill,
        process: ProcessDependencies,
        names: Sequence[str],
        per_run: Sequence[Provider],
    ) -> None:
        # The kind of the skill says that its handler yields.
        self._handler: _YieldingHandler = skill.handler  # type: ignore[assignment]  # as said above
        self._open = partial(RunDependencyValues, skill.id, process, names, per_run)

    async def __call__(self, context: Context) -> AsyncGenerator[object, None]:
        """Call the handler."""
        async with (
            self._open(context) as values,
            aclosing(self._handler(context, **values)) as chunks,
        ):
            async for chunk in chunks:
                yield chunk
