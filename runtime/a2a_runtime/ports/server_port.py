"""A port of a surface beside HTTP: what the core asks of its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from a2a_contract.dialects import Dialect
    from a2a_contract.v1_0 import AgentInterface
    from a2a_runtime.surface import Surface


class ServerPort(Protocol):
    """Options of a port."""

    @property
    def name(self) -> str:
        """Name of its protocol, for messages."""
        ...

    @property
    def address(self) -> str:
        """Address to listen on: ``host:port``, or ``unix:/path``."""
        ...

    @property
    def open_host(self) -> str | None:
        """Host at which a client needs neither a certificate nor a file of this machine to
        connect; ``None`` if there is none.
        """
        ...

    def check(self, surface: Surface) -> None:
        """Raise ``ValueError`` for a surface that it cannot serve."""

    def build_interface(
        self, dialect: Dialect, version: str, reader: Dialect, url: str
    ) -> AgentInterface | None:
        """Build the interface of a dialect on a card for a reader; ``None`` if there is none."""
        ...
