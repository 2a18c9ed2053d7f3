"""Bounds of what callers of an MCP server keep open: sessions of the older protocol, and streams,
with the limit of streams of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import uuid4

from a2a_contract.errors import RateLimitedError
from a2a_runtime.base.caller import Caller
from a2a_runtime.http.admission import CallerStreams, rate_limit_key
from a2a_runtime.http.asgi import HttpRequest

SESSION_HEADER = b"mcp-session-id"
_LISTEN = b"subscriptions/listen"


class CallerSessions:
    """Open sessions of each caller."""

    def __init__(self, streams: CallerStreams) -> None:
        self._streams = streams
        self._sessions: dict[str, set[str]] = {}
        """The ids of sessions, by caller; a session that is being opened has an id of this class
        until the server has given one.
        """
        self._opening: set[str] = set()

    @contextmanager
    def hold(
        self, request: HttpRequest, caller: Caller, body: bytes, sessions: Container[str]
    ) -> Generator[Callable[[Any], None], None, None]:
        """Count a request while it is answered, and the session that it opens; yield the observer
        of its response.

        ``sessions`` are those that the server has: it ends them when they idle.
        """
        key = rate_limit_key(request, caller)
        is_stream = request.scope["method"] == "GET" or _LISTEN in body
        with self._streams.hold(key) if is_stream else nullcontext():
            if is_stream or SESSION_HEADER in request.headers:
                yield _ignore
                return
            place = self._take_place(key, sessions)
            try:
                yield lambda message: self._note(key, place, message)
            finally:
                self._release_place(key, place)

    def _take_place(self, key: str, sessions: Container[str]) -> str:
        """Take the place of a session that may be opened, within the limit."""
        own = {
            each
            for each in self._sessions.get(key, ())
            if each in sessions or each in self._opening
        }
        limit = self._streams.limit
        if len(own) >= limit:
            raise RateLimitedError(f"There are {limit} open sessions of this caller; end one")
        place = uuid4().hex
        self._opening.add(place)
        self._sessions[key] = own | {place}
        return place

    def _note(self, key: str, place: str, message: Any) -> None:  # noqa: ANN401 - of ASGI
        """Note the session that a response opens, in the place that was taken for it."""
        if message["type"] != "http.response.start":
            return
        for name, value in message["headers"]:
            if name.lower() == SESSION_HEADER:
                self._sessions.setdefault(key, set()).add(value.decode("latin-1"))
                self._release_place(key, place)

    def _release_place(self, key: str, place: str) -> None:
        self._opening.discard(place)
        own = self._sessions.get(key, set[str]())
        own.discard(place)
        if not own:
            self._sessions.pop(key, None)


def _ignore(_message: object) -> None:
    """Observe nothing: the response opens no session."""
