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
from a2a_contract.field_paths import places
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, GET_TASK, SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest, GetTaskRequest, SendMessageRequest, StreamResponse, Task
from a2a_runtime.client.auth import ByCard
from a2a_runtime.client.card_resolver import CardSource, Found
from a2a_runtime.client.errors import ForeignHostError, UnreadableAnswerError
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import Question, Voice, choose, pinned, voice_at
from a2a_runtime.client.sse import MESSAGE, EventParser, ServerEvent
from a2a_runtime.client.transport import Courier, Safety, is_repeatable, safety_of
from a2a_runtime.idempotency import is_promised

_EVENTS = "text/event-stream"
_ERROR = "error"
_TENANT = "{tenant}"

Answer = TypeVar("Answer", bound=WireModel)


class AgentLine:
    """Everything that is asked of an agent goes through here."""

    def __init__(self, courier: Courier, cards: CardSource, options: ClientOptions, proofs: ByCard | None = None) -> None:
        if options.at and proofs is not None:
            raise ValueError("proofs by the names of schemes are chosen by the card, and at=… asks for none; give the proof itself as auth")
        self._courier, self._cards, self._options, self._proofs = courier, cards, options, proofs
        self._found: Found | None = None
        self._voice = voice_at(pinned(options.at, options.pin)) if options.at else None

    async def voice(self) -> Voice:
        """Give what speaks to the agent, by its card as it is now."""
        if self._options.at and self._voice:
            return self._voice
        found = await self._cards.get()
        if self._voice is None or found is not self._found:
            interface = choose(found.card, found.dialect, found.url, self._options.pin)
            self._check_host(interface.url)
            self._voice = voice_at(interface)
            if self._proofs is not None:
                self._proofs.choose(found.card)
            self._found = found
        return self._voice

    async def call(self, operation: Operation, request: WireModel, of: type[Answer], key: str | None = None) -> Answer:
        """Ask for one answer of a type."""
        answer = await self._asked(operation, request, key)
        if not isinstance(answer, of):
            raise UnreadableAnswerError(f"The answer to {operation.name} is empty")
        return answer

    async def extended_card(self) -> AgentCard:
        """Read the card that only known callers see, and believe as much of it as of the other one."""
        voice = await self.voice()
        body = await self._answer(voice, GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), None)
        card = voice.hear(GET_EXTENDED_AGENT_CARD, body)
        if not isinstance(card, AgentCard):
            raise UnreadableAnswerError(f"The answer to {GET_EXTENDED_AGENT_CARD.name} is empty")
        dialect = voice.interface.dialect
        written_in = DIALECTS[dialect.form_of] if dialect.form_of else dialect
        return (await self._cards.believed(Found(card, written_in, voice.interface.url, voice.content(body)))).card

    async def tell(self, operation: Operation, request: WireModel) -> None:
        """Ask for something to be done that has no answer."""
        await self._asked(operation, request, None)

    async def task(self, task_id: str) -> Task:
        """Read a task as it is now."""
        return await self.call(GET_TASK, GetTaskRequest(id=task_id), Task)

    async def pause(self, failures: int) -> bool:
        """Wait before the next attempt; say whether there is to be one."""
        wait = self._courier.wait(failures)
        if wait is None:
            return False
        await self._options.clock.sleep(wait)
        return True

    def may_repeat(self, operation: Operation, failure: Exception, key: str | None = None) -> bool:
        """Say whether it is safe to ask again after a failure."""
        return is_repeatable(self._safety(operation, key), failure)

    def _safety(self, operation: Operation, key: str | None) -> Safety:
        """Trust in a key only where the agent is known to heed it: to others, a repeated message is another one."""
        keyed = self._options.retries.keyed
        if keyed is None:
            keyed = self._found is not None and is_promised(self._found.card)
        return safety_of(operation, key if keyed else None)

    async def frames(self, operation: Operation, request: WireModel, cursor: str | None, key: str | None = None) -> AsyncGenerator[ServerEvent, None]:
        """Ask for a stream and give its frames; an agent that does not stream gives the one answer that it has."""
        voice = await self.voice()
        if operation is SEND_STREAMING_MESSAGE and self._found and not self._found.card.capabilities.streaming:
            operation = SEND_MESSAGE
        if operation is SEND_MESSAGE:
            yield ServerEvent(MESSAGE, await self._answer(voice, operation, request, key), None)
            return
        further = {"last-event-id": cursor} if cursor else {}
        headers = self._headers(voice, request, key) | {"accept": _EVENTS, "cache-control": "no-store"} | further
        async with self._courier.open(self._say(voice, operation, request), headers) as response:
            if not response.is_success or not response.headers.get("content-type", "").lower().startswith(_EVENTS):
                yield await self._alone(voice, operation, response)
                return
            parser = EventParser(self._options.limits.event)
            async with aclosing(self._courier.chunks(response)) as chunks:
                async for chunk in chunks:
                    for event in parser.feed(chunk):
                        if event.data:
                            yield event

    async def event(self, operation: Operation, frame: ServerEvent) -> StreamResponse:
        """Read a frame, or raise the error that it tells of."""
        voice = await self.voice()
        if frame.name == _ERROR:
            raise voice.refusal(operation, HTTPStatus.OK, frame.data)
        heard = voice.hear(operation, frame.data)
        if not isinstance(heard, StreamResponse):
            raise UnreadableAnswerError(f"An event of {operation.name} is empty")
        return heard

    async def _asked(self, operation: Operation, request: WireModel, key: str | None) -> WireModel | None:
        voice = await self.voice()
        return voice.hear(operation, await self._answer(voice, operation, request, key))

    async def _answer(self, voice: Voice, operation: Operation, request: WireModel, key: str | None) -> bytes:
        question = self._say(voice, operation, request)
        headers = self._headers(voice, request, key) | {"accept": ", ".join(voice.interface.dialect.media_types)}
        reply = await self._courier.fetch(question, self._safety(operation, key), headers, limit=self._options.limits.answer)
        if not reply.is_good:
            raise voice.refusal(operation, reply.status, reply.body)
        return reply.body

    async def _alone(self, voice: Voice, operation: Operation, response: httpx.Response) -> ServerEvent:
        """Take an answer that is no stream: an error, or the one event that there is."""
        body = await self._courier.body(response, self._options.limits.answer)
        if not response.is_success:
            raise voice.refusal(operation, response.status_code, body)
        return ServerEvent(MESSAGE, body, None)

    def _say(self, voice: Voice, operation: Operation, request: WireModel) -> Question:
        """Say a request, unless no agent would take it."""
        dialect, tenant = voice.interface.dialect, self._options.tenant or voice.interface.tenant
        if tenant and not any(_TENANT in prefix for prefix in dialect.http_prefixes):
            raise UnsupportedOperationError(f"{dialect.title} has no tenants, so that {tenant!r} would be left out; pin 1.0, or name no tenant")
        if tenant and "tenant" in type(request).model_fields and "tenant" not in request.model_fields_set:
            request = request.model_copy(update={"tenant": tenant})
        canonical = METHODS[CANONICAL.name][operation.calls[CANONICAL.name].method or ""]
        try:
            canonical.take(request)
        except ValidationError as error:
            raise InvalidParamsError(fields=places(error)) from error
        return voice.ask(operation, request)

    def _check_host(self, url: str) -> None:
        """Refuse to tell our secrets to whoever the card names: it says where the agent is, not who may know us."""
        host = urlsplit(url).hostname or ""
        if self._courier.shows_secrets and host not in (self._cards.host, *self._options.hosts):
            raise ForeignHostError(
                f"The card of {self._cards.host} leads to {host}, which would be told what proves who we are; "
                f"if that is the agent's, say so: ClientOptions(hosts=({host!r},))"
            )

    def _headers(self, voice: Voice, request: WireModel, key: str | None) -> dict[str, str]:
        """Say what stands beside a request, under every name that it has: an agent may know only one of them."""
        said = dict(self._options.headers)
        if version := voice.interface.dialect.version:
            said.update(dict.fromkeys(VERSION.headers, version))
        used = (request.message.extensions or ()) if isinstance(request, SendMessageRequest) else ()
        if wanted := dict.fromkeys((*self._options.extensions, *used)):
            said.update(dict.fromkeys(EXTENSIONS.headers, ", ".join(wanted)))
        if key:
            said["idempotency-key"] = key
        return said


class KeyedLine:
    """A line on which a stream is asked for with a key."""

    def __init__(self, line: AgentLine, key: str) -> None:
        self._line, self._key = line, key
        self.event, self.task, self.pause = line.event, line.task, line.pause

    def frames(self, operation: Operation, request: WireModel, cursor: str | None) -> AsyncGenerator[ServerEvent, None]:
        """Ask for a stream, with the key if safety depends on it."""
        key = self._key if safety_of(operation, self._key) is Safety.KEYED else None
        return self._line.frames(operation, request, cursor, key)

    def may_repeat(self, operation: Operation, failure: Exception) -> bool:
        """Say whether it is safe to ask again with the key."""
        return self._line.may_repeat(operation, failure, self._key)
