"""A client's line to its agent: which voice speaks, what every request says beside itself, and single answers or the frames of a stream.

The card is read when something is asked for the first time, and its interface is chosen anew only when the card has changed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import CANONICAL, DIALECTS, EXTENSIONS, VERSION
from a2a_contract.errors import InvalidParamsError, UnsupportedOperationError
from a2a_contract.field_paths import field_paths
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, GET_TASK, SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest, GetTaskRequest, SendMessageRequest, StreamResponse, Task
from a2a_runtime.client.auth import CardAuth
from a2a_runtime.client.card_resolver import CardResolver, ResolvedCard
from a2a_runtime.client.errors import InvalidResponseError, UntrustedHostError
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import ClientProtocol, OutgoingRequest, build_protocol, choose_interface, interface_from_pin
from a2a_runtime.client.sse import MESSAGE, EventParser, ServerEvent
from a2a_runtime.client.transport import HttpTransport, RetrySafety, get_retry_safety, is_retryable_error
from a2a_runtime.idempotency import supports_idempotency

_EVENT_STREAM = "text/event-stream"
_ERROR_EVENT = "error"
_TENANT_PLACEHOLDER = "{tenant}"

ResponseModel = TypeVar("ResponseModel", bound=WireModel)


class AgentConnection:
    """Everything that is asked of an agent goes through here."""

    def __init__(self, transport: HttpTransport, card_resolver: CardResolver, options: ClientOptions, card_auth: CardAuth | None = None) -> None:
        if options.interface_url and card_auth is not None:
            raise ValueError("proofs by the names of schemes are chosen by the card, and at=… asks for none; give the proof itself as auth")
        self._transport, self._card_resolver, self._options, self._card_auth = transport, card_resolver, options, card_auth
        self._resolved_card: ResolvedCard | None = None
        self._protocol = build_protocol(interface_from_pin(options.interface_url, options.pin)) if options.interface_url else None

    async def resolve_protocol(self) -> ClientProtocol:
        """Give what speaks to the agent, by its card as it is now."""
        if self._options.interface_url and self._protocol:
            return self._protocol
        found = await self._card_resolver.get()
        if self._protocol is None or found is not self._resolved_card:
            interface = choose_interface(found.card, found.dialect, found.url, self._options.pin)
            self._check_host(interface.url)
            self._protocol = build_protocol(interface)
            if self._card_auth is not None:
                self._card_auth.choose(found.card)
            self._resolved_card = found
        return self._protocol

    async def call(
        self, operation: Operation, request: WireModel, response_type: type[ResponseModel], idempotency_key: str | None = None
    ) -> ResponseModel:
        """Ask for one answer of a type."""
        answer = await self._execute(operation, request, idempotency_key)
        if not isinstance(answer, response_type):
            raise InvalidResponseError(f"The answer to {operation.name} is empty")
        return answer

    async def get_extended_card(self) -> AgentCard:
        """Read the card that only known callers see, and believe as much of it as of the other one."""
        voice = await self.resolve_protocol()
        body = await self._fetch(voice, GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), None)
        card = voice.decode(GET_EXTENDED_AGENT_CARD, body)
        if not isinstance(card, AgentCard):
            raise InvalidResponseError(f"The answer to {GET_EXTENDED_AGENT_CARD.name} is empty")
        dialect = voice.interface.dialect
        written_in = DIALECTS[dialect.form_of] if dialect.form_of else dialect
        return (await self._card_resolver.verify(ResolvedCard(card, written_in, voice.interface.url, voice.extract_result(body)))).card

    async def call_empty(self, operation: Operation, request: WireModel) -> None:
        """Ask for something to be done that has no answer."""
        await self._execute(operation, request, None)

    async def get_task(self, task_id: str) -> Task:
        """Read a task as it is now."""
        return await self.call(GET_TASK, GetTaskRequest(id=task_id), Task)

    async def wait_before_retry(self, failures: int) -> bool:
        """Wait before the next attempt; say whether there is to be one."""
        wait = self._transport.get_retry_delay(failures)
        if wait is None:
            return False
        await self._options.clock.sleep(wait)
        return True

    def can_retry(self, operation: Operation, error: Exception, idempotency_key: str | None = None) -> bool:
        """Say whether it is safe to ask again after a failure."""
        return is_retryable_error(self._get_retry_safety(operation, idempotency_key), error)

    def _get_retry_safety(self, operation: Operation, idempotency_key: str | None) -> RetrySafety:
        """Trust in a key only where the agent is known to heed it: to others, a repeated message is another one."""
        keyed = self._options.retry_policy.idempotent
        if keyed is None:
            keyed = self._resolved_card is not None and supports_idempotency(self._resolved_card.card)
        return get_retry_safety(operation, idempotency_key if keyed else None)

    async def stream_events(
        self, operation: Operation, request: WireModel, cursor: str | None, idempotency_key: str | None = None
    ) -> AsyncGenerator[ServerEvent, None]:
        """Ask for a stream and give its frames; an agent that does not stream gives the one answer that it has."""
        voice = await self.resolve_protocol()
        if operation is SEND_STREAMING_MESSAGE and self._resolved_card and not self._resolved_card.card.capabilities.streaming:
            operation = SEND_MESSAGE
        if operation is SEND_MESSAGE:
            yield ServerEvent(MESSAGE, await self._fetch(voice, operation, request, idempotency_key), None)
            return
        further = {"last-event-id": cursor} if cursor else {}
        headers = self._build_headers(voice, request, idempotency_key) | {"accept": _EVENT_STREAM, "cache-control": "no-store"} | further
        async with self._transport.open_stream(self._encode_request(voice, operation, request), headers) as response:
            if not response.is_success or not response.headers.get("content-type", "").lower().startswith(_EVENT_STREAM):
                yield await self._read_single_response(voice, operation, response)
                return
            parser = EventParser(self._options.limits.event_bytes)
            async with aclosing(self._transport.iter_chunks(response)) as chunks:
                async for chunk in chunks:
                    for event in parser.feed(chunk):
                        if event.data:
                            yield event

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:
        """Read a frame, or raise the error that it tells of."""
        voice = await self.resolve_protocol()
        if event.name == _ERROR_EVENT:
            raise voice.to_error(operation, HTTPStatus.OK, event.data)
        heard = voice.decode(operation, event.data)
        if not isinstance(heard, StreamResponse):
            raise InvalidResponseError(f"An event of {operation.name} is empty")
        return heard

    async def _execute(self, operation: Operation, request: WireModel, idempotency_key: str | None) -> WireModel | None:
        voice = await self.resolve_protocol()
        return voice.decode(operation, await self._fetch(voice, operation, request, idempotency_key))

    async def _fetch(self, protocol: ClientProtocol, operation: Operation, request: WireModel, idempotency_key: str | None) -> bytes:
        question = self._encode_request(protocol, operation, request)
        headers = self._build_headers(protocol, request, idempotency_key) | {"accept": ", ".join(protocol.interface.dialect.media_types)}
        reply = await self._transport.fetch(
            question, self._get_retry_safety(operation, idempotency_key), headers, max_bytes=self._options.limits.response_bytes
        )
        if not reply.is_success:
            raise protocol.to_error(operation, reply.status, reply.body)
        return reply.body

    async def _read_single_response(self, protocol: ClientProtocol, operation: Operation, response: httpx.Response) -> ServerEvent:
        """Take an answer that is no stream: an error, or the one event that there is."""
        body = await self._transport.read_body(response, self._options.limits.response_bytes)
        if not response.is_success:
            raise protocol.to_error(operation, response.status_code, body)
        return ServerEvent(MESSAGE, body, None)

    def _encode_request(self, protocol: ClientProtocol, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Say a request, unless no agent would take it."""
        dialect, tenant = protocol.interface.dialect, self._options.tenant or protocol.interface.tenant
        if tenant and not any(_TENANT_PLACEHOLDER in prefix for prefix in dialect.http_prefixes):
            raise UnsupportedOperationError(f"{dialect.title} has no tenants, so that {tenant!r} would be left out; pin 1.0, or name no tenant")
        if tenant and "tenant" in type(request).model_fields and "tenant" not in request.model_fields_set:
            request = request.model_copy(update={"tenant": tenant})
        canonical = METHODS[CANONICAL.name][operation.calls[CANONICAL.name].method or ""]
        try:
            canonical.parse(request)
        except ValidationError as error:
            raise InvalidParamsError(fields=field_paths(error)) from error
        return protocol.encode(operation, request)

    def _check_host(self, url: str) -> None:
        """Refuse to tell our secrets to whoever the card names: it says where the agent is, not who may know us."""
        host = urlsplit(url).hostname or ""
        if self._transport.sends_secrets and host not in (self._card_resolver.host, *self._options.trusted_hosts):
            raise UntrustedHostError(
                f"The card of {self._card_resolver.host} leads to {host}, which would be told what proves who we are; "
                f"if that is the agent's, say so: ClientOptions(hosts=({host!r},))"
            )

    def _build_headers(self, protocol: ClientProtocol, request: WireModel, idempotency_key: str | None) -> dict[str, str]:
        """Say what stands beside a request, under every name that it has: an agent may know only one of them."""
        said = dict(self._options.headers)
        if version := protocol.interface.dialect.version:
            said.update(dict.fromkeys(VERSION.headers, version))
        used = (request.message.extensions or ()) if isinstance(request, SendMessageRequest) else ()
        if wanted := dict.fromkeys((*self._options.extensions, *used)):
            said.update(dict.fromkeys(EXTENSIONS.headers, ", ".join(wanted)))
        if idempotency_key:
            said["idempotency-key"] = idempotency_key
        return said


class IdempotentConnection:
    """A line on which a stream is asked for with a key."""

    def __init__(self, connection: AgentConnection, idempotency_key: str) -> None:
        self._connection, self._idempotency_key = connection, idempotency_key
        self.decode_event, self.get_task, self.wait_before_retry = connection.decode_event, connection.get_task, connection.wait_before_retry

    def stream_events(self, operation: Operation, request: WireModel, cursor: str | None) -> AsyncGenerator[ServerEvent, None]:
        """Ask for a stream, with the key if safety depends on it."""
        key = self._idempotency_key if get_retry_safety(operation, self._idempotency_key) is RetrySafety.IDEMPOTENT else None
        return self._connection.stream_events(operation, request, cursor, key)

    def can_retry(self, operation: Operation, error: Exception) -> bool:
        """Say whether it is safe to ask again with the key."""
        return self._connection.can_retry(operation, error, self._idempotency_key)
