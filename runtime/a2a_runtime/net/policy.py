"""SSRF policy: the addresses that outbound requests may connect to. Pure.

An IPv4 address is allowed unless the table lists its network. An IPv6 address is allowed if it is
global unicast and not listed. IPv6 forms of an IPv4 address are checked as that address if traffic
really goes there (mapped, NAT64). All others are blocked as tunnels: webhooks do not need 6to4,
Teredo or ISATAP, and these bypass filters.

``is_global`` of Python is not used: its result depends on the version of Python.
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
    """Kinds of addresses that are not public."""

    METADATA = "the address of a cloud's metadata service"
    UNSPECIFIED = "the unspecified address"
    MULTICAST = "a multicast address"
    LOOPBACK = "a loopback address"
    LINK_LOCAL = "a link-local address"
    PRIVATE = "a private address"
    SHARED = "an address shared by the customers of a provider"
    TUNNEL = "a tunnel to another address"
    RESERVED = "a reserved address"


_NEVER_ALLOWED = frozenset({AddressKind.METADATA, AddressKind.UNSPECIFIED, AddressKind.MULTICAST})

_NETWORKS_BY_KIND: Mapping[AddressKind, tuple[str, ...]] = {  # the first match counts
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
    """Policy of the operator; by default only https to public addresses."""

    hosts: frozenset[str] = frozenset()
    """Allowed hosts; ``*.example.com`` covers all subdomains. Empty: every host."""
    networks: tuple[Network, ...] = ()
    """Allowed networks that are not public."""
    ports: frozenset[int] = frozenset({443, 8443})
    allow_loopback: bool = False
    """For development: allows this machine, also without TLS, and every port."""

    @classmethod
    def from_settings(cls, settings: Settings) -> OutboundPolicy:
        """Read the policy from the settings."""
        hosts = frozenset(host.rstrip(".").lower() for host in settings.outbound_hosts)
        networks = tuple(map(ip_network, settings.outbound_networks))
        return cls(
            hosts, networks, frozenset(settings.outbound_ports), settings.outbound_allow_loopback
        )

    def allows_host(self, host: str) -> bool:
        """Tell whether a host is allowed."""
        host = host.rstrip(".").lower()
        return not self.hosts or any(
            host == each or (each.startswith("*.") and host.endswith(each[1:]))
            for each in self.hosts
        )


_NO_FIX = "such addresses are never allowed"
LOOPBACK_FIX = f"for development, set {PREFIX}OUTBOUND_ALLOW_LOOPBACK=1"
_NETWORK_FIX = f"to allow it, add its network to {PREFIX}OUTBOUND_NETWORKS"


def check_address(
    address: Address, port: int, policy: OutboundPolicy, *, is_encrypted: bool = True
) -> str | None:
    """Return the reason why an address is blocked and a fix for the operator, both for the log;
    ``None`` if it is allowed.
    """
    unwrapped = _unwrap_address(address)
    kind = classify_address(unwrapped)
    if kind in _NEVER_ALLOWED:
        return f"{address} is {kind}; {_NO_FIX}"
    if kind is AddressKind.LOOPBACK:
        return None if policy.allow_loopback else f"{address} is {kind}; {LOOPBACK_FIX}"
    # only now, because the switch for this machine covers every port
    if port not in policy.ports:
        return f"port {port} of {address}; to allow it, add it to {PREFIX}OUTBOUND_PORTS"
    if not is_encrypted:
        return f"{address} is another machine, and http is not encrypted; use https"
    if kind is None or any(unwrapped in network for network in policy.networks):
        return None
    return f"{address} is {kind}; {_NETWORK_FIX}"


def classify_address(address: Address) -> AddressKind | None:
    """Classify an address; ``None`` if it is public."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return AddressKind.LINK_LOCAL
        if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
            return AddressKind.TUNNEL
    for network, kind in _KIND_BY_NETWORK:
        if address in network:
            return kind
    if isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST:
        return None
    return AddressKind.RESERVED


def _unwrap_address(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
