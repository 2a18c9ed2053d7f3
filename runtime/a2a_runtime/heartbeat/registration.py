"""What an app tells a registry about itself; what is not declared is left out, never sent empty, since the registry has defaults of its own."""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from inspect import isawaitable
from typing import TypeAlias
from urllib.parse import urlsplit

from a2a_contract import mesh
from a2a_contract.dialects import MESH
from a2a_contract.mesh import Tool
from a2a_runtime.agent import Agent
from a2a_runtime.cards.cache import PublicUrls
from a2a_runtime.mesh.service import single_skill
from a2a_runtime.surface import Surface

# What a user says about an app's part in a mesh: in code, or in the environment.
#
# Each setting has a name of our own and those that other agents of the mesh have; the first one that is there counts.
#

HealthCheck: TypeAlias = Callable[[], bool | Awaitable[bool]]

log = logging.getLogger(__name__)

_HEALTH_CHECK_TIMEOUT = 5.0
_FALSE_WORDS = frozenset(("", "0", "false", "no", "off"))


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """How an app takes part in a mesh. Without the address of a registry, or standing alone, it does not, and serves all the same."""

    registry_url: str = ""
    agent_id: str = ""
    """As the registry knows the agent; made of its name and address when it is empty, and so the same after a restart."""
    name: str = ""
    """The name of the agent, when it is not the one that the agent has."""
    namespace: str = "default"
    http_host: str = ""
    """Under which other agents reach this one; when it is empty, the address that this machine has on the way to the registry."""
    http_port: int = 8080
    health_interval: float = 5.0
    """Seconds between two heartbeats."""
    standalone: bool = False
    tools: Sequence[Tool] = ()
    """Tools of the mesh that the app has beside its surfaces."""
    health_check: HealthCheck | None = None
    """Says whether the agent is well; as long as it is not, its heart does not beat."""

    async def is_healthy(self) -> bool:
        """Ask the agent whether it is well; one that cannot say it, or not soon, is not."""
        if self.health_check is None:
            return True
        try:
            verdict = self.health_check()
            if isawaitable(verdict):
                async with asyncio.timeout(_HEALTH_CHECK_TIMEOUT):
                    return bool(await verdict)
        except Exception as error:  # noqa: BLE001 - a check of the user's may fail in any way, and says the same with all of them
            log.warning("the health check failed: %s", error)
            return False
        return bool(verdict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], default: MeshConfig | None = None) -> MeshConfig:
        """Read what the environment says, which goes before what is said elsewhere; and say what of it cannot be read."""
        said: dict[str, str | int | float | bool] = {}
        for setting, names in ENVIRONMENT_NAMES.items():
            name = next((name for name in names if environment.get(name)), None)
            if name is not None:
                try:
                    said[setting] = _PARSERS.get(setting, str)(environment[name])
                except ValueError:
                    raise ValueError(f"{name}={environment[name]!r} is no number") from None
        return replace(default or cls(), **said)  # type: ignore[arg-type]  # each value was made by its own kind


def _parse_bool(text: str) -> bool:
    return text.lower() not in _FALSE_WORDS


_PARSERS: Mapping[str, Callable[[str], str | int | float | bool]] = {"http_port": int, "health_interval": float, "standalone": _parse_bool}
ENVIRONMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    "registry_url": ("A2A_REGISTRY_URL", "MCP_MESH_REGISTRY_URL"),
    "agent_id": ("A2A_AGENT_ID", "MCP_MESH_AGENT_ID"),
    "name": ("A2A_AGENT_NAME", "MCP_MESH_A2A_NAME", "MCP_MESH_AGENT_NAME"),
    "namespace": ("A2A_NAMESPACE", "MCP_MESH_NAMESPACE"),
    "http_host": ("A2A_HTTP_HOST", "MCP_MESH_HTTP_HOST"),
    "http_port": ("A2A_HTTP_PORT", "MCP_MESH_HTTP_PORT"),
    "health_interval": ("A2A_HEALTH_INTERVAL", "MCP_MESH_HEALTH_INTERVAL"),
    "standalone": ("A2A_STANDALONE", "MCP_MESH_STANDALONE"),
}
"""Where the environment says what."""


# Who an app is to a registry: a name and an id in the letters that it takes, and an address.
#
# A registry keeps a row for each id, so that an id of one start would be a second agent after the next one.
#


_MAX_NAME_CHARS, _MAX_ID_CHARS = 63, 253
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_LOOPBACK = "127.0.0.1"
_MAX_DESCRIPTION_CHARS = 256
_LOOKUP_TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class RegistryIdentity:
    """An agent as a registry knows it."""

    agent_id: str
    name: str
    namespace: str
    version: str
    description: str
    http_host: str
    http_port: int


def build_identity(agent: Agent, mesh: MeshConfig, http_host: str) -> RegistryIdentity:
    """Say who an app is whose first mesh surface is this agent's."""
    name = to_slug(mesh.name or agent.name, _MAX_NAME_CHARS)
    namespace = to_slug(mesh.namespace, _MAX_NAME_CHARS)
    if mesh.agent_id:
        agent_id = to_slug(mesh.agent_id, _MAX_ID_CHARS)
        if agent_id != mesh.agent_id:
            log.warning("the registry takes no agent id %r; the agent is called %r there", mesh.agent_id, agent_id)
    else:
        place = f"{name} {namespace} {http_host}:{mesh.http_port}"
        agent_id = f"{name}-a2a-{blake2b(place.encode(), digest_size=4).hexdigest()}"
    return RegistryIdentity(agent_id, name, namespace, agent.version, agent.description[:_MAX_DESCRIPTION_CHARS], http_host, mesh.http_port)


def to_slug(text: str, max_chars: int) -> str:
    """Write a name in small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _NOT_SLUG.sub("-", plain).strip("-")[:max_chars].rstrip("-") or "agent"


async def detect_local_host(registry_url: str) -> str:
    """Find the address that this machine has on the way to a registry; nothing is sent there for it."""
    parts = urlsplit(registry_url)
    try:
        async with asyncio.timeout(_LOOKUP_TIMEOUT):
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=(parts.hostname or _LOOPBACK, parts.port or 80)
            )
    except (OSError, TimeoutError):
        return _LOOPBACK
    try:
        return str(transport.get_extra_info("sockname")[0])
    finally:
        transport.close()


@dataclass(frozen=True, slots=True)
class MeshSurfaces:
    """What of an app is to be seen from outside: its surfaces as they are now, and where they are reached as far as that was told."""

    surfaces: Callable[[], Sequence[Surface]]
    prefix: str = ""
    """What stands before the paths of the surfaces."""
    public_urls: PublicUrls = field(default_factory=PublicUrls)

    def select(self) -> list[Surface]:
        """List the surfaces that a registry is told of."""
        return [surface for surface in self.surfaces() if MESH.name in surface.dialects]


def build_registration(
    identity: RegistryIdentity, surfaces: MeshSurfaces, tools: Sequence[mesh.Tool] = (), *, had_surfaces: bool = False
) -> mesh.AgentRegistration:
    """Write an announcement; an app that ``had_some`` surfaces and has none any more says so."""
    announced = [_build_surface(surface, surfaces.prefix) for surface in surfaces.select()]
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
        surfaces=announced if announced or had_surfaces else None,
        a2a_producer=bool(announced),
        a2a_consumer=False,
    )


def _build_surface(surface: Surface, prefix: str) -> mesh.Surface:
    skill = single_skill(surface)
    return mesh.Surface(
        path=prefix + surface.path or "/",
        skill_id=skill.id,
        name=skill.name if skill.name != skill.id else None,
        description=skill.description or None,
        input_modes=list(skill.input_modes) or None,
        output_modes=list(skill.output_modes) or None,
        tags=list(skill.tags) or None,
    )
