"""Which addresses may be called. Pure: an address and the operator's policy in, a refusal or nothing out.

An address of version 4 may be called unless the table says what else it is. One of version 6 may be called if it is global unicast and the table
does not say otherwise. Forms of version 6 that stand for an address of version 4 are judged as that address where traffic really goes to it (mapped,
NAT64), and are refused as tunnels everywhere else: nobody needs 6to4, Teredo or ISATAP to be reached, but they reach around filters.

Python's own ``is_global`` is not asked: what it says depends on the version of Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from a2a_runtime.settings import PREFIX, Settings

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class AddressKind(StrEnum):
    """What an address is, if it is not simply one on the internet."""

    METADATA = "the address of a cloud's metadata service"
    UNSPECIFIED = "the unspecified address"
    MULTICAST = "a multicast address"
    LOOPBACK = "a loopback address"
    LINK_LOCAL = "a link-local address"
    PRIVATE = "a private address"
    SHARED = "an address shared by the customers of a provider"
    TUNNEL = "an address that hides another one"
    RESERVED = "a reserved address"


_NEVER_ALLOWED = frozenset({AddressKind.METADATA, AddressKind.UNSPECIFIED, AddressKind.MULTICAST})

_NETWORKS_BY_KIND: Mapping[AddressKind, tuple[str, ...]] = {  # the first that fits counts
    AddressKind.METADATA: (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # containers of AWS
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
        "168.63.129.16",  # Azure, within the public range
    ),
    AddressKind.UNSPECIFIED: ("0.0.0.0/8", "::"),
    AddressKind.LOOPBACK: ("127.0.0.0/8", "::1"),
    AddressKind.LINK_LOCAL: ("169.254.0.0/16", "fe80::/10"),
    AddressKind.PRIVATE: ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    AddressKind.SHARED: ("100.64.0.0/10",),
    AddressKind.MULTICAST: ("224.0.0.0/4", "ff00::/8"),
    AddressKind.TUNNEL: (
        "::/96",  # IPv4-compatible
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b:1::/48",  # NAT64 within a network
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "192.88.99.0/24",  # relays of 6to4
    ),
    AddressKind.RESERVED: (
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
    ),
}
_KIND_BY_NETWORK: tuple[tuple[Network, AddressKind], ...] = tuple(
    (ip_network(text), kind) for kind, texts in _NETWORKS_BY_KIND.items() for text in texts
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


@dataclass(frozen=True, slots=True)
class OutboundPolicy:
    """What the operator permits; nothing but https to public addresses by default."""

    hosts: frozenset[str] = frozenset()
    """The only hosts that are called; ``*.example.com`` stands for all below it. Empty: every host."""
    networks: tuple[Network, ...] = ()
    """Networks that are called although they are not public."""
    ports: frozenset[int] = frozenset({443, 8443})
    allow_loopback: bool = False
    """For development: this machine too, there also without encryption; and every port."""

    @classmethod
    def from_settings(cls, settings: Settings) -> OutboundPolicy:
        """Take what the operator has set."""
        hosts = frozenset(host.rstrip(".").lower() for host in settings.outbound_hosts)
        networks = tuple(map(ip_network, settings.outbound_networks))
        return cls(hosts, networks, frozenset(settings.outbound_ports), settings.outbound_allow_loopback)

    def allows_host(self, host: str) -> bool:
        """Whether a host is one of those that are called."""
        host = host.rstrip(".").lower()
        return not self.hosts or any(host == each or (each.startswith("*.") and host.endswith(each[1:])) for each in self.hosts)


@dataclass(frozen=True, slots=True)
class BlockedAddress:
    """Why an address is not called, and what the operator can do about it; both are for the log."""

    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.fix}"


_NO_FIX = "such addresses are never called"
_LOOPBACK_FIX = f"for development, set {PREFIX}DIAL_LOOPBACK=1"
_NETWORK_FIX = f"if it is one of your own that agents may call, add its network to {PREFIX}DIAL_NETWORKS"


def check_address(address: Address, policy: OutboundPolicy, *, is_encrypted: bool = True) -> BlockedAddress | None:
    """Say what speaks against calling an address, if anything does."""
    meant = _unwrap_address(address)
    kind = classify_address(meant)
    if kind in _NEVER_ALLOWED:
        return BlockedAddress(f"{address} is {kind}", _NO_FIX)
    if kind is AddressKind.LOOPBACK:
        return None if policy.allow_loopback else BlockedAddress(f"{address} is {kind}", _LOOPBACK_FIX)
    if not is_encrypted:
        return BlockedAddress(f"{address} is another machine, which is not called without encryption", "use https")
    if kind is None or any(meant in network for network in policy.networks):
        return None
    return BlockedAddress(f"{address} is {kind}", _NETWORK_FIX)


def classify_address(address: Address) -> AddressKind | None:
    """Say what an address is; ``None`` when it is one on the internet."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return AddressKind.LINK_LOCAL
        if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
            return AddressKind.TUNNEL
    for network, kind in _KIND_BY_NETWORK:
        if address in network:
            return kind
    return None if isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST else AddressKind.RESERVED


def _unwrap_address(address: Address) -> Address:
    """Find the address that the traffic goes to."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
