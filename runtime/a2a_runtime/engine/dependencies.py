"""Dependencies that all runs of a process share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from a2a_contract.errors import UnsupportedOperationError
from a2a_runtime.base.clock import Clock
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.engine.hub import EventHub
from a2a_runtime.ports.observer import UNOBSERVED, Observation
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store


class Fetcher(Protocol):
    """Port: fetches URLs that clients choose. Implementations must enforce an SSRF policy."""

    async def fetch(self, url: str) -> bytes:
        """Return the content of a URL, or raise."""
        ...


class NoFetcher:
    """Refuses every URL: the default without an outbound client."""

    async def fetch(self, url: str) -> bytes:
        """Raise ``UnsupportedOperationError``."""
        raise UnsupportedOperationError(
            f"Files cannot be fetched from URLs: no outbound client is configured: {url}"
        )


@dataclass(frozen=True, slots=True)
class RunDependencies:
    """Dependencies of runners, runs, contexts and writers."""

    store: Store
    hub: EventHub
    ids: IdGenerator
    clock: Clock
    settings: Settings
    fetcher: Fetcher
    observation: Observation = UNOBSERVED
