"""Permitted addresses, and the settings of the operator."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_runtime.net.policy import AddressKind, OutboundPolicy, check_address, classify_address
from a2a_runtime.settings import PREFIX, Settings

DEFAULT = OutboundPolicy()
PUBLIC = (
    "8.8.8.8",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.0",
    "192.167.255.255",
    "223.255.255.255",
)
PUBLIC_6 = ("2606:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8")
REFUSED = {
    AddressKind.METADATA: (
        "169.254.169.254",
        "169.254.170.2",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ),
    AddressKind.UNSPECIFIED: ("0.0.0.0", "0.1.2.3", "::"),  # noqa: S104  # nothing is bound
    AddressKind.LOOPBACK: ("127.0.0.1", "127.255.255.255", "::1"),
    AddressKind.LINK_LOCAL: ("169.254.0.1", "fe80::1", "febf::1", "fe80::1%eth0", "2606:4700::1%1"),
    AddressKind.PRIVATE: (
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "fc00::1",
        "fdff::1",
        "fec0::1",
    ),
    AddressKind.SHARED: ("100.64.0.1", "100.127.255.255"),
    AddressKind.MULTICAST: ("224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"),
    AddressKind.TUNNEL: (
        "::8.8.8.8",
        "::ffff:0:8.8.8.8",
        "64:ff9b:1::8.8.8.8",
        "2001::1",
        "2002:808:808::1",
        "192.88.99.1",
        "2606:4700::5efe:a00:1",
        "2606:4700::200:5efe:808:808",
    ),
    AddressKind.RESERVED: (
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "240.0.0.1",
        "255.255.255.255",
        "2001:db8::1",
        "2001:2::1",
        "3fff::1",
        "4000::1",
        "100::1",
        "5f00::1",
    ),
}


@pytest.mark.parametrize("text", [*PUBLIC, *PUBLIC_6])
def test_public_addresses_are_called(text: str) -> None:
    """Public addresses need no setting, also those next to private ranges."""
    assert check_address(ip_address(text), 443, DEFAULT) is None


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts], ids=str
)
def test_everything_else_is_refused(kind: AddressKind, text: str) -> None:
    """Each kind of address that is not on the internet is recognised, and the log gets to read
    which it is.
    """
    refusal = check_address(ip_address(text), 443, DEFAULT)
    assert refusal is not None
    assert classify_address(ip_address(text)) is kind
    assert kind.value in refusal


@pytest.mark.parametrize("prefix", ["::ffff:", "64:ff9b::"])
@pytest.mark.parametrize(
    "text", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.1.2.3"]
)
def test_an_address_in_another_form_is_what_it_means(prefix: str, text: str) -> None:
    """An address of version 4 that is written in version 6 is judged as itself."""
    assert check_address(ip_address(prefix + text), 443, DEFAULT) is not None


@given(st.ip_addresses())
def test_what_is_permitted_is_global(address: IPv4Address | IPv6Address) -> None:
    """Python calls nothing private that we call, and an address and its mapped form fare alike."""
    if isinstance(address, IPv4Address):
        mapped = IPv6Address(f"::ffff:{address}")
        assert (check_address(mapped, 443, DEFAULT) is None) == (
            check_address(address, 443, DEFAULT) is None
        )
    if check_address(address, 443, DEFAULT) is None:
        meant = getattr(address, "ipv4_mapped", None) or address
        assert meant.is_global
        assert not meant.is_multicast


@given(st.ip_addresses(v=6, network="::/3") | st.ip_addresses(v=6, network="fc00::/6"))
def test_version_6_is_global_unicast_or_refused(address: IPv6Address) -> None:
    """Outside 2000::/3 only the forms of public addresses of version 4 are called."""
    if check_address(address, 443, DEFAULT) is None:
        assert address.ipv4_mapped is not None or address in ip_network("64:ff9b::/96")


@given(st.ip_addresses())
def test_no_setting_opens_what_is_never_called(address: IPv4Address | IPv6Address) -> None:
    """Not even permitting every network and this machine reaches metadata services, multicast and
    the unspecified address.
    """
    everything = OutboundPolicy(
        networks=(ip_network("0.0.0.0/0"), ip_network("::/0")), allow_loopback=True
    )
    if classify_address(address) in {
        AddressKind.METADATA,
        AddressKind.MULTICAST,
        AddressKind.UNSPECIFIED,
    }:
        assert check_address(address, 443, everything) is not None


def test_the_operator_can_permit_a_network() -> None:
    """Their own network is called when they say so; what is beside it is not, and metadata services
    never.
    """
    policy = OutboundPolicy.from_settings(
        Settings(outbound_networks=("10.1.0.0/16", "fd12::/16", "169.254.0.0/16"))
    )
    assert check_address(ip_address("10.1.2.3"), 443, policy) is None
    assert check_address(ip_address("::ffff:10.1.2.3"), 443, policy) is None
    assert check_address(ip_address("fd12::1"), 443, policy) is None
    assert check_address(ip_address("10.2.0.1"), 443, policy) is not None
    assert check_address(ip_address("169.254.169.254"), 443, policy) is not None


def test_loopback_needs_the_development_switch() -> None:
    """With it, this machine is called, also without encryption; other machines are not."""
    policy = OutboundPolicy.from_settings(Settings(outbound_allow_loopback=True))
    assert check_address(ip_address("127.0.0.1"), 443, policy, is_encrypted=False) is None
    assert check_address(ip_address("::1"), 443, policy) is None
    assert check_address(ip_address("8.8.8.8"), 443, policy, is_encrypted=False) is not None
    assert check_address(ip_address("10.0.0.1"), 443, policy) is not None


def test_a_network_does_not_permit_loopback() -> None:
    """Permitting every network is not the development switch."""
    assert (
        check_address(
            ip_address("127.0.0.1"), 443, OutboundPolicy(networks=(ip_network("0.0.0.0/0"),))
        )
        is not None
    )


@pytest.mark.parametrize(
    ("host", "is_called"),
    [
        ("example.com", True),
        ("EXAMPLE.com.", True),
        ("a.b.example.org", True),
        ("example.org", False),
        ("badexample.org", False),
        ("other.net", False),
    ],
)
def test_only_listed_hosts_are_called(host: str, *, is_called: bool) -> None:
    """A list of hosts is a list of all hosts; a star stands for all below a name, not for the
    name.
    """
    assert (
        OutboundPolicy.from_settings(
            Settings(outbound_hosts=("example.com", "*.Example.org"))
        ).allows_host(host)
        is is_called
    )


@pytest.mark.parametrize("text", ["127.0.0.1", "10.0.0.1"])
def test_a_cure_is_a_setting_that_exists(text: str) -> None:
    """The setting that a refusal names is one that can be set."""
    refusal = check_address(ip_address(text), 443, DEFAULT)
    assert refusal is not None
    settings = [
        f"{PREFIX}{name.upper()}"
        for name in Settings.__dataclass_fields__
        if f"{PREFIX}{name.upper()}" in refusal
    ]
    assert len(settings) == 1
