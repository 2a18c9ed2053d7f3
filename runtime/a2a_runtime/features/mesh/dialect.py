"""Support of the mesh dialect."""

from __future__ import annotations

from dataclasses import replace

from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.features.mesh.card import build_mesh_card
from a2a_runtime.features.mesh.sent_messages import MESH_METHODS
from a2a_runtime.features.mesh.service import MeshService, check_surface
from a2a_runtime.ports.dialect_support import DialectSupport
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface


def check_sources(surface: Surface) -> None:
    """Refuse a surface whose skills are not known: the dialect is for one."""
    if surface.agent.sources:
        raise ValueError(
            f"{surface}: the mesh dialect is for one skill, and the agent has sources of "
            "skills; use a surface without it"
        )


def adapt_skill(surface: Surface, skill: Skill) -> Skill:
    """Show consumers errors and any returned value as text; with mesh as the only dialect no client
    can answer a question.
    """
    return replace(skill, expose_errors=True, can_ask=len(surface.dialects) > 1)


def get_retention(settings: Settings) -> float:
    """Return the seconds for which ended tasks are kept."""
    return settings.mesh_task_retention


SUPPORT = DialectSupport(
    build_service=MeshService,
    methods=MESH_METHODS,
    write_card=build_mesh_card,
    check=check_sources,
    check_mounted=check_surface,
    adapt_skill=adapt_skill,
    chooses_task_ids=True,
    takes_unknown_tasks=True,
    stream_headers=((b"connection", b"keep-alive"),),
    get_retention=get_retention,
)
