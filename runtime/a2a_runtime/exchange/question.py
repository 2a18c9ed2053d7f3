"""What a request says beside its body: service parameters and media types, each in a header or, where that is the protocol's, in the query.

A question also remembers how far it was understood (its dialect, the id of its call): the shape of an error depends on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl

from litestar.types import HTTPScope

from a2a_contract.calls import NO_ID, CallId
from a2a_contract.dialects import DIALECTS, EXTENSIONS, VERSION, Parameter
from a2a_contract.errors import ContentTypeNotSupportedError
from a2a_runtime.exchange.dialect import Spoken, plain_version
from a2a_runtime.exchange.reply import JSON
from a2a_runtime.execution.reading import CURSOR
from a2a_runtime.service.call import BindingKind

_CONTENT_TYPE, _ACCEPT = b"content-type", b"accept"

LAST_EVENT_ID = Parameter((CURSOR,), "The number of the last event that was seen: the stream goes on after it.")
IDEMPOTENCY_KEY = Parameter(("Idempotency-Key",), "A message that comes again under the same key is taken once.")


def _spelled(parameter: Parameter) -> tuple[tuple[bytes, str], ...]:
    return tuple((header.lower().encode(), header.lower()) for header in parameter.headers)


_VERSIONS, _EXTENSIONS = _spelled(VERSION), _spelled(EXTENSIONS)
((_LAST_EVENT_ID, _),), ((_IDEMPOTENCY_KEY, _),) = _spelled(LAST_EVENT_ID), _spelled(IDEMPOTENCY_KEY)
_VERSION_HEADERS = tuple(header for header, _ in _VERSIONS)
_RARE = frozenset((_LAST_EVENT_ID, _IDEMPOTENCY_KEY, *(header for header, _ in _EXTENSIONS)))


class Question:
    """A request, as far as it has been read."""

    __slots__ = (
        "binding",
        "call_id",
        "caller",
        "dialect",
        "echo",
        "extensions",
        "has_room",
        "headers",
        "idempotency_key",
        "is_answered",
        "last_event_id",
        "scope",
        "version",
    )

    def __init__(self, scope: HTTPScope, binding: BindingKind, dialect: str) -> None:
        self.scope, self.binding, self.dialect = scope, binding, dialect
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.call_id: CallId = NO_ID
        self.caller = ""
        """To whom the tasks of the sender belong, once they were let in."""
        self.is_answered = False
        self.has_room = False
        """Whether it takes up some of the room of its surface."""
        self.version = self._version()
        self.extensions: tuple[str, ...] = ()
        self.echo = b""
        """The header in which the client has named extensions, and is told which are in effect."""
        self.last_event_id: str | None = None
        self.idempotency_key: str | None = None
        if scope["query_string"] or not _RARE.isdisjoint(self.headers):
            self._read_parameters()

    def check_media_type(self, taken: frozenset[bytes]) -> None:
        """Refuse a body that says that it is something else; one that says nothing is tried."""
        said = self.headers.get(_CONTENT_TYPE)
        if said is None or said in taken:
            return
        if said.partition(b";")[0].strip().lower() not in taken:
            names = ", ".join(sorted(each.decode() for each in taken))
            raise ContentTypeNotSupportedError(f"The media type of a request is one of {names}")

    def media_type(self) -> bytes:
        """Say what an answer is: plain JSON, unless a client of HTTP+JSON shows that it knows the dialect's own media type."""
        if self.binding is BindingKind.JSONRPC:
            return JSON
        usual, *others = DIALECTS[self.dialect].media_types
        shown = self.headers.get(_ACCEPT, b"") + b"," + self.headers.get(_CONTENT_TYPE, b"")
        return next((each.encode() for each in others if each.encode() in shown), usual.encode())

    def understand(self, spoken: Spoken) -> None:
        """Take the version for what it says about the dialect, until more is known."""
        self.dialect = spoken.in_doubt(self.version)

    def _version(self) -> str | None:
        """Read the one parameter that nearly every request has, in a header, where that is."""
        for header in _VERSION_HEADERS:
            if header in self.headers:
                return _version_of(self.headers[header])
        return None

    def _read_parameters(self) -> None:
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(self.scope["query_string"].decode("latin-1")):  # whose case does not matter, as that of headers
            query.setdefault(name.lower(), []).append(value)
        if self.version is None:
            self.version = plain_version(next((text for _, text in self._said(_VERSIONS, query)), None))
        extensions = tuple(self._said(_EXTENSIONS, query))
        if extensions:
            self.echo = extensions[0][0]
            named = [uri.strip() for _, text in extensions for uri in text.split(",")]
            self.extensions = tuple(dict.fromkeys(filter(None, named)))
        self.last_event_id = self._text(_LAST_EVENT_ID)
        self.idempotency_key = self._text(_IDEMPOTENCY_KEY)

    def _said(self, spellings: tuple[tuple[bytes, str], ...], query: Mapping[str, list[str]]) -> Iterator[tuple[bytes, str]]:
        """Give everything that is said under some names, headers before the query."""
        for header, _ in spellings:
            if header in self.headers:
                yield from ((header, value.decode("latin-1")) for name, value in self.scope["headers"] if name == header)
        for header, name in spellings:
            yield from ((header, value) for value in query.get(name, ()))

    def _text(self, header: bytes) -> str | None:
        value = self.headers.get(header)
        return value.decode("latin-1") if value else None


@lru_cache(maxsize=64)  # there are two versions, and whatever else somebody may try
def _version_of(value: bytes) -> str | None:
    return plain_version(value.decode("latin-1"))
