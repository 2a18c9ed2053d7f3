"""Browsers: whose pages may call the agent, and that it is reached over TLS only. Only its own, and nothing, unless the operator says so.

A2A_CORS_ORIGINS=https://app.example,https://admin.example
A2A_HSTS_SECONDS=31536000                                                seconds, when everything before the agent speaks TLS
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from urllib.parse import urlsplit

from litestar import Litestar
from litestar.config.cors import CORSConfig
from litestar.routes import ASGIRoute
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from a2a_contract.dialects import EXTENSIONS, VERSION
from a2a_contract.errors import PermissionDeniedError
from a2a_runtime.http.asgi import IDEMPOTENCY_KEY, LAST_EVENT_ID
from a2a_runtime.settings import PREFIX, Settings
from a2a_runtime.surface import Surface

log = logging.getLogger(__name__)

_ANY = "*"
_ORIGIN, _SITE, _HOST = b"origin", b"sec-fetch-site", b"host"
_OWN_SITES = frozenset((b"same-origin", b"none"))
_SENT = ("Authorization", "Content-Type", *IDEMPOTENCY_KEY.headers, *LAST_EVENT_ID.headers, "X-API-Key", *VERSION.headers, *EXTENSIONS.headers)
_SHOWN = ["ETag", "Retry-After", "WWW-Authenticate", *EXTENSIONS.headers]


def build_cors_config(settings: Settings) -> CORSConfig | None:
    """Say whose pages may call, if any."""
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    if not origins:
        return None
    if _ANY in origins:
        log.warning("every page on the web may call this agent in the name of its readers; name the pages in %sCORS_ORIGINS", PREFIX)
    # Credentials of a browser (cookies) are never allowed: an agent is called with tokens, which no foreign page has.
    return CORSConfig(allow_origins=origins, allow_headers=list(_SENT), expose_headers=_SHOWN, allow_methods=["GET", "POST", "DELETE", "OPTIONS"])


class OriginPolicy:
    """Those whose scripts may do something at a surface.

    A browser sends what a page of anybody tells it to, with the cookies of its reader and from within their network; that the page does not get to
    read the answer undoes nothing. But it says where the page is from. Whoever says nothing of that is no browser.
    """

    def __init__(self, surface: Surface, cors: CORSConfig | None = None) -> None:
        self._cors = cors
        self._hosts = frozenset(urlsplit(url).netloc.encode() for url in (surface.public_url, surface.agent.url) if url)

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse what the page of somebody else has a browser send."""
        origin, site = headers.get(_ORIGIN), headers.get(_SITE)
        if origin is None and site is None:
            return
        if origin is not None and self._cors is not None and self._cors.is_origin_allowed(origin.decode("latin-1")):
            return
        # Not all browsers say the site, and none over plain HTTP to another machine.
        if not (self._is_own(origin or b"", headers) if site is None else site in _OWN_SITES):
            raise PermissionDeniedError(f"Pages of other origins may not call this agent; {PREFIX}CORS_ORIGINS names those that may")

    def _is_own(self, origin: bytes, headers: Mapping[bytes, bytes]) -> bool:
        host = origin.partition(b"://")[2]
        return host in self._hosts or (host != b"" and host == headers.get(_HOST))


class HstsMiddleware:
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


# A short way to the routes that most requests are for: those of plain ASGI apps, of which the framework knows nothing but their paths.
#
# On its own way Litestar looks a path up, copies the scope, keeps a state for it and stands ready to turn exceptions into answers. The endpoints and
# cards of surfaces have a use for none of that: it was an eighth of what a message costs in the process.
#

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Litestar's own types leave open what a route handler calls.


class ExactPathRouter:
    """Stands before the router of an app whose routes nothing else stands before: no middleware, no guards."""

    def __init__(self, app: Litestar) -> None:
        self._router = app.asgi_handler
        self._plain: dict[str, ASGIApp] = {each.path: each.route_handler.fn for each in app.routes if isinstance(each, ASGIRoute)}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request to the route of its very path, or to the router, which also knows its other spellings."""
        route = None if scope.get("root_path") else self._plain.get(scope["path"])
        return (route or self._router)(scope, receive, send)
