"""What browsers are told: whose pages may call the agent, and that it is reached over TLS only. Nothing, unless the operator says so.

A2A_CORS_ORIGINS=https://app.example,https://admin.example
A2A_HSTS=31536000                                                seconds, when everything before the agent speaks TLS
"""

from __future__ import annotations

import logging

from litestar.config.cors import CORSConfig
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from a2a_contract.dialects import EXTENSIONS, VERSION
from a2a_runtime.settings import PREFIX, Settings

log = logging.getLogger(__name__)

_ANY = "*"
_SENT = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-API-Key", *VERSION.headers, *EXTENSIONS.headers)
_SHOWN = ["ETag", "Retry-After", "WWW-Authenticate", *EXTENSIONS.headers]


def cors_of(settings: Settings) -> CORSConfig | None:
    """Say whose pages may call, if any."""
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    if not origins:
        return None
    if _ANY in origins:
        log.warning("every page on the web may call this agent in the name of its readers; name the pages in %sCORS_ORIGINS", PREFIX)
    # Credentials of a browser (cookies) are never allowed: an agent is called with tokens, which no foreign page has.
    return CORSConfig(allow_origins=origins, allow_headers=list(_SENT), expose_headers=_SHOWN, allow_methods=["GET", "POST", "DELETE", "OPTIONS"])


class TransportSecurity:
    """Adds ``Strict-Transport-Security`` to every answer of an app."""

    def __init__(self, app: ASGIApp, seconds: int) -> None:
        self._app, self._header = app, (b"strict-transport-security", f"max-age={seconds}; includeSubDomains".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], self._header]
            await send(message)

        await self._app(scope, receive, sent)
