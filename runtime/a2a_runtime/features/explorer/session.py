"""One request of the page to one agent: its card, the interface that the visitor has chosen, and a
client for it.

    AgentSession(agent, visitor)
        read_card ──► CardReading      also of a card that cannot be used: its bytes, and the reason
        list_interfaces                each interface of the card, and why one is not used
        connect(interface) ──► AgentConnection     exactly this interface, over the connection of
                                                   the client that others use

The trust of the client holds: credentials go to the origin of the agent, and to others only if they
are trusted by an option.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import httpx

from a2a_contract.dialects import CANONICAL
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentInterface
from a2a_runtime.client.auth import CardAuth, build_auth
from a2a_runtime.client.card_resolver import CardResolver, ResolvedCard, to_origin
from a2a_runtime.client.connection import AgentConnection
from a2a_runtime.client.errors import InvalidCardError, NoInterfaceError
from a2a_runtime.client.grpc import GrpcCapableClient, GrpcTransport
from a2a_runtime.client.interface import Interface, interface_from_pin, list_usable
from a2a_runtime.client.options import ClientOptions, Pin, RetryPolicy
from a2a_runtime.client.transport import ClientResponse, HttpTransport
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.visitor import VisitorCredentials
from a2a_runtime.features.explorer.wire import Masker, WireRecorder
from a2a_runtime.net.authorities import load_ssl_context

_ONE_ATTEMPT = RetryPolicy(attempts=1)
"""A visitor sees every failure, and repeats a request by hand."""


@dataclass(frozen=True, slots=True)
class CardReading:
    """A card as it was read; ``resolved`` is ``None`` for a document that cannot be used, and
    ``problem`` says why.
    """

    resolved: ResolvedCard | None
    body: bytes
    url: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ListedInterface:
    """An interface of a card; ``usable`` is ``None`` if the explorer does not call it, for the
    reason.
    """

    id: str
    listed: AgentInterface
    usable: Interface | None
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the members as JSON."""
        usable = self.usable
        url = self.listed.url
        binding: str = self.listed.protocol_binding
        dialect = self.listed.protocol_version
        if usable:
            url = usable.url
            binding = usable.transport.value
            dialect = usable.dialect.version or usable.dialect.name
        return {
            "id": self.id,
            "url": url,
            "binding": binding,
            "dialect": dialect,
            "tenant": self.listed.tenant or None,
            "usable": usable is not None,
            "reason": self.reason,
        }


class AgentSession:
    """The connections of one request of the page."""

    def __init__(
        self,
        agent: ExploredAgent,
        visitor: VisitorCredentials,
        recorder: WireRecorder,
        known: CardReading | None = None,
    ) -> None:
        """Take a card that was read before, if there is one."""
        auth = visitor.build_auth()
        if not auth and agent.auth is not None:
            auth = build_auth(agent.auth)
        self.agent = agent
        self.visitor = visitor
        self.recorder = recorder
        self._known = known
        self._card_auth = auth if isinstance(auth, CardAuth) else None
        self._options = replace(agent.options, retry_policy=_ONE_ATTEMPT)
        calls = GrpcTransport(agent.options.grpc_credentials, agent.options.limits.response_bytes)
        self._http = GrpcCapableClient(
            None if agent.transport else calls,
            auth=auth,
            transport=agent.transport,
            headers={"accept-encoding": "identity"},  # bodies are shown as they come
            event_hooks=recorder.hooks,
            verify=(self._card_auth and self._card_auth.ssl_context) or load_ssl_context(),
        )
        self._transport = HttpTransport(self._http, self._options, agent.timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            self.recorder.note_failure(error)
        await self._transport.aclose()

    async def read_card(self) -> CardReading:
        """Read the card; an agent at an address without one has an empty card."""
        url = self._options.interface_url
        if url is not None:
            card = _build_empty_card(self.agent, interface_from_pin(url, self._options.pin))
            return CardReading(ResolvedCard(card, CANONICAL, url, card.to_json()), b"", url)
        resolver = _RecordingResolver(
            self.agent.url, self._transport, self._options, self._options.headers
        )
        try:
            resolved = await resolver.get()
        except InvalidCardError as error:
            if not resolver.body:
                raise
            return CardReading(None, resolver.body, resolver.body_url, str(error))
        return CardReading(resolved, resolved.body, resolved.url)

    async def read_usable_card(self) -> ResolvedCard:
        """Return the card for an operation, or raise ``InvalidCardError`` for one that cannot be
        used.
        """
        reading = self._known or await self.read_card()
        if reading.resolved is None:
            raise InvalidCardError(reading.problem)
        return reading.resolved

    def list_interfaces(self, resolved: ResolvedCard) -> list[ListedInterface]:
        """List the interfaces of a card."""
        return [
            _list_interface(str(number), listed, resolved, self._options.pin, self.agent)
            for number, listed in enumerate(resolved.card.supported_interfaces)
        ]

    def choose_interface(self, resolved: ResolvedCard, interface_id: str | None) -> ListedInterface:
        """Choose an interface by its id, by default the first one that can be used."""
        listed = self.list_interfaces(resolved)
        if interface_id is None:
            found = [each for each in listed if each.usable is not None]
        else:
            found = [each for each in listed if each.id == interface_id]
        if not found:
            problem = "no interface of the card can be used"
            if interface_id:
                problem = f"interface {interface_id!r}: not on the card"
            reasons = "; ".join(each.reason for each in listed if each.reason)
            if reasons:
                problem = f"{problem} ({reasons})"
            raise NoInterfaceError(problem)
        if found[0].usable is None:
            raise NoInterfaceError(found[0].reason)
        return found[0]

    def connect(
        self, resolved: ResolvedCard, interface_id: str | None
    ) -> tuple[AgentConnection, Interface]:
        """Connect to an interface of a card, and to no other one."""
        chosen = self.choose_interface(resolved, interface_id)
        # asserted for the types: a fact of this class
        assert chosen.usable is not None, "choose_interface returns no other"  # noqa: S101
        only = replace(
            resolved,
            card=resolved.card.model_copy(update={"supported_interfaces": [chosen.listed]}),
        )
        options = replace(self._options, interface_url=None)
        resolver = _FixedResolver(only, self.agent.url, self._transport, options)
        return AgentConnection(self._transport, resolver, options, self._card_auth), chosen.usable


class _RecordingResolver(CardResolver):
    """A resolver that keeps the document that it could not use."""

    body = b""
    body_url = ""

    def _parse(self, response: ClientResponse) -> ResolvedCard:
        self.body = response.body
        self.body_url = response.url
        return super()._parse(response)


class _FixedResolver(CardResolver):
    """A card that was read before."""

    def __init__(
        self, resolved: ResolvedCard, url: str, transport: HttpTransport, options: ClientOptions
    ) -> None:
        super().__init__(url, transport, options, options.headers)
        self._resolved = resolved

    # the argument is unused: it does not change within a request
    async def get(self, *, refresh: bool = False) -> ResolvedCard:  # noqa: ARG002
        """Return the card."""
        return self._resolved


def build_masker(agent: ExploredAgent, visitor: VisitorCredentials) -> Masker:
    """Build the masker of one request."""
    names = (name for name, _ in (*visitor.headers, *visitor.query))
    return Masker(
        (*agent.secrets, *agent.options.headers.values(), *visitor.secrets),
        (*names, *agent.options.headers),
    )


def _list_interface(
    interface_id: str,
    listed: AgentInterface,
    resolved: ResolvedCard,
    pin: Pin,
    agent: ExploredAgent,
) -> ListedInterface:
    # no card was read: the address is that of the interface
    if not resolved.body:
        return ListedInterface(interface_id, listed, interface_from_pin(listed.url, pin))
    ways = list(list_usable(listed, resolved.dialect, resolved.url))
    if not ways:
        return ListedInterface(interface_id, listed, None, _explain_unusable(listed, resolved))
    chosen = [
        each
        for each in ways
        if pin.dialect in (None, each.dialect.name, each.dialect.version)
        and pin.transport in (None, each.transport)
    ]
    if not chosen:
        return ListedInterface(
            interface_id,
            listed,
            None,
            f"{listed.url}: left out by the options --dialect and --binding",
        )
    refusal = agent.refusal(chosen[0].url)
    usable = None if refusal else chosen[0]
    return ListedInterface(interface_id, listed, usable, refusal)


def _explain_unusable(listed: AgentInterface, resolved: ResolvedCard) -> str:
    if resolved.url.startswith("https:") and listed.url.startswith("http:"):
        return f"{listed.url}: not https, although the card is; it could be read on the way"
    return (
        f"{listed.url}: this client has no {listed.protocol_version or '?'} over "
        f"{listed.protocol_binding or '?'}"
    )


def _build_empty_card(agent: ExploredAgent, interface: Interface) -> AgentCard:
    listed = AgentInterface(
        url=interface.url,
        protocol_binding=interface.transport.value,
        protocol_version=interface.dialect.version or "",
        tenant=interface.tenant,
    )
    return AgentCard(
        name=agent.name,
        supported_interfaces=[listed],
        capabilities=AgentCapabilities(streaming=True),
        skills=[],
        default_input_modes=[],
        default_output_modes=[],
    )


def is_same_origin(url: str, others: Sequence[str]) -> bool:
    """Tell whether a URL has the origin of one of others; what is no URL has none."""
    try:
        return to_origin(url) in map(to_origin, others)
    except httpx.InvalidURL:
        return False


def iter_trusted(agent: ExploredAgent, interfaces: Sequence[ListedInterface]) -> Iterator[str]:
    """List the URLs at whose origins documents of an agent are read."""
    yield agent.url
    yield from agent.options.trusted_origins
    yield from (each.usable.url for each in interfaces if each.usable is not None)
