"""Fetching what a message refers to, without becoming a tool of whoever wrote the message.

The port only; the dialler that guards against private addresses comes with whoever composes the runtime. Without one, nothing is fetched.
"""

from __future__ import annotations

from typing import Protocol

from a2a_contract.errors import UnsupportedOperationError


class Dialler(Protocol):
    """Fetches from addresses that strangers name."""

    async def fetch(self, url: str) -> bytes:
        """Get the content behind a URL, or raise what speaks against it."""
        ...


class NoDialler:
    """Fetches nothing, and says so."""

    async def fetch(self, url: str) -> bytes:
        """Refuse."""
        raise UnsupportedOperationError(f"Files are not fetched from URLs, as no guarded dialler is configured: {url}")
