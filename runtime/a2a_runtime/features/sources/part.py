"""Sources of skills as a part of a process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from a2a_runtime.features.sources.catalog import SkillCatalog
from a2a_runtime.ports.process_part import ProcessPart
from a2a_runtime.process import AgentRuntime
from a2a_runtime.surface import Surface


class SourcesPart(ProcessPart):
    """Opens the sources of surfaces, and keeps their skills as the sources describe them."""

    opens_before_runs = True

    async def open(
        self, process: AgentRuntime, surfaces: Sequence[Surface], stack: AsyncExitStack
    ) -> None:
        """Open the sources; a change of their skills is announced."""

        def announce() -> None:
            process.on_skills_changed()

        await stack.enter_async_context(SkillCatalog(surfaces, process.skills, announce))
