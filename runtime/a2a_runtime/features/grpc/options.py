"""The gRPC interface of a surface: its port, TLS and limits of connections, and the form of its
address on cards.

    Surface(agent, grpc=GrpcOptions("127.0.0.1:50051"))
    A2APlugin(agent, gate=…, grpc="127.0.0.1:50051")     the same, for the only surface of an app

A port belongs to one surface: requests of 0.3 name no agent, and the tenant of 1.0 is that of the
caller. Both versions are served on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a_contract.dialects import DIALECTS, V0_3, V1_0, Dialect
from a2a_contract.operations import SEND_MESSAGE
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentInterface

if TYPE_CHECKING:
    from a2a_runtime.surface import Surface

MISSING_EXTRA = (
    "grpcio or protobuf is not installed; install the extra: pip install 'a2a-gen[grpc]'"
)

_UNIX = "unix:"
_MODULES = ("grpc", "google.protobuf")
_ADDRESS = re.compile(
    r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})|unix:(/[^\s]+)"
)
_PUBLIC_ADDRESS = re.compile(
    r"((?P<scheme>https?)://)?"
    r"(?P<address>([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}|unix:/[^\s]+)"
)
_ANY_HOST = frozenset(("0.0.0.0", "[::]"))  # noqa: S104 - recognized, not bound
_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class GrpcOptions:
    """Options of a gRPC server.

    Sizes and rates of requests are the limits of its surface, as over HTTP.
    """

    address: str
    """``host:port``, or ``unix:/path``."""
    public_address: str = ""
    """``host:port`` on the card, with ``https://`` before it if a proxy ends TLS; by default,
    ``address`` with the host of the agent's URL if it is bound to all hosts.
    """
    on_card: bool = True
    """List the port on the card. Some clients refuse a card with an interface on another port."""
    url_on_card: bool = False
    """List the port for clients of 0.3 as a URL, whose scheme tells whether it uses TLS.

    Libraries of 0.3 take ``host:port`` only.
    """
    certificate: Path | None = None
    """File with the certificate of the server and its chain, for TLS."""
    private_key: Path | None = None
    """File with the key of the certificate; by default, in the same file."""
    client_authorities: Path | None = None
    """File with the authorities of client certificates; every client then needs one (mutual
    TLS).
    """
    health: bool = True
    """Serve ``grpc.health.v1.Health``, for orchestrators; it has no gate."""
    reflection: bool = False
    """Serve reflection, for tools such as grpcurl; it has no gate, and shows the protocol only."""
    reuse_port: bool = False
    """Share the port with other processes of this app; a connection stays with one of them."""
    grace: float = 10.0
    """Seconds that calls get when the server stops; streams end at once."""
    keep_alive_interval: float = 30.0
    """Seconds of silence after which the server pings a connection; one that does not reply is
    closed.
    """
    connections: int | None = None
    """Open connections of the port; more are closed at once.

    By default an eighth of the descriptors of the process (``ulimit -n``).
    """
    idle_timeout: float = 60.0
    """Seconds after which a connection without calls is closed."""
    handshake_timeout: float = 10.0
    """Seconds for TLS and HTTP/2 to begin."""
    calls_per_connection: int = 1000
    """Concurrent calls of one connection; more of them wait at the client."""
    metadata_bytes: int = 32_768
    """Size of the metadata of a call."""

    def __post_init__(self) -> None:
        match = _ADDRESS.fullmatch(self.address)
        if match is None or (match["port"] and not 0 < int(match["port"]) <= _MAX_PORT):
            raise ValueError(
                f"grpc: {self.address!r} is not an address to listen on; write host:port, "
                "e.g. 127.0.0.1:50051, or unix:/path"
            )
        if self.public_address and not _PUBLIC_ADDRESS.fullmatch(self.public_address):
            raise ValueError(
                f"grpc: public_address {self.public_address!r} is not an address; write "
                "host:port, with https:// before it if it uses TLS"
            )
        for name in ("private_key", "client_authorities"):
            if getattr(self, name) is not None and self.certificate is None:
                raise ValueError(f"grpc: {name} is for TLS; set certificate too")
        for name in (
            "keep_alive_interval",
            "idle_timeout",
            "handshake_timeout",
            "calls_per_connection",
            "metadata_bytes",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"grpc: {name} is {getattr(self, name)}; set a number above 0")
        if self.connections is not None and self.connections <= 0:
            raise ValueError(f"grpc: connections is {self.connections}; set a number above 0")
        if self.grace < 0:
            raise ValueError(f"grpc: grace is {self.grace}; set 0 or more")

    @property
    def name(self) -> str:
        """Name of the protocol."""
        return "gRPC"

    @property
    def open_host(self) -> str | None:
        """Host at which a client needs no certificate; ``None`` for a file of this machine too."""
        if self.client_authorities is not None or self.address.startswith(_UNIX):
            return None
        return self.address.rpartition(":")[0]

    def check(self, surface: Surface) -> None:
        """Refuse a surface without a dialect over gRPC, and one whose callers come from HTTP."""
        if not any(has_grpc(each) for each in surface.dialects):
            raise ValueError(
                f"{surface}: grpc: no dialect of this surface has a gRPC binding; add "
                f"{V1_0.name!r} to dialects, or remove grpc"
            )
        if surface.caller is not None:
            raise ValueError(
                f"{surface}: grpc: caller= identifies users of the HTTP application, which "
                "calls over gRPC do not pass; "
                "set gate=AuthGate(…) instead, or serve gRPC from another surface that has a gate"
            )

    def build_interface(
        self, dialect: Dialect, version: str, reader: Dialect, url: str
    ) -> AgentInterface | None:
        """Build the interface of a dialect; readers of 0.3 may want a URL."""
        if not self.on_card or not has_grpc(dialect.name):
            return None
        address = self.card_address(url)
        if reader.name == V0_3.name:
            address = self.card_url(url)
        return AgentInterface(
            url=address, protocol_binding=TransportProtocol.GRPC.value, protocol_version=version
        )

    @classmethod
    def of(cls, options: GrpcOptions | str) -> GrpcOptions:
        """Return options, made from an address if that is all there is."""
        if isinstance(options, str):
            return cls(options)
        return options

    def card_address(self, url: str) -> str:
        """Return the address as clients pass it to their library: without a scheme."""
        if match := _PUBLIC_ADDRESS.fullmatch(self.public_address):
            return match["address"]
        host, _, port = self.address.rpartition(":")
        known = urlsplit(url).hostname if host in _ANY_HOST else None
        if known is None:
            return self.address
        if ":" in known:
            return f"[{known}]:{port}"
        return f"{known}:{port}"

    def card_url(self, url: str) -> str:
        """Return the address for clients of 0.3; with ``url_on_card`` as a URL."""
        if not self.url_on_card:
            return self.card_address(url)
        address = self.card_address(url)
        if address.startswith("unix:"):
            return address
        scheme = "http" if self.certificate is None else "https"
        match = _PUBLIC_ADDRESS.fullmatch(self.public_address)
        if match and match["scheme"]:
            scheme = match["scheme"]
        return f"{scheme}://{address}"


def has_grpc(dialect: str) -> bool:
    """Tell whether a dialect, or a form of it, has a gRPC binding."""
    return any(
        call.grpc is not None and dialect in {name, DIALECTS[name].form_of}
        for name, call in SEND_MESSAGE.calls.items()
    )


def is_grpc_installed() -> bool:
    """Tell whether the libraries of the extra are there, without importing them."""
    try:
        return all(find_spec(each) is not None for each in _MODULES)
    except ModuleNotFoundError:  # the package around one of them
        return False


def check_grpc(surfaces: Iterable[Surface]) -> None:
    """Refuse two surfaces on one port, and a port without the libraries that serve it."""
    taken: dict[str, Surface] = {}
    for surface in surfaces:
        if surface.grpc is None:
            continue
        if not is_grpc_installed():
            raise ValueError(f"{surface}: grpc: {MISSING_EXTRA}")
        if (other := taken.setdefault(surface.grpc.address, surface)) is not surface:
            raise ValueError(
                f"{surface}: grpc: {other} listens on {surface.grpc.address}; a port belongs "
                "to one surface, choose another"
            )
