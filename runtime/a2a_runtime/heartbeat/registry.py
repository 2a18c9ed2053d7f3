"""The registry of a mesh, over HTTP: whatever happens there becomes something that was heard."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import NamedTuple, Self, TypedDict, Unpack
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from a2a_contract.mesh import AgentRegistration, RegistrationResponse, RegistrationStatus
from a2a_runtime.heartbeat.decision import Heard

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
