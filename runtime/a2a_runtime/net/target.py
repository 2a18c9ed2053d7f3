"""What a URL leads to, as far as the URL itself says, or why it is not called. No name is resolved here.

A URL that somebody else wrote is read once, and from then on only its parts are used: who reads it twice may read two different things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

import httpx

from a2a_contract.errors import A2AError, InvalidParamsError, PayloadTooLargeError, UnavailableError
from a2a_runtime.net.policy import Address, OutboundPolicy, check_address
from a2a_runtime.settings import PREFIX

# What can go wrong with a call to an address that a stranger named.
#
#     DialError
#      ├─ UrlRefusedError       the URL itself is not one that is called; trying again is useless
#      ├─ AddressRefusedError   its host leads to an address that is not called, at least now
#      ├─ UnreachableError      no connection, or it broke off
#      │   └─ TooSlowError      no whole answer in time
#      ├─ TooLargeError         the answer is larger than what is taken
#      └─ UnusableAnswerError   the answer is not what was asked for
#
# Each is also a kind of one of the contract's errors, so that it can be shown to a caller. What is shown never says what a name leads to, nor whether
# anything is there: a caller who may read that can map the network that the agent is in. The ``hint`` says it, with the setting that would help, and
# is
# for the log.
#

_UNREACHABLE = "The host in this URL cannot be reached from here"


class OutboundError(A2AError):
    """A call did not succeed; ``hint`` is for the log only."""

    default_message = "The URL could not be called"

    def __init__(self, hint: str, message: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UrlRefusedError(OutboundError, InvalidParamsError):
    """The URL is not one that is called from here; use another one, or ask the operator for the setting that the hint names."""

    default_message = "This URL is not called from here"


class AddressRefusedError(OutboundError, InvalidParamsError):
    """The host leads to an address that is not called; the operator can permit its network if it is one of their own."""

    default_message = _UNREACHABLE


class OutboundConnectError(OutboundError, UnavailableError):
    """There was no connection, or it broke off; it is worth trying again later."""

    default_message = _UNREACHABLE


class OutboundTimeoutError(OutboundConnectError):
    """There was no whole answer in time; it is worth trying again later."""


class OutboundTooLargeError(OutboundError, PayloadTooLargeError):
    """The answer is larger than what is taken; refer to something smaller, or ask the operator to take more."""

    default_message = "What this URL leads to is too large"


class InvalidOutboundResponseError(OutboundError, UnavailableError):
    """There was an answer, but not the content that was asked for; see whether the URL still leads to it."""

    default_message = "The content of this URL could not be fetched"


__all__ = [
    "AddressRefusedError",
    "InvalidOutboundResponseError",
    "OutboundConnectError",
    "OutboundError",
    "OutboundTimeoutError",
    "OutboundTooLargeError",
    "UrlRefusedError",
]


_DEFAULT_PORTS = {"https": 443, "http": 80}
_NUMERIC_LABEL = re.compile(r"(\d+|0x[0-9a-f]*)\.?$", re.IGNORECASE)
_HOST_NAME = re.compile(r"[a-z0-9._-]+", re.IGNORECASE)
_NOT_A_URL = "This is not a URL"


@dataclass(frozen=True, slots=True)
class OutboundTarget:
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


def parse_target(url: str, policy: OutboundPolicy) -> OutboundTarget:
    """Read a URL, or refuse it (``UrlRefusedError``)."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise UrlRefusedError("a URL cannot be read", _NOT_A_URL) from error
    scheme, host = parsed.scheme, parsed.raw_host.decode("ascii")
    if scheme not in _DEFAULT_PORTS or not host:
        raise UrlRefusedError("a URL is not one of HTTP", "Only https URLs are called")
    if scheme == "http" and not policy.allow_loopback:
        raise UrlRefusedError(f"http is not called; for development on this machine, set {PREFIX}DIAL_LOOPBACK=1", "Only https URLs are called")
    if parsed.userinfo:
        raise UrlRefusedError("a URL has a user or a password in it", "A URL must not have a user or a password in it")
    port = parsed.port or _DEFAULT_PORTS[scheme]
    if port not in policy.ports and not policy.allow_loopback:
        raise UrlRefusedError(f"port {port} is not called; add it to {PREFIX}DIAL_PORTS", f"Port {port} is not called from here")
    if not policy.allows_host(host):
        raise UrlRefusedError(f"{host} is not among the hosts of {PREFIX}DIAL_HOSTS", "This host is not called from here")
    return OutboundTarget(scheme, host, port, parsed.raw_path, _parse_address(host, policy, is_encrypted=scheme == "https"))


def _parse_address(host: str, policy: OutboundPolicy, *, is_encrypted: bool) -> Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        if _NUMERIC_LABEL.search(host.rpartition(".")[2] or host.rstrip(".").rpartition(".")[2]):
            # 127.1, 0x7f000001, 2130706433: resolvers take them for addresses.
            raise UrlRefusedError(f"{host} is an address in an unusual spelling", "An address must be written in its usual form") from None
        if not _HOST_NAME.fullmatch(host):
            raise UrlRefusedError(f"{host} is not the name of a host", _NOT_A_URL) from None
        return None
    refusal = check_address(address, policy, is_encrypted=is_encrypted)
    if refusal is not None:
        raise UrlRefusedError(str(refusal), "This address is not called from here")
    return address
