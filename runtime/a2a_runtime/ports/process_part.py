"""Parts of a process: what runs beside its engine where an agent wants it, also in a worker.

process opens    parts with ``before_runs`` ──► engine ──► the other parts
surface added    the parts that it wants and that are not open yet
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from a2a_runtime.process import AgentRuntime
    from a2a_runtime.surface import Surface


class ProcessPart:
    """Something that a process opens for its surfaces."""

    opens_before_runs: ClassVar[bool] = False
    """True if no run may begin before it is open."""
    serves_all_surfaces: ClassVar[bool] = False
    """True if it is opened once, and serves the surfaces that come later too."""

    async def open(
        self, process: AgentRuntime, surfaces: Sequence[Surface], stack: AsyncExitStack
    ) -> None:
        """Open it; it ends with the stack."""
