"""Records of requests and responses as they are on the wire, with secrets masked.

A recorder is a pair of hooks of one ``httpx.AsyncClient``: it sees each request after its
credentials were added, and redirects, over HTTP and over gRPC (whose messages are shown as the JSON
that they are made of). A body is kept up to a limit.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from urllib.parse import quote

import httpx

from a2a_runtime.client.grpc import PLAIN, TLS

_numbers = count(1)
"""Numbers of exchanges, of the process."""

MASK = "•••"
_MAX_BODY_BYTES = 262_144
_MIN_SECRET_CHARACTERS = 4
"""A shorter value would mask parts of words."""
_SECRET_HEADER = re.compile(
    r"authorization|cookie|token|secret|api-?key|password|credential|signature", re.IGNORECASE
)
_SECRET_MEMBER = re.compile(
    r'("(?:access_?token|refresh_?token|id_?token|client_?secret|password|credentials|token'
    r'|code_?verifier)"\s*:\s*")(?:[^"\\]|\\.)*"',
    re.IGNORECASE,
)
_SECRET_FIELD = re.compile(
    r"((?:^|[?&])(?:code|code_verifier|client_secret|access_token|refresh_token|token|password"
    r"|key|api_?key)=)[^&\s]*",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(Basic|Bearer|Digest|DPoP) ", re.IGNORECASE)


class Masker:
    """Replaces secrets: values that are known, headers and members whose names say so."""

    def __init__(self, secrets: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        values = sorted(
            {each for each in secrets if len(each) >= _MIN_SECRET_CHARACTERS}, key=len, reverse=True
        )
        spellings: list[str] = []
        for value in values:
            spellings += map(re.escape, dict.fromkeys((value, quote(value, safe=""))))
        self._values = re.compile("|".join(spellings)) if spellings else None
        self._names = frozenset(name.lower() for name in names)

    def mask_text(self, text: str) -> str:
        """Mask what a text or a body shows."""
        known = text if self._values is None else self._values.sub(MASK, text)
        return _SECRET_MEMBER.sub(rf'\g<1>{MASK}"', known)

    def mask_url(self, url: str) -> str:
        """Mask values of query parameters."""
        parts = httpx.URL(url)
        for name in {name for name in parts.params if name.lower() in self._names}:
            parts = parts.copy_set_param(name, MASK)
        return _SECRET_FIELD.sub(rf"\g<1>{MASK}", self.mask_text(str(parts)))

    def mask_form(self, body: str) -> str:
        """Mask the fields of a form."""
        return _SECRET_FIELD.sub(rf"\g<1>{MASK}", self.mask_text(body))

    def mask_header(self, name: str, value: str) -> str:
        """Mask the value of a header; the scheme of credentials is kept."""
        if name.lower() not in self._names and not _SECRET_HEADER.search(name):
            return self.mask_text(value)
        scheme = _SCHEME.match(value)
        return scheme.group() + MASK if scheme else MASK


@dataclass(slots=True)
class Exchange:
    """One request with its response, as far as it has come."""

    id: str
    method: str
    url: str
    request_headers: Sequence[tuple[str, str]]
    request_body: str
    protocol: str
    started_at: str
    status: int | None = None
    response_headers: Sequence[tuple[str, str]] = ()
    response_body: str = ""
    is_truncated: bool = False
    error: str = ""
    milliseconds: float | None = None
    started: float = field(default_factory=time.monotonic, repr=False)

    def finish(self) -> None:
        """Note the time."""
        self.milliseconds = round((time.monotonic() - self.started) * 1000, 1)

    def to_dict(self) -> dict[str, object]:
        """Return the members as JSON."""
        return {
            "id": self.id,
            "method": self.method,
            "url": self.url,
            "requestHeaders": [[*each] for each in self.request_headers],
            "requestBody": self.request_body,
            "status": self.status,
            "responseHeaders": [[*each] for each in self.response_headers],
            "responseBody": self.response_body,
            "truncated": self.is_truncated,
            "error": self.error,
            "startedAt": self.started_at,
            "milliseconds": self.milliseconds,
            "protocol": self.protocol,
        }


class WireRecorder:
    """Exchanges of one request of the page, in their order."""

    def __init__(
        self, masker: Masker, on_response: Callable[[Exchange], Awaitable[None]] | None = None
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.masker = masker
        self.on_response = on_response

    @property
    def hooks(self) -> dict[str, list[Callable[..., Awaitable[None]]]]:
        """The hooks for ``httpx.AsyncClient(event_hooks=…)``."""
        return {"request": [self._record_request], "response": [self._record_response]}

    def to_list(self) -> list[dict[str, object]]:
        """Return all exchanges as JSON."""
        return [each.to_dict() for each in self.exchanges]

    def clear(self) -> None:
        """Forget what was recorded: it belongs to another step."""
        self.exchanges.clear()

    def note_failure(self, error: Exception) -> None:
        """Note why the last request has no response, or only a part of it."""
        if self.exchanges and self.exchanges[-1].status is None:
            self.exchanges[-1].error = self.masker.mask_text(str(error))
            self.exchanges[-1].finish()

    async def _record_request(self, request: httpx.Request) -> None:
        masker = self.masker
        body = await request.aread()
        text, is_truncated = _to_text(body)
        is_form = request.headers.get("content-type", "").startswith(
            "application/x-www-form-urlencoded"
        )
        masked = masker.mask_form(text) if is_form else masker.mask_text(text)
        exchange = Exchange(
            id=str(next(_numbers)),
            method=request.method,
            url=masker.mask_url(str(request.url)),
            request_headers=[
                (name, masker.mask_header(name, value))
                for name, value in request.headers.multi_items()
            ],
            request_body=masked,
            protocol="grpc" if request.url.scheme in (PLAIN, TLS) else "http",
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            is_truncated=is_truncated,
        )
        self.exchanges.append(exchange)
        request.extensions = {**request.extensions, "exchange": exchange}

    async def _record_response(self, response: httpx.Response) -> None:
        exchange = response.request.extensions.get("exchange")
        if not isinstance(exchange, Exchange):
            return
        exchange.status = response.status_code
        exchange.response_headers = [
            (name, self.masker.mask_header(name, value))
            for name, value in response.headers.multi_items()
        ]
        exchange.finish()
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _RecordedStream(response.stream, exchange, self.masker)
        if self.on_response is not None:
            await self.on_response(exchange)


class _RecordedStream(httpx.AsyncByteStream):
    """A body that is kept while it is read."""

    def __init__(self, inner: httpx.AsyncByteStream, exchange: Exchange, masker: Masker) -> None:
        self._inner = inner
        self._exchange = exchange
        self._masker = masker
        self._kept = bytearray()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._kept += chunk[: _MAX_BODY_BYTES + 1 - len(self._kept)]
            yield chunk

    async def aclose(self) -> None:
        """Keep what was read, and close the body."""
        text, is_truncated = _to_text(bytes(self._kept))
        encoding = {name.lower(): value for name, value in self._exchange.response_headers}.get(
            "content-encoding"
        )
        if encoding:
            self._exchange.response_body = f"({len(self._kept)} bytes, {encoding})"
        else:
            self._exchange.response_body = self._masker.mask_text(text)
        self._exchange.is_truncated = self._exchange.is_truncated or is_truncated
        self._exchange.finish()
        await self._inner.aclose()


def _to_text(body: bytes) -> tuple[str, bool]:
    is_truncated = len(body) > _MAX_BODY_BYTES
    return body[:_MAX_BODY_BYTES].decode("utf-8", "replace"), is_truncated
