"""Skills as plain HTTP, as a feature of an app."""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.controllers import AgentController
from a2a_runtime.features.plain_skills.endpoints import SchemaController, SkillController
from a2a_runtime.http.rest import match_path
from a2a_runtime.ports.feature import Feature
from a2a_runtime.skills.paths import SKILL_PATHS
from a2a_runtime.surface import Surface


class PlainSkillsFeature(Feature):
    """Serves typed skills, and their schemas, below the path of their surface."""

    def list_controllers(self, surface: Surface) -> Sequence[type[AgentController]]:
        """List the controllers, for a surface that may have typed skills."""
        if has_typed_skills(surface):
            return (SkillController, SchemaController)
        return ()

    def list_methods(self, surface: Surface, path: str) -> tuple[str, ...]:  # noqa: ARG002 - for features
        """List the methods of a path."""
        for skill_path, methods in SKILL_PATHS.items():
            if match_path(skill_path, path):
                return methods
        return ()


def has_typed_skills(surface: Surface) -> bool:
    """Tell whether a surface has typed skills, or sources that may offer some."""
    if surface.agent.sources:
        return True
    return any(skill.contract for skill in surface.skills.values())
