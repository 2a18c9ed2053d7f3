"""The registration of an app at a registry: the mesh settings, the identity of the agent, and the
document.

A member without a value is left out, never sent empty: the registry has defaults of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
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
from a2a_runtime.features.mesh.service import single_skill
from a2a_runtime.service.cards.cache import PublicUrls
from a2a_runtime.surface import Surface

HealthCheck: TypeAlias = Callable[[], bool | Awaitable[bool]]

log = logging.getLogger(__name__)

_MAX_NAME_CHARS = 63
_MAX_ID_CHARS = 253
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_LOOPBACK = "127.0.0.1"
_MAX_DESCRIPTION_CHARS = 256
_LOOKUP_TIMEOUT = 2.0
_HEALTH_CHECK_TIMEOUT = 5.0
_DEFAULT_PORT = 8080
_MAX_PORT = 65535
_MIN_INTERVAL = 0.1
_MAX_INTERVAL = 3600.0
LISTENING_PORT = "A2A_LISTENING_PORT"
"""Environment variable in which ``a2a-gen serve`` tells its own processes the port that it listens
on; every setting takes precedence.
"""
_FALSE_WORDS = frozenset(("", "0", "false", "no", "off"))


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """Settings of the mesh. Without a registry, or if ``standalone``, the app is not registered."""

    registry_url: str = ""
    agent_id: str = ""
    """The id at the registry; by default derived from name and address, so that it stays the same
    after a restart.
    """
    name: str = ""
    """The name at the registry; by default that of the agent."""
    namespace: str = "default"
    http_host: str = ""
    """The host at which other agents reach this one; by default the local address of a connection
    to the registry.
    """
    http_port: int | None = None
    """The port at which other agents reach this one; by default the one that ``a2a-gen serve``
    listens on, or 8080.
    """
    health_interval: float = 5.0
    """Seconds between heartbeats, from 0.1 to 3600."""
    standalone: bool = False
    tools: Sequence[Tool] = ()
    """Mesh tools that the app offers besides its surfaces."""
    health_check: HealthCheck | None = None
    """The health check of the app; while it fails, no heartbeat is sent."""

    def __post_init__(self) -> None:
        if self.http_port is not None and not 1 <= self.http_port <= _MAX_PORT:
            raise ValueError(
                f"{_name_setting('http_port')}: {self.http_port} is not a port; give a "
                f"number from 1 to {_MAX_PORT}"
            )
        if not _MIN_INTERVAL <= self.health_interval <= _MAX_INTERVAL:
            text = f"{self.health_interval:g} is not from {_MIN_INTERVAL:g} to {_MAX_INTERVAL:g}"
            raise ValueError(
                f"{_name_setting('health_interval')}: {text}; give the seconds between two "
                "heartbeats, e.g. 5"
            )

    @property
    def announced_port(self) -> int:
        """The port that is registered."""
        return self.http_port or _parse_port(os.environ.get(LISTENING_PORT, "")) or _DEFAULT_PORT

    async def is_healthy(self) -> bool:
        """Run the health check; an exception or a timeout means that it failed."""
        if self.health_check is None:
            return True
        try:
            result = self.health_check()
            if isawaitable(result):
                async with asyncio.timeout(_HEALTH_CHECK_TIMEOUT):
                    return bool(await result)
        except Exception as error:  # noqa: BLE001 - the check is code of the user
            log.warning("health check failed: %s", error)
            return False
        return bool(result)

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str], default: MeshConfig | None = None
    ) -> MeshConfig:
        """Read the environment, which overrides the defaults given."""
        values: dict[str, str | int | float | bool] = {}
        for setting, names in ENVIRONMENT_NAMES.items():
            name = next((name for name in names if environment.get(name)), None)
            if name is not None:
                try:
                    values[setting] = _PARSERS.get(setting, str)(environment[name])
                except ValueError:
                    raise ValueError(f"{name}: {environment[name]!r} is not a number") from None
        return replace(default or cls(), **values)  # type: ignore[arg-type]  # each parser returns the type of its field


def _name_setting(name: str) -> str:
    """Name a setting as the places where it can be set do."""
    return f"{' or '.join(ENVIRONMENT_NAMES[name])}, or [registry] in a2a.toml"


def _parse_port(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    return None


def _parse_bool(text: str) -> bool:
    return text.lower() not in _FALSE_WORDS


_PARSERS: Mapping[str, Callable[[str], str | int | float | bool]] = {
    "http_port": int,
    "health_interval": float,
    "standalone": _parse_bool,
}
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
"""Environment variables of each setting: our own, and those of mcp-mesh; the first that is set
counts.
"""


def build_identity(agent: Agent, config: MeshConfig, http_host: str) -> mesh.AgentRegistration:
    """Build the members of a registration that stay the same, from the agent of the first mesh
    surface.

    The registry keeps a row per id, so an id that changed with each start would leave dead agents
    behind.
    """
    name = to_slug(config.name or agent.name, _MAX_NAME_CHARS)
    namespace = to_slug(config.namespace, _MAX_NAME_CHARS)
    if config.agent_id:
        agent_id = to_slug(config.agent_id, _MAX_ID_CHARS)
        if agent_id != config.agent_id:
            log.warning(
                "registry: agent id %r is not allowed; registering as %r", config.agent_id, agent_id
            )
    else:
        address = f"{name} {namespace} {http_host}:{config.announced_port}"
        agent_id = f"{name}-a2a-{blake2b(address.encode(), digest_size=4).hexdigest()}"
    return mesh.AgentRegistration(
        agent_id=agent_id,
        name=name,
        namespace=namespace,
        version=agent.version,
        description=agent.description[:_MAX_DESCRIPTION_CHARS] or None,
        http_host=http_host,
        http_port=config.announced_port,
        tools=[],
        runtime=mesh.Runtime.PYTHON,
        a2a_consumer=False,
    )


def to_slug(text: str, max_chars: int) -> str:
    """Convert a text to lower-case letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _NOT_SLUG.sub("-", plain).strip("-")[:max_chars].rstrip("-") or "agent"


async def detect_local_host(registry_url: str) -> str:
    """Find the local address of a connection to a registry; a UDP socket is connected, and nothing
    is sent.
    """
    parts = urlsplit(registry_url)
    try:
        async with asyncio.timeout(_LOOKUP_TIMEOUT):
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                asyncio.DatagramProtocol,
                remote_addr=(parts.hostname or _LOOPBACK, parts.port or 80),
            )
    except (OSError, TimeoutError):
        return _LOOPBACK
    try:
        return str(transport.get_extra_info("sockname")[0])
    finally:
        transport.close()


@dataclass(frozen=True, slots=True)
class MeshSurfaces:
    """The surfaces of an app as they are now, and their public URLs as far as a registry assigned
    them.
    """

    surfaces: Callable[[], Sequence[Surface]]
    prefix: str = ""
    """The path of the app, before the paths of its surfaces."""
    public_urls: PublicUrls = field(default_factory=PublicUrls)

    def select(self) -> list[Surface]:
        """List the mesh surfaces."""
        return [surface for surface in self.surfaces() if MESH.name in surface.dialects]


def build_registration(
    identity: mesh.AgentRegistration,
    surfaces: MeshSurfaces,
    tools: Sequence[mesh.Tool] = (),
    *,
    had_surfaces: bool = False,
) -> mesh.AgentRegistration:
    """Add the members that may change; an app that ``had_surfaces`` and has none any more sends an
    empty list.
    """
    registered = [_build_surface(surface, surfaces.prefix) for surface in surfaces.select()]
    kind = mesh.AgentType.A2_A if registered else mesh.AgentType.MCP_AGENT
    listed = registered if registered or had_surfaces else None
    return identity.model_copy(
        update={
            "agent_type": kind,
            "tools": list(tools),
            "surfaces": listed,
            "a2a_producer": bool(registered),
        }
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
