"""Who an app is to a registry: a name and an id in the letters that it takes, and an address.

A registry keeps a row for each id, so that an id of one start would be a second agent after the next one.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import urlsplit

from a2a_runtime.agent import Agent
from a2a_runtime.heartbeat.membership import Membership

log = logging.getLogger(__name__)

_NAME, _ID = 63, 253
_OTHER = re.compile(r"[^a-z0-9]+")
_LOCAL = "127.0.0.1"
_DESCRIPTION = 256
_LOOKUP = 2.0


@dataclass(frozen=True, slots=True)
class Identity:
    """An agent as a registry knows it."""

    agent_id: str
    name: str
    namespace: str
    version: str
    description: str
    http_host: str
    http_port: int


def identify(agent: Agent, membership: Membership, http_host: str) -> Identity:
    """Say who an app is whose first mesh surface is this agent's."""
    name = slug(membership.name or agent.name, _NAME)
    namespace = slug(membership.namespace, _NAME)
    if membership.agent_id:
        agent_id = slug(membership.agent_id, _ID)
        if agent_id != membership.agent_id:
            log.warning("the registry takes no agent id %r; the agent is called %r there", membership.agent_id, agent_id)
    else:
        place = f"{name} {namespace} {http_host}:{membership.http_port}"
        agent_id = f"{name}-a2a-{blake2b(place.encode(), digest_size=4).hexdigest()}"
    return Identity(agent_id, name, namespace, agent.version, agent.description[:_DESCRIPTION], http_host, membership.http_port)


def slug(text: str, longest: int) -> str:
    """Write a name in small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _OTHER.sub("-", plain).strip("-")[:longest].rstrip("-") or "agent"


async def own_host(registry_url: str) -> str:
    """Find the address that this machine has on the way to a registry; nothing is sent there for it."""
    parts = urlsplit(registry_url)
    try:
        async with asyncio.timeout(_LOOKUP):
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=(parts.hostname or _LOCAL, parts.port or 80)
            )
    except (OSError, TimeoutError):
        return _LOCAL
    try:
        return str(transport.get_extra_info("sockname")[0])
    finally:
        transport.close()
