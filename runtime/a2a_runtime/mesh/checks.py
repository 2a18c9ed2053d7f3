"""What a surface must be to speak the mesh dialect; whatever it lacks is said when the app starts, with the cure."""

from __future__ import annotations

from pydantic import ValidationError

from a2a_contract import mesh
from a2a_contract.dialects import MESH
from a2a_runtime.agent import DeclaredSkill
from a2a_runtime.mesh.asking import asks
from a2a_runtime.surface import Surface

_ALONE = frozenset((MESH.name,))


def check_surface(surface: Surface) -> None:
    """Refuse a surface that consumers could not use."""
    if MESH.name not in surface.dialects:
        return
    name = f"the surface of agent {surface.agent.name!r} at {surface.path or '/'!r}"
    if len(surface.skills) != 1:
        raise ValueError(f"{name}: a mesh surface has one skill, and this has {len(surface.skills)}; give each its own path and only={{its id}}")
    skill = skill_of(surface)
    try:
        mesh.Surface(path=surface.path or "/", skill_id=skill.id)
    except ValidationError as error:
        wrong = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise ValueError(
            f"{name}: its {wrong} ({surface.path or '/'}, {skill.id}) is none; skill ids are small letters and digits with hyphens"
        ) from None
    if surface.dialects == _ALONE and (asks(skill.run.handler) if skill.asks is None else skill.asks):
        raise ValueError(
            f"{name}: skill {skill.id!r} asks its caller something, which nobody can answer in the mesh dialect; "
            f"add another dialect to the surface, or say asks=False if the skill does not"
        )


def skill_of(surface: Surface) -> DeclaredSkill:
    """Find the one skill of a surface."""
    return next(iter(surface.skills.values()))
