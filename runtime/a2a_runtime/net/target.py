"""What a URL leads to, as far as the URL itself says, or why it is not called. No name is resolved here.

A URL that somebody else wrote is read once, and from then on only its parts are used: who reads it twice may read two different things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

import httpx

from a2a_contract.errors import A2AError, InvalidParamsError, PayloadTooLargeError, UnavailableError
from a2a_runtime.net.policy import Address, Policy, permitted
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

_NOT_REACHED = "The host in this URL cannot be reached from here"


class DialError(A2AError):
    """A call did not succeed; ``hint`` is for the log only."""

    default_message = "The URL could not be called"

    def __init__(self, hint: str, message: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UrlRefusedError(DialError, InvalidParamsError):
    """The URL is not one that is called from here; use another one, or ask the operator for the setting that the hint names."""

    default_message = "This URL is not called from here"


class AddressRefusedError(DialError, InvalidParamsError):
    """The host leads to an address that is not called; the operator can permit its network if it is one of their own."""

    default_message = _NOT_REACHED


class UnreachableError(DialError, UnavailableError):
    """There was no connection, or it broke off; it is worth trying again later."""

    default_message = _NOT_REACHED


class TooSlowError(UnreachableError):
    """There was no whole answer in time; it is worth trying again later."""


class TooLargeError(DialError, PayloadTooLargeError):
    """The answer is larger than what is taken; refer to something smaller, or ask the operator to take more."""

    default_message = "What this URL leads to is too large"


class UnusableAnswerError(DialError, UnavailableError):
    """There was an answer, but not the content that was asked for; see whether the URL still leads to it."""

    default_message = "The content of this URL could not be fetched"


__all__ = ["AddressRefusedError", "DialError", "TooLargeError", "TooSlowError", "UnreachableError", "UnusableAnswerError", "UrlRefusedError"]


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
