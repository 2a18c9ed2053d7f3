"""The skills that an engine runs, by surface."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_runtime.engine.handlers.providers import ProviderGraph
from a2a_runtime.engine.handlers.skill import Skill


class Skills:
    """Registry of skills, each for one surface or for all of them."""

    def __init__(self, *skills: Skill) -> None:
        self._skills: dict[tuple[str | None, str], Skill] = {}
        self.surfaces: frozenset[str] | None = frozenset()
        """The surfaces that have skills; ``None`` when all have."""
        self.agents: dict[str, str] = {}
        """The names of agents in chains of calls, by surface."""
        self.add(None, *skills)

    def add(self, surface: str | None, *skills: Skill) -> None:
        """Register skills for a surface; ``None`` means all surfaces."""
        if skills:
            if surface is None or self.surfaces is None:
                self.surfaces = None
            else:
                self.surfaces |= {surface}
        for skill in skills:
            ProviderGraph({}).find_names(skill)  # refuses parameters that nothing provides
            if self._skills.setdefault((surface, skill.id), skill) is not skill:
                raise ValueError(
                    f"skill {skill.id!r}: registered twice; give each skill an id of its own"
                )

    def replace(self, surface: str, *skills: Skill) -> None:
        """Register the present skills of a surface.

        Those that are gone stay: their tasks still come to an end.
        """
        self.surfaces = None if self.surfaces is None else self.surfaces | {surface}
        self._skills.update({(surface, skill.id): skill for skill in skills})

    def of(self, surface: str) -> tuple[Skill, ...]:
        """Return the skills of a surface."""
        return tuple(skill for key, skill in self._skills.items() if key[0] == surface)

    def remove(self, surface: str) -> None:
        """Forget the skills of a surface: its tasks are left to other processes, or to a later
        registration.
        """
        self._skills = {key: skill for key, skill in self._skills.items() if key[0] != surface}
        self.surfaces = None if self.surfaces is None else self.surfaces - {surface}

    def find(self, surface: str, skill_id: str) -> Skill | None:
        """Find a skill of a surface."""
        return self._skills.get((surface, skill_id)) or self._skills.get((None, skill_id))

    def list_all(self) -> Iterator[tuple[str | None, Skill]]:
        """List the skills with their surfaces."""
        for (surface, _), skill in self._skills.items():
            yield surface, skill

    def require(self, surface: str, skill_id: str) -> Skill:
        """Find a skill of a surface, or raise ``LookupError``."""
        skill = self.find(surface, skill_id)
        if skill is None:
            raise LookupError(f"skill {skill_id!r}: not registered on surface {surface!r}")
        return skill
