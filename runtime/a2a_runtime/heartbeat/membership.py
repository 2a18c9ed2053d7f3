"""What a user says about an app's part in a mesh: in code, or in the environment.

Each setting has a name of our own and those that other agents of the mesh have; the first one that is there counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import TypeAlias

from a2a_contract.mesh import Tool

Health: TypeAlias = Callable[[], bool | Awaitable[bool]]

log = logging.getLogger(__name__)

_CHECK = 5.0
_FALSE = frozenset(("", "0", "false", "no", "off"))


@dataclass(frozen=True, slots=True)
class Membership:
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
    health: Health | None = None
    """Says whether the agent is well; as long as it is not, its heart does not beat."""

    async def is_well(self) -> bool:
        """Ask the agent whether it is well; one that cannot say it, or not soon, is not."""
        if self.health is None:
            return True
        try:
            verdict = self.health()
            if isawaitable(verdict):
                async with asyncio.timeout(_CHECK):
                    return bool(await verdict)
        except Exception as error:  # noqa: BLE001 - a check of the user's may fail in any way, and says the same with all of them
            log.warning("the health check failed: %s", error)
            return False
        return bool(verdict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], otherwise: Membership | None = None) -> Membership:
        """Read what the environment says, which goes before what is said elsewhere; and say what of it cannot be read."""
        said: dict[str, str | int | float | bool] = {}
        for setting, names in NAMES.items():
            name = next((name for name in names if environment.get(name)), None)
            if name is not None:
                try:
                    said[setting] = _KINDS.get(setting, str)(environment[name])
                except ValueError:
                    raise ValueError(f"{name}={environment[name]!r} is no number") from None
        return replace(otherwise or cls(), **said)  # type: ignore[arg-type]  # each value was made by its own kind


def _truth(text: str) -> bool:
    return text.lower() not in _FALSE


_KINDS: Mapping[str, Callable[[str], str | int | float | bool]] = {"http_port": int, "health_interval": float, "standalone": _truth}
NAMES: Mapping[str, tuple[str, ...]] = {
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
