"""The sources of a process: opened with it, read again when they announce a change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

from a2a_runtime.agent import Agent, SkillDefinition
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.sources.skills import define_skill, describe_source
from a2a_runtime.ports.skill_source import SkillSource
from a2a_runtime.surface import Surface

log = logging.getLogger(__name__)


class SkillCatalog:
    """Keeps the skills of surfaces as their sources describe them."""

    def __init__(
        self, surfaces: Sequence[Surface], skills: Skills, on_change: Callable[[], None]
    ) -> None:
        self._surfaces = [surface for surface in surfaces if surface.agent.sources]
        self._skills = skills
        self._on_change = on_change
        self._changed = asyncio.Event()
        self._exit_stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()

        def announce() -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(self._changed.set)

        async with AsyncExitStack() as stack:
            for source in self._list_sources():
                stack.push_async_callback(source.close)
                await source.open(announce)
            await self._load()
            stack.callback(self._forget)
            watcher = asyncio.create_task(self._watch())
            stack.push_async_callback(_stop, watcher)
            self._exit_stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._exit_stack.aclose()

    def _list_sources(self) -> list[SkillSource]:
        """List the sources of all agents; one that serves several of them is opened once."""
        found: dict[int, SkillSource] = {}
        for surface in self._surfaces:
            for source in surface.agent.sources:
                found[id(source)] = source
        return [*found.values()]

    async def _load(self) -> None:
        """Read all sources, and replace the skills of all surfaces only if every list can be
        offered.
        """
        loaded: dict[Agent, Mapping[str, SkillDefinition]] = {}
        for surface in self._surfaces:
            if surface.agent not in loaded:
                loaded[surface.agent] = await _define_skills(surface.agent)
        for surface in self._surfaces:
            skills = loaded[surface.agent]
            self._skills.replace(
                surface.storage_key,
                *(each.skill for each in skills.values() if each.id not in surface.agent.skills),
            )
            surface.replace_skills(skills)

    async def _watch(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._load()
            except SkillSourceError as error:
                log.error("skills unchanged: %s", error)  # noqa: TRY400 - the message has it all
            except Exception:  # the edge of a background task: a source may raise anything
                log.exception("skills unchanged: a source failed")
            else:
                log.info(
                    "skills changed: %s",
                    ", ".join(f"{len(surface.skills)} on {surface}" for surface in self._surfaces),
                )
                self._on_change()

    def _forget(self) -> None:
        for surface in self._surfaces:
            surface.replace_skills(None)


async def read_skills(agent: Agent) -> Mapping[str, SkillDefinition]:
    """Read the skills that an agent offers now; its sources are open for that long only."""
    async with AsyncExitStack() as stack:
        for source in agent.sources:
            stack.push_async_callback(source.close)
            await source.open(lambda: None)
        return await _define_skills(agent)


async def _define_skills(agent: Agent) -> Mapping[str, SkillDefinition]:
    skills = dict(agent.skills)
    for source in agent.sources:
        for descriptor in await source.describe():
            if descriptor.id in skills:
                problem = (
                    f"agent {agent.name!r} has two skills {descriptor.id!r}; rename one of them"
                )
                raise SkillSourceError(f"{describe_source(source)}: {problem}")
            skills[descriptor.id] = define_skill(agent, source, descriptor)
    return skills


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
