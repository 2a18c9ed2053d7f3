"""What a URL leads to, as far as the URL itself says, or why it is not called. No name is resolved here.

A URL that somebody else wrote is read once, and from then on only its parts are used: who reads it twice may read two different things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

import httpx

from a2a_runtime.net.errors import UrlRefusedError
from a2a_runtime.net.policy import Address, Policy, permitted
from a2a_runtime.settings import PREFIX

_DEFAULT_PORTS = {"https": 443, "http": 80}
_NUMBER = re.compile(r"(\d+|0x[0-9a-f]*)\.?$", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9._-]+", re.IGNORECASE)
_NO_URL = "This is not a URL"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a call goes."""

    scheme: str
    host: str
    port: int
    path: bytes  # with the query
    address: Address | None = None  # when the host is one

    @property
    def authority(self) -> str:
        """The host and the port, as in a Host header."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        # For logs. Paths and queries of webhooks are often what their owners keep secret.
        return f"{self.scheme}://{self.authority}"


def target_of(url: str, policy: Policy) -> Target:
    """Read a URL, or refuse it (``UrlRefusedError``)."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise UrlRefusedError("a URL cannot be read", _NO_URL) from error
    scheme, host = parsed.scheme, parsed.raw_host.decode("ascii")
    if scheme not in _DEFAULT_PORTS or not host:
        raise UrlRefusedError("a URL is not one of HTTP", "Only https URLs are called")
    if scheme == "http" and not policy.loopback:
        raise UrlRefusedError(f"http is not called; for development on this machine, set {PREFIX}DIAL_LOOPBACK=1", "Only https URLs are called")
    if parsed.userinfo:
        raise UrlRefusedError("a URL has a user or a password in it", "A URL must not have a user or a password in it")
    port = parsed.port or _DEFAULT_PORTS[scheme]
    if port not in policy.ports and not policy.loopback:
        raise UrlRefusedError(f"port {port} is not called; add it to {PREFIX}DIAL_PORTS", f"Port {port} is not called from here")
    if not policy.names(host):
        raise UrlRefusedError(f"{host} is not among the hosts of {PREFIX}DIAL_HOSTS", "This host is not called from here")
    return Target(scheme, host, port, parsed.raw_path, _address(host, policy, encrypted=scheme == "https"))


def _address(host: str, policy: Policy, *, encrypted: bool) -> Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        if _NUMBER.search(host.rpartition(".")[2] or host.rstrip(".").rpartition(".")[2]):
            # 127.1, 0x7f000001, 2130706433: resolvers take them for addresses.
            raise UrlRefusedError(f"{host} is an address in an unusual spelling", "An address must be written in its usual form") from None
        if not _NAME.fullmatch(host):
            raise UrlRefusedError(f"{host} is not the name of a host", _NO_URL) from None
        return None
    refusal = permitted(address, policy, encrypted=encrypted)
    if refusal is not None:
        raise UrlRefusedError(str(refusal), "This address is not called from here")
    return address
