"""What an operation is, apart from any dialect, and how one dialect asks for it: the row types of ``operations.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpCall:
    """An HTTP verb, and a path whose braces hold the members of the request that it names."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Call:
    """How one dialect asks for an operation; a binding that the dialect has not is ``None`` or empty."""

    method: str | None = None
    aliases: tuple[str, ...] = ()
    grpc: str | None = None
    http: tuple[HttpCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that an agent can be asked; ``service_method`` is its name in ``AgentService``, ``capability`` what the agent must have declared."""

    name: str
    service_method: str
    streams: bool
    capability: str | None
    calls: Mapping[str, Call]
