"""What an app tells a registry about itself; what is not declared is left out, never sent empty, since the registry has defaults of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from a2a_contract import mesh
from a2a_contract.dialects import MESH
from a2a_runtime.cards.addresses import PublicAddresses
from a2a_runtime.heartbeat.identity import Identity
from a2a_runtime.mesh.checks import skill_of
from a2a_runtime.surface import Surface


@dataclass(frozen=True, slots=True)
class Presence:
    """What of an app is to be seen from outside: its surfaces as they are now, and where they are reached as far as that was told."""

    surfaces: Callable[[], Sequence[Surface]]
    prefix: str = ""
    """What stands before the paths of the surfaces."""
    addresses: PublicAddresses = field(default_factory=PublicAddresses)

    def announced(self) -> list[Surface]:
        """List the surfaces that a registry is told of."""
        return [surface for surface in self.surfaces() if MESH.name in surface.dialects]


def announce(identity: Identity, presence: Presence, tools: Sequence[mesh.Tool] = (), *, had_some: bool = False) -> mesh.AgentRegistration:
    """Write an announcement; an app that ``had_some`` surfaces and has none any more says so."""
    announced = [_surface(surface, presence.prefix) for surface in presence.announced()]
    return mesh.AgentRegistration(
        agent_id=identity.agent_id,
        agent_type=mesh.AgentType.A2_A if announced else mesh.AgentType.MCP_AGENT,
        name=identity.name,
        namespace=identity.namespace,
        version=identity.version or None,
        description=identity.description or None,
        http_host=identity.http_host,
        http_port=identity.http_port,
        runtime=mesh.Runtime.PYTHON,
        tools=list(tools),
        surfaces=announced if announced or had_some else None,
        a2a_producer=bool(announced),
        a2a_consumer=False,
    )


def _surface(surface: Surface, prefix: str) -> mesh.Surface:
    skill = skill_of(surface)
    return mesh.Surface(
        path=prefix + surface.path or "/",
        skill_id=skill.id,
        name=skill.name if skill.name != skill.id else None,
        description=skill.description or None,
        input_modes=list(skill.input_modes) or None,
        output_modes=list(skill.output_modes) or None,
        tags=list(skill.tags) or None,
    )
