"""A heart: tells a registry that this app is here for as long as it is, and says goodbye.

What it announces is looked at anew before every beat, so that surfaces that come or go are known soon. It says once that a registry is away, and once
that it is back; between these it only tries.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import random
from types import TracebackType
from typing import NamedTuple, Self, TypedDict, Unpack
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from a2a_contract.mesh import AgentRegistration, RegistrationResponse, RegistrationStatus
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.heartbeat.registration import NAMES, Identity, Membership, Presence, announce, identify, own_host
from a2a_runtime.heartbeat.schedule import Beat, Heard, Pulse, Rhythm, after

# The registry of a mesh, over HTTP: whatever happens there becomes something that was heard.

_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_GOODBYE = 5.0
_EXCERPT = 200
_LARGEST = 1024 * 1024
_ASKED = {
    HTTPStatus.OK: Heard.KNOWN,
    HTTPStatus.ACCEPTED: Heard.CHANGED,
    HTTPStatus.GONE: Heard.FORGOTTEN,
}


class _Rest(TypedDict, total=False):
    """What else belongs to a request."""

    content: bytes
    headers: Mapping[str, str]
    timeout: float


class Reply(NamedTuple):
    """What was heard, why, and what the registry says about the surfaces."""

    heard: Heard
    reason: str = ""
    response: RegistrationResponse | None = None


class Registry:
    """Talks to a registry. It is a neighbour: no proxy is asked for it."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, transport=transport, trust_env=False, headers={"accept-encoding": "identity"})

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def register(self, announcement: AgentRegistration) -> Reply:
        """Announce an agent, for the first time or again; a refusal comes with HTTP status 200 too."""
        try:
            answer = await self._answer("POST", "/heartbeat", content=announcement.to_json(), headers={"content-type": "application/json"})
        except httpx.HTTPError as error:
            return Reply(Heard.TROUBLE, _words(error))
        if answer.status_code != HTTPStatus.OK:
            return Reply(Heard.REFUSED if answer.is_client_error else Heard.TROUBLE, f"HTTP status {answer.status_code}: {answer.text[:_EXCERPT]}")
        try:
            response = RegistrationResponse.model_validate_json(answer.content)
        except ValidationError:
            return Reply(Heard.TROUBLE, f"the answer is not one of a registry: {answer.text[:_EXCERPT]}")
        if response.status is RegistrationStatus.ERROR:
            return Reply(Heard.REFUSED, response.message[:_EXCERPT])
        return Reply(Heard.TAKEN, response=response)

    async def ask(self, agent_id: str) -> Reply:
        """Ask whether an agent is known, which keeps it so."""
        try:
            answer = await self._answer("HEAD", f"/heartbeat/{quote(agent_id, safe='')}")
        except httpx.HTTPError as error:
            return Reply(Heard.TROUBLE, _words(error))
        status = answer.status_code
        return Reply(_ASKED.get(HTTPStatus(status), Heard.TROUBLE) if status in _STATUSES else Heard.TROUBLE, f"HTTP status {status}")

    async def leave(self, agent_id: str) -> str:
        """Say goodbye; why it could not be said, if it could not."""
        try:
            answer = await self._answer("DELETE", f"/agents/{quote(agent_id, safe='')}", timeout=_GOODBYE)
        except httpx.HTTPError as error:
            return _words(error)
        return "" if answer.is_success else f"HTTP status {answer.status_code}"

    async def _answer(self, method: str, path: str, **rest: Unpack[_Rest]) -> httpx.Response:
        """Ask, and read an answer of moderate size as it is; nothing is unpacked."""
        async with self._client.stream(method, f"{self.url}{path}", **rest) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise httpx.DecodingError("the answer is packed, which was not asked for")
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    raise httpx.DecodingError("the answer is too large")
            return httpx.Response(answer.status_code, content=bytes(body))


_STATUSES = frozenset(int(status) for status in HTTPStatus)


def _words(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__


log = logging.getLogger(__name__)

_WELL = frozenset((Heard.TAKEN, Heard.KNOWN, Heard.CHANGED))
_ILL = frozenset((Heard.TROUBLE, Heard.REFUSED))


class Heart:
    """Beats while it is open."""

    def __init__(self, registry: Registry, identity: Identity, membership: Membership, presence: Presence, clock: Clock) -> None:
        self._registry, self._identity, self._membership, self._presence, self._clock = registry, identity, membership, presence, clock
        self._rhythm = Rhythm(membership.health_interval)
        self._taken: AgentRegistration | None = None
        self._had_some = False
        self._last: Heard | None = None
        self._is_told = False

    async def __aenter__(self) -> Self:
        await self._registry.__aenter__()
        self._beating = asyncio.create_task(self._beat_on())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)
        if self._taken is not None:
            reason = await self._registry.leave(self._identity.agent_id)
            if reason:
                log.info("could not say goodbye to the registry at %s: %s", self._registry.url, reason)
        await self._registry.__aexit__(kind, error, trace)

    @property
    def is_known(self) -> bool:
        """Whether the registry knows the app, as far as was heard last."""
        return self._last in _WELL

    async def _beat_on(self) -> None:
        pulse, wait = Pulse(), 0.0
        while True:
            await self._clock.sleep(wait)
            wait = self._rhythm.interval
            if await self._membership.is_well():
                pulse, wait = after(pulse, await self._beat(pulse), self._rhythm, random())  # noqa: S311 - no secret hangs on it

    async def _beat(self, pulse: Pulse) -> Heard:
        try:
            announcement = announce(self._identity, self._presence, self._membership.tools, had_some=self._had_some)
            if pulse.beat is Beat.ASK and announcement == self._taken:
                reply = await self._registry.ask(self._identity.agent_id)
            else:
                reply = await self._registry.register(announcement)
                if reply.heard is Heard.TAKEN:
                    self._take(announcement, reply)
        except Exception as error:  # the edge of a background task: a heart that stops would take the agent from the mesh
            log.exception("a heartbeat failed")
            reply = Reply(Heard.TROUBLE, str(error))
        self._tell(reply)
        return reply.heard

    def _take(self, announcement: AgentRegistration, reply: Reply) -> None:
        self._taken = announcement
        self._had_some = self._had_some or bool(announcement.surfaces)
        if reply.response is None:
            return
        for each in reply.response.surfaces or ():
            self._presence.addresses.learn(each.path.removeprefix(self._presence.prefix), each.skill_id, each.public_url)
        for warning in reply.response.warnings or ():
            log.warning("the registry at %s: %s", self._registry.url, warning)

    def _tell(self, reply: Reply) -> None:
        """Log that the registry has come, gone or changed its mind; not what is as it was."""
        was_well, self._last = self._last in _WELL, reply.heard
        if reply.heard is Heard.TAKEN and not was_well:
            log.info("the registry at %s knows this agent as %s", self._registry.url, self._identity.agent_id)
        elif reply.heard in _ILL and not self._is_told:
            kind = "refuses this agent" if reply.heard is Heard.REFUSED else "is not there"
            log.warning("the registry at %s %s: %s; the agent serves all the same, and tries again", self._registry.url, kind, reply.reason)
        self._is_told = reply.heard in _ILL


@asynccontextmanager
async def joined(membership: Membership, presence: Presence, clock: Clock | None = None) -> AsyncGenerator[Heart | None, None]:
    """Take part in a mesh, if there is one and something to announce."""
    surfaces = presence.announced()
    if not surfaces or membership.standalone or not membership.registry_url:
        if surfaces:
            log.info("no registry is told of this agent; name one with %s", NAMES["registry_url"][0])
        yield None
        return
    host = membership.http_host or await own_host(membership.registry_url)
    identity = identify(surfaces[0].agent, membership, host)
    async with Heart(Registry(membership.registry_url), identity, membership, presence, clock or SystemClock()) as heart:
        yield heart
