"""Source of skills made of functions, to test agents whose skills come from elsewhere.

source = FunctionSource()
source.add(SkillDescriptor("double", "Doubles a number.", input_schema={"type": "integer"}), lambda
value, ctx: value * 2)
agent = Agent("calculator", sources=[source])
source.remove("double")       also while the agent runs, from any thread
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeAlias

from a2a_runtime.ports.skill_source import SkillDescriptor, SkillSource
from a2a_runtime.skills.context import SkillContext

SourceFunction: TypeAlias = Callable[[object, SkillContext], object]
"""Returns the output, an awaitable of it, or an async generator of chunks."""


class FunctionSource(SkillSource):
    """A source that is a table of functions."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[SkillDescriptor, SourceFunction]] = {}
        self._announce: Callable[[], None] | None = None

    @property
    def is_open(self) -> bool:
        """True between ``open`` and ``close``."""
        return self._announce is not None

    def add(self, skill: SkillDescriptor, function: SourceFunction) -> None:
        """Add a skill, or replace the one of its id."""
        self._entries = {**self._entries, skill.id: (skill, function)}
        self._notify()

    def remove(self, skill_id: str) -> None:
        """Remove a skill; its calls go on."""
        self._entries = {key: entry for key, entry in self._entries.items() if key != skill_id}
        self._notify()

    async def open(self, announce: Callable[[], None]) -> None:
        """Begin to announce changes."""
        self._announce = announce

    async def close(self) -> None:
        """Announce no more changes."""
        self._announce = None

    async def describe(self) -> Sequence[SkillDescriptor]:
        """Describe the present skills."""
        return [skill for skill, _ in self._entries.values()]

    async def call(self, skill: SkillDescriptor, value: object, context: SkillContext) -> object:
        """Call the function of a skill; the chunks of one that streams become a list."""
        result = self._entries[skill.id][1](value, context)
        if isinstance(result, AsyncGenerator):
            async with aclosing(result) as chunks:
                return [chunk async for chunk in chunks]
        if inspect.isawaitable(result):
            return await result
        return result

    async def stream(
        self, skill: SkillDescriptor, value: object, context: SkillContext
    ) -> AsyncGenerator[object, None]:
        """Yield the chunks of a function."""
        result = self._entries[skill.id][1](value, context)
        if not isinstance(result, AsyncGenerator):
            raise TypeError(
                f"skill {skill.id!r}: its function does not yield; write an async generator"
            )
        async with aclosing(result) as chunks:
            async for chunk in chunks:
                yield chunk

    def _notify(self) -> None:
        if self._announce is not None:
            self._announce()
