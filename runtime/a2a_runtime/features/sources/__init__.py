"""Sources of skills: work that others describe and do becomes the skills of an agent, without files
that say it again.

Loaded where the agent has sources.

    agent = Agent("toolbox", sources=[MySource()])

    ports.skill_source    what a source implements: descriptors, a way to call one,
      │                   and an announcement that its list has changed
    skills                a descriptor as a skill: schema checks, handler and options,
      │                   by the code that generated skills use
    catalog               opens the sources of a process, and replaces the skills of its surfaces
      │
    part                  the catalog as a part of the process

**Open first.** Sources are opened in the lifespan, before the engine claims tasks. Until then the
surface is unavailable (503): no half card.

**One snapshot.** A change replaces the skills of a surface by another mapping, at once. Card, ETag,
plain HTTP calls, schemas and the OpenAPI document follow it. A list that cannot be offered is
logged, and the last good one stays. A run keeps the descriptor that it began with.

**Side effects are not repeated.** A run begins again from the top after a crash. A skill that
neither only reads nor is idempotent cannot be restarted: after a crash in its call the task ends
failed, because its outcome is unknown.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.ports.skill_source import SkillDescriptor, SkillSource

__all__ = ["SkillDescriptor", "SkillSource"]
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, __all__, "..ports.skill_source")
