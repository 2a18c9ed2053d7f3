"""Connection to one agent: protocol by the card, headers, single responses and event streams.

The card is read before the first request. The interfaces are chosen again only after the card has
changed. If nothing answers at one of
them, another one is used from then on: nothing was sent, so nothing is done twice.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from http import HTTPStatus

from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import CANONICAL, DIALECTS, MESH, ON_DISCONNECT
from a2a_contract.errors import InvalidParamsError, UnauthenticatedError, UnsupportedOperationError
from a2a_contract.extension_table import IDEMPOTENCY, RESUMPTION, SKILL_SELECTION
from a2a_contract.field_paths import field_paths
from a2a_contract.methods import METHODS
from a2a_contract.operations import (
    GET_EXTENDED_AGENT_CARD,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
)
from a2a_contract.v1_0 import (
    AgentCard,
    GetExtendedAgentCardRequest,
    SendMessageRequest,
    StreamResponse,
)
from a2a_runtime.base.card_extensions import SKILL_ID, find_params
from a2a_runtime.base.origin import CANCEL, current_origin
from a2a_runtime.client.auth import CardAuth
from a2a_runtime.client.calls import ClientConnection, require_result
from a2a_runtime.client.card_resolver import CardResolver, ResolvedCard, to_origin
from a2a_runtime.client.errors import (
    ConnectError,
    MissingCredentialsError,
    UnexpectedStatusError,
    UntrustedOriginError,
)
from a2a_runtime.client.generations import check_generations, has_generations
from a2a_runtime.client.headers import build_headers
from a2a_runtime.client.interface import choose_interfaces, interface_from_pin
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import ClientProtocol, OutgoingRequest, build_protocol
from a2a_runtime.client.spans import activate, trace_connection, trace_request
from a2a_runtime.client.sse import MESSAGE, EventParser, ServerEvent
from a2a_runtime.client.transport import (
    HttpTransport,
    Outage,
    RetrySafety,
    get_retry_safety,
    is_retryable_error,
)

_EVENT_STREAM = "text/event-stream"
_ERROR_EVENT = "error"
_TENANT_PLACEHOLDER = "{tenant}"
_UNSERVED_STATUSES = frozenset(
    (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
)

log = logging.getLogger(__name__)


class AgentConnection(ClientConnection):
    """Requests to one agent over HTTP."""

    def __init__(
        self,
        transport: HttpTransport,
        card_resolver: CardResolver,
        options: ClientOptions,
        card_auth: CardAuth | None = None,
    ) -> None:
        if options.interface_url and card_auth is not None:
            raise ValueError(
                "auth: credentials by scheme name need a card, and interface_url=... reads "
                "none; pass one httpx.Auth or a token"
            )
        self._transport = transport
        self._card_resolver = card_resolver
        self._options = options
        self._card_auth = card_auth
        self._resolved_card: ResolvedCard | None = None
        self._has_warned = False
        self._protocols: tuple[ClientProtocol, ...] = ()
        """The protocols of the card's interfaces, beginning with the one in use."""
        if options.interface_url:
            self._protocols = (
                build_protocol(
                    interface_from_pin(options.interface_url, options.pin),
                    double_base64=options.double_base64,
                ),
            )

    async def resolve_protocol(self) -> ClientProtocol:
        """Choose the protocol by the current card; a pinned interface needs no card."""
        if self._options.interface_url:
            return self._protocols[0]
        try:
            resolved = await self._card_resolver.get()
        except UnauthenticatedError as error:
            if self._card_auth is None:
                raise
            fix = "pass the one for the card as auth=…, a token or an httpx.Auth"
            raise MissingCredentialsError(
                f"The card itself needs credentials, and by it those of auth={{…}} would be "
                f"chosen; {fix}"
            ) from error
        if resolved is not self._resolved_card:
            first, *others = choose_interfaces(
                resolved.card, resolved.dialect, resolved.url, self._options.pin
            )
            self._check_origin(first.url)
            usable = (first, *(each for each in others if self._is_trusted(each.url)))
            protocols = tuple(
                build_protocol(each, double_base64=self._options.double_base64) for each in usable
            )
            if self._card_auth is not None:
                self._card_auth.choose(resolved.card)
            # last, and together: after an error above, the next request chooses again
            self._protocols = protocols
            self._resolved_card = resolved
        return self._protocols[0]

    def _use_next(
        self, failed: ClientProtocol, error: Exception, tried: list[ClientProtocol]
    ) -> bool:
        """Use another interface of the card from now on; ``False`` if none is left that may do
        better than those that were tried.
        """
        tried.append(failed)
        # if it is not the first one, another request has found out before
        if failed is self._protocols[0]:
            # another interface at an origin that cannot be reached fails in the same way
            origin = to_origin(failed.interface.url) if isinstance(error, ConnectError) else None
            left = (
                each
                for each in self._protocols
                if each not in tried and to_origin(each.interface.url) != origin
            )
            found = next(left, None)
            if found is None:
                return False
            log.warning("%s; using %s of the card", error, found.interface.url)
            self._protocols = (found, *(each for each in self._protocols if each is not found))
        return self._protocols[0] not in tried

    async def execute(
        self, operation: Operation, request: WireModel, idempotency_key: str | None = None
    ) -> WireModel | None:
        """Send a request and decode its response, which may be empty."""
        tried: list[ClientProtocol] = []
        while True:
            protocol = await self.resolve_protocol()
            try:
                with trace_request(operation, protocol.interface):
                    return protocol.decode(
                        operation, await self._fetch(protocol, operation, request, idempotency_key)
                    )
            except (ConnectError, UnexpectedStatusError) as error:
                if not _is_unserved(error) or not self._use_next(protocol, error, tried):
                    raise

    async def get_card(self, *, refresh: bool = False) -> AgentCard:
        """Read the card, from the cache until it expires."""
        return (await self._card_resolver.get(refresh=refresh)).card

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def get_extended_card(self) -> AgentCard:
        """Read the card for authenticated callers, and verify it like the public one."""
        protocol = await self.resolve_protocol()
        with trace_request(GET_EXTENDED_AGENT_CARD, protocol.interface):
            body = await self._fetch(
                protocol, GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), None
            )
            card = require_result(
                GET_EXTENDED_AGENT_CARD, protocol.decode(GET_EXTENDED_AGENT_CARD, body), AgentCard
            )
        dialect = protocol.interface.dialect
        card_dialect = DIALECTS[dialect.home]
        resolved = ResolvedCard(
            card, card_dialect, protocol.interface.url, protocol.extract_result(body)
        )
        return (await self._card_resolver.verify(resolved)).card

    async def fetch_document(self, url: str) -> bytes:
        """Read a document that the card names, such as a schema, from an origin that may receive
        the credentials.
        """
        self._check_origin(url)
        headers = {**self._options.headers, "accept": "application/json"}
        response = await self._transport.fetch(
            OutgoingRequest("GET", url),
            RetrySafety.READ,
            headers,
            max_bytes=self._options.limits.card_bytes,
        )
        if not response.is_success:
            raise UnexpectedStatusError(
                response.status,
                f"{url}: status {response.status}; the card names a document that cannot be read",
            )
        return response.body

    async def stream_events(
        self,
        operation: Operation,
        request: WireModel,
        cursor: str | None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Open a stream and yield its events; an agent without streaming gives one event, its
        single response.
        """
        tried: list[ClientProtocol] = []
        while True:
            protocol = await self.resolve_protocol()
            try:
                async with aclosing(
                    self._stream_events(protocol, operation, request, cursor, idempotency_key)
                ) as events:
                    async for event in events:
                        yield event
            except (ConnectError, UnexpectedStatusError) as error:
                if not _is_unserved(error) or not self._use_next(protocol, error, tried):
                    raise
            else:
                return

    async def _stream_events(
        self,
        protocol: ClientProtocol,
        operation: Operation,
        request: WireModel,
        cursor: str | None,
        idempotency_key: str | None,
    ) -> AsyncGenerator[ServerEvent, None]:
        if (
            operation is SEND_STREAMING_MESSAGE
            and self._resolved_card
            and not self._resolved_card.card.capabilities.streaming
        ):
            with trace_request(SEND_MESSAGE, protocol.interface):
                body = await self._fetch(protocol, SEND_MESSAGE, request, idempotency_key)
            yield ServerEvent(MESSAGE, body, None)
            return
        with trace_connection(operation, protocol.interface) as span:
            with activate(span):
                headers = build_headers(
                    self._options, protocol.interface.dialect, request, idempotency_key
                ) | {
                    "accept": _EVENT_STREAM,
                    "cache-control": "no-store",
                }
            if cursor:
                headers["last-event-id"] = cursor
            async with aclosing(self._read_stream(protocol, operation, request, headers)) as events:
                is_first = True
                async for event in events:
                    if span is not None and (is_first or event.name == _ERROR_EVENT):
                        # its reader would raise an error outside of the span
                        await self.decode_event(operation, event)
                    is_first = False
                    yield event

    async def _read_stream(
        self,
        protocol: ClientProtocol,
        operation: Operation,
        request: WireModel,
        headers: dict[str, str],
    ) -> AsyncGenerator[ServerEvent, None]:
        async with self._transport.open_stream(
            self._encode_request(protocol, operation, request), headers
        ) as response:
            if not response.is_success or not response.headers.get(
                "content-type", ""
            ).lower().startswith(_EVENT_STREAM):
                body = await self._transport.read_body(
                    response, self._options.limits.response_bytes
                )
                if not response.is_success:
                    raise protocol.to_error(
                        operation, response.status_code, body, has_task=_is_about_task(request)
                    )
                yield ServerEvent(MESSAGE, body, None)
                return
            parser = EventParser(self._options.limits.event_bytes)
            async with aclosing(self._transport.iter_chunks(response)) as chunks:
                async for chunk in chunks:
                    for event in parser.feed(chunk):
                        if event.data:
                            yield event

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:
        """Decode an event, or raise the error in it."""
        protocol = await self.resolve_protocol()
        if event.name == _ERROR_EVENT:
            raise protocol.to_error(operation, HTTPStatus.OK, event.data)
        return require_result(operation, protocol.decode(operation, event.data), StreamResponse)

    async def wait_before_retry(self, failures: int, began_at: float) -> bool:
        """Wait before the next attempt of a call that began then; ``False`` if there is none."""
        return await self._transport.wait_before_retry(
            failures, None, began_at, self._transport.message_seconds
        )

    async def wait_before_resuming(self, outage: Outage) -> bool:
        """Wait before a broken stream is resumed; ``False`` if its time is over."""
        return await self._transport.wait_before_resuming(outage)

    def monotonic(self) -> float:
        """Read the clock of these times."""
        return self._options.clock.monotonic()

    def can_retry(
        self, operation: Operation, error: Exception, idempotency_key: str | None = None
    ) -> bool:
        """Tell whether a request may be repeated after an error."""
        return is_retryable_error(self._get_retry_safety(operation, idempotency_key), error)

    async def needs_polls(self) -> bool:
        """Tell it by the card; an interface without a card has streams."""
        dialect = (await self.resolve_protocol()).interface.dialect
        return (
            self._resolved_card is not None
            and not self._resolved_card.card.capabilities.streaming
            and has_generations(dialect)
        )

    def can_continue(self) -> bool:
        """Tell whether the card declares it; without a card, and for the mesh, whose cards have no
        extensions, the ids of events are the sign.
        """
        resolved = self._resolved_card
        return (
            resolved is None
            or resolved.dialect is MESH
            or find_params(resolved.card, RESUMPTION) is not None
        )

    def _get_retry_safety(self, operation: Operation, idempotency_key: str | None) -> RetrySafety:
        """Count a key only for agents known to support it: others process a repeated message
        again.
        """
        idempotent = self._options.retry_policy.idempotent
        if idempotent is None:
            idempotent = (
                self._resolved_card is not None
                and find_params(self._resolved_card.card, IDEMPOTENCY) is not None
            )
        if not idempotent:
            idempotency_key = None
        return get_retry_safety(operation, idempotency_key)

    async def _fetch(
        self,
        protocol: ClientProtocol,
        operation: Operation,
        request: WireModel,
        idempotency_key: str | None,
    ) -> bytes:
        outgoing = replace(
            self._encode_request(protocol, operation, request),
            is_message=isinstance(request, SendMessageRequest),
        )
        headers = build_headers(
            self._options, protocol.interface.dialect, request, idempotency_key
        ) | {"accept": ", ".join(protocol.interface.dialect.media_types)}
        if outgoing.is_message and current_origin.get() is not None:
            headers.setdefault(ON_DISCONNECT.headers[0].lower(), CANCEL)
        safety = self._get_retry_safety(operation, idempotency_key)
        limit = self._options.limits.response_bytes
        response = await self._transport.fetch(outgoing, safety, headers, max_bytes=limit)
        if response.is_success:
            return response.body
        error = protocol.to_error(
            operation, response.status, response.body, has_task=_is_about_task(request)
        )
        other = None
        if isinstance(error, InvalidParamsError):
            other = protocol.encode_differently(operation, request)
        if other is not None:
            response = await self._transport.fetch(other, safety, headers, max_bytes=limit)
            if response.is_success:
                return response.body
        raise error

    def _encode_request(
        self, protocol: ClientProtocol, operation: Operation, request: WireModel
    ) -> OutgoingRequest:
        """Add the tenant, check the request against the contract, and encode it."""
        dialect = protocol.interface.dialect
        tenant = self._options.tenant or protocol.interface.tenant
        if tenant and not any(_TENANT_PLACEHOLDER in prefix for prefix in dialect.http_prefixes):
            raise UnsupportedOperationError(
                f"tenant {tenant!r}: {dialect.title} has no tenants; pin 1.0, or set no tenant"
            )
        if (
            tenant
            and "tenant" in type(request).model_fields
            and "tenant" not in request.model_fields_set
        ):
            request = request.model_copy(update={"tenant": tenant})
        check_generations(request, dialect)
        if isinstance(request, SendMessageRequest):
            self._warn_of_selection(request)
        canonical = METHODS[CANONICAL.name][operation.calls[CANONICAL.name].method or ""]
        try:
            canonical.parse(request)
        except ValidationError as error:
            raise InvalidParamsError(fields=field_paths(error)) from error
        return protocol.encode(operation, request)

    def _warn_of_selection(self, request: SendMessageRequest) -> None:
        """Warn once of a message that names its skill to an agent that may not read it: another
        skill would answer.
        """
        card = self._resolved_card.card if self._resolved_card else None
        names_skill = any(
            SKILL_ID in (metadata or ())
            for metadata in (request.metadata, request.message.metadata)
        )
        if (
            not self._has_warned
            and names_skill
            and card
            and len(card.skills) > 1
            and find_params(card, SKILL_SELECTION) is None
        ):
            self._has_warned = True
            log.warning(
                "%s: its card does not declare %s; it may ignore %s and use any skill",
                card.name,
                SKILL_SELECTION.uri,
                SKILL_ID,
            )

    def _is_trusted(self, url: str) -> bool:
        """Return whether an origin may receive what the client sends: another port of a host may
        belong to another service.
        """
        return not self._transport.sends_secrets or to_origin(url) in map(
            to_origin, (self._card_resolver.url, *self._options.trusted_origins)
        )

    def _check_origin(self, url: str) -> None:
        """Keep credentials from origins that only the card names."""
        if not self._is_trusted(url):
            origin = to_origin(url)
            own = to_origin(self._card_resolver.url)
            raise UntrustedOriginError(
                f"The card of {own} leads to {origin}, which would receive the credentials; "
                f"if the agent runs there, pass ClientOptions(trusted_origins=({origin!r},))"
            )


def _is_unserved(error: Exception) -> bool:
    """Return whether an error means that no agent has seen the request: nothing answers there, or a
    server that knows no such path or method.
    """
    return isinstance(error, ConnectError) or (
        isinstance(error, UnexpectedStatusError) and error.status in _UNSERVED_STATUSES
    )


def _is_about_task(request: WireModel) -> bool:
    return not isinstance(request, SendMessageRequest) or bool(request.message.task_id)
