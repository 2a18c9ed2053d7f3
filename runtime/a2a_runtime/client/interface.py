"""Where and how to talk to an agent: a pure choice among the interfaces of its card.

The newest version that both speak comes first; within a version the agent's own order counts, as its card lists its interfaces. 0.3 over HTTP+JSON
has two forms, of which the official SDK, and so almost everybody, speaks the one in ProtoJSON. A pin takes away whatever it does not name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from a2a_contract.dialects import CANONICAL, DIALECTS, Dialect
from a2a_contract.paths import PATHS
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCard, AgentInterface
from a2a_runtime.client.errors import NoInterfaceError
from a2a_runtime.client.options import HTTP_JSON, JSONRPC, Pin

_RANK = {name: rank for rank, name in enumerate(DIALECTS)}
_SAFE, _UNSAFE = "https", "http"


@dataclass(frozen=True, slots=True)
class Interface:
    """An address at which a dialect is spoken over a transport."""

    url: str
    dialect: Dialect
    transport: TransportProtocol
    tenant: str | None = None


def pinned(url: str, pin: Pin) -> Interface:
    """Make the interface of somebody who knows it."""
    dialect = DIALECTS[pin.dialect] if pin.dialect else CANONICAL
    transport = pin.transport or (JSONRPC if dialect.jsonrpc else HTTP_JSON)
    if not _carries(dialect, transport):
        raise NoInterfaceError(f"{dialect.title} is not spoken over {transport.value}; pin another dialect or transport")
    return Interface(url, dialect, transport)


def choose(card: AgentCard, card_dialect: Dialect, card_url: str, pin: Pin) -> Interface:
    """Choose an interface of a card, which was found in a dialect at a URL."""
    found = [interface for listed in card.supported_interfaces for interface in _usable(listed, card_dialect, card_url)]
    wanted = [each for each in found if pin.dialect in (None, each.dialect.name) and pin.transport in (None, each.transport)]
    if not wanted:
        raise NoInterfaceError(_nothing(card, pin))
    return min(wanted, key=lambda each: _RANK[_root(each.dialect).name])


def _usable(listed: AgentInterface, card_dialect: Dialect, card_url: str) -> Iterator[Interface]:
    """List the ways to use an interface; one that leads from a safe address to an unsafe one has none."""
    url = urljoin(card_url, listed.url)
    scheme = urlsplit(url).scheme
    if scheme not in (_SAFE, _UNSAFE) or (scheme == _UNSAFE and urlsplit(card_url).scheme == _SAFE):
        return
    spoken = [each for each in DIALECTS.values() if each.version and each.version == _minor(listed.protocol_version)]
    for dialect in sorted(spoken, key=lambda each: each.form_of is None) or ([card_dialect] if card_dialect is not CANONICAL else []):
        transport = TransportProtocol(listed.protocol_binding.upper())
        if _carries(dialect, transport):
            yield Interface(url, dialect, transport, listed.tenant or None)


def _carries(dialect: Dialect, transport: TransportProtocol) -> bool:
    if transport == JSONRPC:
        return dialect.jsonrpc
    return transport == HTTP_JSON and _root(dialect).name in PATHS


def _root(dialect: Dialect) -> Dialect:
    return DIALECTS[dialect.form_of] if dialect.form_of else dialect


def _minor(version: str) -> str:
    return ".".join(version.strip().split(".")[:2])


def _nothing(card: AgentCard, pin: Pin) -> str:
    listed = ", ".join(f"{each.protocol_version or '?'} over {each.protocol_binding} at {each.url}" for each in card.supported_interfaces)
    limits = ", ".join(filter(None, (pin.dialect, pin.transport and pin.transport.value)))
    return f"The agent offers {listed or 'no interface'}" + (
        f", and the client is pinned to {limits}" if limits else ", none of which this client speaks"
    )
