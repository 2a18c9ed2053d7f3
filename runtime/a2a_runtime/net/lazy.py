"""The guarded HTTP client of a process, built on first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.settings import Settings

if TYPE_CHECKING:
    from a2a_runtime.net.client import GuardedHttpClient


class LazyHttpClient:
    """Guarded HTTP client that is built on first use: most agents send no requests, and httpx takes
    long to import.
    """

    def __init__(self, settings: Settings) -> None:
        self._policy = OutboundPolicy.from_settings(settings)
        self._settings = settings

    @cached_property
    def client(self) -> GuardedHttpClient:
        """The HTTP client."""
        from a2a_runtime.net.client import GuardedHttpClient, OutboundLimits  # noqa: PLC0415 - see above

        return GuardedHttpClient(self._policy, OutboundLimits.from_settings(self._settings))

    def check_url(self, url: str) -> None:
        """Refuse a URL that the policy excludes."""
        self.client.check_url(url)

    async def fetch(self, url: str) -> bytes:
        """Get the content of a URL."""
        return await self.client.fetch(url)

    async def close(self) -> None:
        """Close the connections, if there were any."""
        if "client" in vars(self):
            await self.client.close()
