"""Checks of outbound URLs without resolving names, and the errors of outbound requests.

    OutboundError
     ├─ UrlRefusedError                the URL itself is not allowed; a retry is useless
     ├─ AddressRefusedError            the host resolves to a blocked address, at least now
     ├─ OutboundConnectError           no connection, or it broke
     │   └─ OutboundTimeoutError       no complete response in time
     ├─ OutboundTooLargeError          the response exceeds the limit
     └─ InvalidOutboundResponseError   the response has no usable content

Each is also one of the contract's errors, so that callers can see it. Its message never reveals the
resolved address or whether it responds: that would map the internal network. The ``hint`` does,
with the setting that helps, and is only logged.

A URL is parsed once and only its parts are used afterwards: two parsers may disagree about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

import httpx

from a2a_contract.errors import A2AError, InvalidParamsError, PayloadTooLargeError, UnavailableError
from a2a_runtime.net.policy import LOOPBACK_FIX, Address, OutboundPolicy, check_address
from a2a_runtime.settings import PREFIX

_UNREACHABLE = "The host in this URL cannot be reached from here"


class OutboundError(A2AError):
    """An outbound request failed; ``hint`` is for the log only."""

    default_message = "The URL could not be called"

    def __init__(self, hint: str, message: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UrlRefusedError(OutboundError, InvalidParamsError):
    """The URL is not allowed; use another one, or change the setting in the hint."""

    default_message = "This URL is not called from here"


class AddressRefusedError(OutboundError, InvalidParamsError):
    """The host resolves to a blocked address; the operator can allow its network."""

    default_message = _UNREACHABLE


class OutboundConnectError(OutboundError, UnavailableError):
    """No connection, or it broke; retry later."""

    default_message = _UNREACHABLE


class OutboundTimeoutError(OutboundConnectError):
    """No complete response in time; retry later."""


class OutboundTooLargeError(OutboundError, PayloadTooLargeError):
    """The response exceeds the size limit; refer to something smaller, or raise the limit."""

    default_message = "What this URL leads to is too large"


class InvalidOutboundResponseError(OutboundError, UnavailableError):
    """The response has no usable content; check the URL."""

    default_message = "The content of this URL could not be fetched"


_DEFAULT_PORTS = {"https": 443, "http": 80}
_NUMERIC_LABEL = re.compile(r"(\d+|0x[0-9a-f]*)\.?$", re.IGNORECASE)
_HOST_NAME = re.compile(r"[a-z0-9._-]+", re.IGNORECASE)
_PRINTABLE = re.compile(r"[!-~]+")
_MAX_URL_CHARS = 2048
_NOT_A_URL = "This is not a URL"


@dataclass(frozen=True, slots=True)
class OutboundTarget:
    """A checked URL in its parts."""

    scheme: str
    host: str
    port: int
    path: bytes  # with the query
    address: Address | None = None  # if the host is one

    @property
    def authority(self) -> str:
        """Host and port, as in a Host header."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        if self.port == _DEFAULT_PORTS[self.scheme]:
            return host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        # For logs: the path and query of a webhook are often its secret.
        return f"{self.scheme}://{self.authority}"


def parse_target(url: str, policy: OutboundPolicy) -> OutboundTarget:
    """Parse and check a URL, or raise ``UrlRefusedError``."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise UrlRefusedError("unparsable URL", _NOT_A_URL) from error
    scheme = parsed.scheme
    host = parsed.raw_host.decode("ascii")
    if scheme not in _DEFAULT_PORTS or not host:
        raise UrlRefusedError("not an HTTP URL", "Only https URLs are called")
    if scheme == "http" and not policy.allow_loopback:
        raise UrlRefusedError(
            f"http: not allowed; for development, set {PREFIX}OUTBOUND_ALLOW_LOOPBACK=1",
            "Only https URLs are called",
        )
    if parsed.userinfo:
        raise UrlRefusedError(
            "URL with a user or password", "A URL must not have a user or a password in it"
        )
    port = parsed.port or _DEFAULT_PORTS[scheme]
    # with the switch, the address of the connection decides
    if port not in policy.ports and not policy.allow_loopback:
        raise UrlRefusedError(
            f"port {port}: not allowed; add it to {PREFIX}OUTBOUND_PORTS",
            f"Port {port} is not called from here",
        )
    if is_local_name(host) and not policy.allow_loopback:
        raise UrlRefusedError(
            f"{host}: this machine; {LOOPBACK_FIX}", "This host is not called from here"
        )
    if not policy.allows_host(host):
        raise UrlRefusedError(
            f"{host}: not allowed; add it to {PREFIX}OUTBOUND_HOSTS",
            "This host is not called from here",
        )
    return OutboundTarget(
        scheme,
        host,
        port,
        parsed.raw_path,
        _parse_address(host, port, policy, is_encrypted=scheme == "https"),
    )


def is_local_name(host: str) -> bool:
    """Tell whether a name is reserved for this machine (RFC 6761)."""
    return f".{host.rstrip('.').lower()}".endswith(".localhost")


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, by its name or its address."""
    try:
        return is_local_name(host) or ip_address(host).is_loopback
    except ValueError:
        return False


def is_web_url(url: str) -> bool:
    """Tell whether a URL may stand on a card; it may lead to a private network, where the agent
    is.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    is_plain = len(url) <= _MAX_URL_CHARS and _PRINTABLE.fullmatch(url) is not None
    return (
        is_plain and parsed.scheme in _DEFAULT_PORTS and bool(parsed.host) and not parsed.userinfo
    )


def _parse_address(
    host: str, port: int, policy: OutboundPolicy, *, is_encrypted: bool
) -> Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        if _NUMERIC_LABEL.search(host.rpartition(".")[2] or host.rstrip(".").rpartition(".")[2]):
            # 127.1, 0x7f000001, 2130706433: resolvers treat these as addresses.
            raise UrlRefusedError(
                f"{host}: an address in an unusual form",
                "An address must be written in its usual form",
            ) from None
        if not _HOST_NAME.fullmatch(host):
            raise UrlRefusedError(f"{host}: not a host name", _NOT_A_URL) from None
        return None
    blocked = check_address(address, port, policy, is_encrypted=is_encrypted)
    if blocked is not None:
        raise UrlRefusedError(blocked, "This address is not called from here")
    return address
