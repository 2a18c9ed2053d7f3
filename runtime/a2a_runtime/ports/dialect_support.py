"""Support of a dialect beyond the canonical operations; a dialect without a row
(``ports.registry.DIALECTS``) needs nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_contract.binding import AnyBinding
    from a2a_contract.service import AgentService
    from a2a_runtime.engine.handlers.skill import Skill
    from a2a_runtime.service.context import CallContext, ServiceDependencies
    from a2a_runtime.settings import Settings
    from a2a_runtime.surface import Surface


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectSupport:
    """Rules of a dialect. Without a value, the dialect is as all others."""

    build_service: Callable[[ServiceDependencies], AgentService[CallContext]] | None = None
    """Builds the service of the dialect."""
    methods: Mapping[str, AnyBinding] | None = None
    """Bindings of JSON-RPC in place of those of the contract."""
    write_card: Callable[[Surface, str], dict[str, object]] | None = None
    """Writes a card that cannot be combined with those of other dialects."""
    check: Callable[[Surface], None] | None = None
    """Raises ``ValueError`` when a surface is built."""
    check_mounted: Callable[[Surface], None] | None = None
    """Raises ``ValueError`` when a surface is mounted."""
    adapt_skill: Callable[[Surface, Skill], Skill] | None = None
    """Adapts the skills of a surface."""
    chooses_task_ids: bool = False
    """True if clients choose the ids of tasks."""
    takes_unknown_tasks: bool = False
    """True if, of dialects that share a method, this one answers for an unknown task."""
    stream_headers: tuple[tuple[bytes, bytes], ...] = ()
    """Headers of a stream over HTTP/1.1."""
    get_retention: Callable[[Settings], float] | None = None
    """Returns the seconds for which ended tasks are kept; 0: as long as others."""


NO_SUPPORT = DialectSupport()
