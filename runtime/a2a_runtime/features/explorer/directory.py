"""The agents that an explorer shows, and what may be sent to them: the port of its two places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from a2a_contract.v1_0 import SecurityScheme
from a2a_runtime.client.auth import Credential
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.features.explorer.visitor import VisitorCredentials
from a2a_runtime.http.asgi import HttpRequest

Reachable = Callable[[str], str]
"""Tells why a URL is not called; an empty text if it is."""


def refuse_none(_url: str) -> str:
    """Call every URL: the trust of the client decides."""
    return ""


@dataclass(frozen=True, slots=True)
class ExploredAgent:
    """An agent, and the way to it."""

    id: str
    name: str
    url: str
    options: ClientOptions = field(default_factory=ClientOptions)
    auth: httpx.Auth | str | Mapping[str, Credential] | None = field(default=None, repr=False)
    """Credentials that requests have when the visitor gives none."""
    secrets: Sequence[str] = field(default=(), repr=False)
    """Values of these credentials, which no record may show."""
    timeout: float | None = None
    """Seconds for the response to a message; ``None``: as long as the agent takes."""
    transport: httpx.AsyncBaseTransport | None = None
    """In place of the network."""
    refusal: Reachable = refuse_none

    schemes: Sequence[SecurityScheme] | None = None
    """The only schemes whose credentials a visitor may give; ``None``: any."""

    def restrict(self, visitor: VisitorCredentials) -> VisitorCredentials:
        """Leave out the credentials that are not for this agent."""
        if self.schemes is None:
            return visitor
        return visitor.restrict_to(self.schemes)

    def to_dict(self) -> dict[str, object]:
        """Return what the page lists."""
        return {"id": self.id, "name": self.name, "url": self.url}


class AgentDirectory(Protocol):
    """Port: the agents of one place."""

    @property
    def mode(self) -> str:
        """Return ``command`` or ``mounted``: the page offers what the place can do."""
        ...

    def check(self, request: HttpRequest) -> None:
        """Raise for a request that does not come from the page."""
        ...

    async def list_agents(self, request: HttpRequest) -> Sequence[ExploredAgent]:
        """List the agents that the visitor may see, or raise what the gate says."""
        ...

    async def find_agent(self, request: HttpRequest, agent_id: str) -> ExploredAgent | None:
        """Find an agent."""
        ...
