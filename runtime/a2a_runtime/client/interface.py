"""Choice of an interface: from a card, or from the URL and the pin of a client.

The first interface of the card that the client supports wins; the others are tried in their order
if nothing answers there. 0.3 over HTTP+JSON has two forms, of which the official SDK and most
agents use ProtoJSON. A pin excludes everything it does not name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from a2a_contract.dialects import CANONICAL, DIALECTS, Dialect
from a2a_contract.operations import SEND_MESSAGE
from a2a_contract.paths import PATHS
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCard, AgentInterface
from a2a_runtime.client.errors import NoInterfaceError
from a2a_runtime.client.grpc import PLAIN, TLS
from a2a_runtime.client.options import GRPC, HTTP_JSON, JSONRPC, Pin
from a2a_runtime.features.grpc.options import MISSING_EXTRA, is_grpc_installed

_HTTPS = "https"
_HTTP = "http"
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?")
_PORT = re.compile(r":[0-9]+$")


@dataclass(frozen=True, slots=True)
class Interface:
    """A URL with its dialect and transport."""

    url: str
    dialect: Dialect
    transport: TransportProtocol
    tenant: str | None = None


def interface_from_pin(url: str, pin: Pin) -> Interface:
    """Build the interface at a known URL."""
    transport = pin.transport
    if not transport and urlsplit(url).scheme in (PLAIN, TLS):
        transport = GRPC
    dialect = CANONICAL
    if pin.dialect:
        dialect = DIALECTS.get(pin.dialect) or _find_by_version(pin.dialect, transport)
    if not transport:
        transport = JSONRPC if dialect.jsonrpc else HTTP_JSON
    if transport == GRPC:
        if not is_grpc_installed():
            raise NoInterfaceError(f"{url}: {MISSING_EXTRA}")
        url = _to_grpc_url(url, "") or url
    if not _is_supported(dialect, transport):
        raise NoInterfaceError(
            f"{dialect.title}: not available over {transport.value}; pin another dialect or "
            "transport"
        )
    return Interface(url, dialect, transport)


def _find_by_version(version: str, transport: TransportProtocol | None) -> Dialect:
    """Find the dialect of a version, over HTTP+JSON and gRPC in its likeliest form; raise for an
    unknown one.
    """
    found = [each for each in DIALECTS.values() if version in (each.version, each.spelling)]
    if not found:
        known = ", ".join(dict.fromkeys(each.spelling for each in DIALECTS.values()))
        raise NoInterfaceError(f"Pin: unknown dialect {version!r}; use one of {known}")
    if transport in (HTTP_JSON, GRPC):
        return found[-1]
    return found[0]


def choose_interfaces(
    card: AgentCard, card_dialect: Dialect, card_url: str, pin: Pin
) -> tuple[Interface, ...]:
    """Choose the interfaces of a card that may be used, in the order of the card; each URL and
    transport once, in the likeliest form.
    """
    usable: list[Interface] = []
    for listed in card.supported_interfaces:
        usable += list_usable(listed, card_dialect, card_url)
    candidates = [
        each
        for each in usable
        if _is_pinned(each.dialect, pin) and pin.transport in (None, each.transport)
    ]
    if not candidates:
        raise NoInterfaceError(_describe_mismatch(card, pin))
    distinct: dict[tuple[str, str, str | None], Interface] = {}
    for each in candidates:
        distinct.setdefault((each.url, each.transport.value, each.dialect.version), each)
    return tuple(distinct.values())


def _is_pinned(dialect: Dialect, pin: Pin) -> bool:
    return pin.dialect in (None, dialect.name, dialect.version, dialect.spelling)


def list_usable(
    listed: AgentInterface, card_dialect: Dialect, card_url: str
) -> Iterator[Interface]:
    """List the ways to use an interface; none if it leads from https to http."""
    binding = listed.protocol_binding.upper()
    url = _to_grpc_url(listed.url, card_url) if binding == GRPC else _join_url(card_url, listed.url)
    scheme = urlsplit(url).scheme
    if scheme not in (_HTTPS, _HTTP, TLS, PLAIN) or (
        scheme in (_HTTP, PLAIN) and urlsplit(card_url).scheme == _HTTPS
    ):
        return
    version = ".".join(listed.protocol_version.strip().split(".")[:2])
    dialects = [each for each in DIALECTS.values() if each.version and each.version == version]
    preferred = sorted(dialects, key=lambda each: each.form_of is None)
    if not preferred and card_dialect is not CANONICAL:
        preferred = [card_dialect]
    for dialect in preferred:
        transport = TransportProtocol(binding)
        if _is_supported(dialect, transport):
            yield Interface(url, dialect, transport, listed.tenant or None)
            if (base := find_base_below_prefix(url, dialect, transport)) is not None:
                yield Interface(base, dialect, transport, listed.tenant or None)


def find_base_below_prefix(url: str, dialect: Dialect, transport: TransportProtocol) -> str | None:
    """Return a URL without the first step of the paths of its dialect: some cards of 0.3 have
    ``/v1`` in the URL already. ``None`` if it has none.
    """
    for prefix in dialect.http_prefixes:
        if transport == HTTP_JSON and prefix and url.rstrip("/").endswith(prefix):
            return url.rstrip("/").removesuffix(prefix)
    return None


def _join_url(card_url: str, address: str) -> str:
    """Resolve an address against the URL of the card; empty for what is no address."""
    try:
        return urljoin(card_url, address)
    except ValueError:
        return ""


def _to_grpc_url(address: str, card_url: str) -> str:
    """Build the URL of a gRPC address; without a scheme it uses TLS if the card does.

    Empty for what is no address of a host.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme = urlsplit(card_url).scheme or _HTTP
        rest = address
    if scheme not in (_HTTPS, TLS, _HTTP, PLAIN) or not _HOST.fullmatch(rest):
        return ""
    new_scheme = PLAIN
    port = 80
    if scheme in (_HTTPS, TLS):
        new_scheme = TLS
        port = 443
    host = rest.rstrip("/")
    if not _PORT.search(host):
        host = f"{host}:{port}"
    return f"{new_scheme}://{host}"


def _is_supported(dialect: Dialect, transport: TransportProtocol) -> bool:
    if transport == GRPC:
        call = SEND_MESSAGE.calls.get(dialect.name)
        return call is not None and call.grpc is not None and is_grpc_installed()
    if transport == JSONRPC:
        return dialect.jsonrpc
    return transport == HTTP_JSON and _get_base_dialect(dialect).name in PATHS


def _get_base_dialect(dialect: Dialect) -> Dialect:
    return DIALECTS[dialect.home]


def _describe_mismatch(card: AgentCard, pin: Pin) -> str:
    listed = ", ".join(
        f"{each.protocol_version or '?'} over {each.protocol_binding} at {each.url}"
        for each in card.supported_interfaces
    )
    pinned = ", ".join(filter(None, (pin.dialect, pin.transport and pin.transport.value)))
    reason = f"the client is pinned to {pinned}" if pinned else "this client supports none of them"
    if (
        any(each.protocol_binding.upper() == GRPC for each in card.supported_interfaces)
        and not is_grpc_installed()
    ):
        reason += f"; for {GRPC.value}, {MISSING_EXTRA}"
    return f"The agent offers {listed or 'no interface'}, and {reason}"
