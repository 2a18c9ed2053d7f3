"""Around the router: CORS, the origin policy of browsers, and HSTS.

By default a browser may call an agent from its own pages only, and over plain HTTP too:

    A2A_CORS_ORIGINS=https://app.example,https://admin.example
    A2A_ALLOWED_HOSTS=agent.example    the names under which browsers reach the agent,
                                       besides the name in its URL
    A2A_HSTS_SECONDS=31536000          when everything in front of the agent uses TLS
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from litestar.config.cors import CORSConfig
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from a2a_contract.dialects import EXTENSIONS, REQUEST_ID, TRACE_PARENT, TRACE_STATE, VERSION
from a2a_contract.errors import PermissionDeniedError
from a2a_runtime.http.asgi import IDEMPOTENCY_KEY, LAST_EVENT_ID
from a2a_runtime.settings import PREFIX, Settings
from a2a_runtime.surface import Surface

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Litestar's own types leave open what a route handler calls.

log = logging.getLogger(__name__)

_SAME_ORIGIN_SITES = frozenset((b"same-origin", b"none"))
_ADDRESS = re.compile(r"([0-9.]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?")
_BROWSER = b"Mozilla/"
"""The beginning of every browser's ``User-Agent``."""
_REQUEST_HEADERS = (
    *(
        "Authorization",
        "Content-Type",
        *IDEMPOTENCY_KEY.headers,
        *LAST_EVENT_ID.headers,
        "X-API-Key",
    ),
    *(
        *VERSION.headers,
        *EXTENSIONS.headers,
        *REQUEST_ID.headers,
        *TRACE_PARENT.headers,
        *TRACE_STATE.headers,
    ),
)
_RESPONSE_HEADERS = ("ETag", "Retry-After", "WWW-Authenticate", *EXTENSIONS.headers)


def build_cors_config(settings: Settings) -> CORSConfig | None:
    """Build the CORS config for the origins in the settings, if there are any."""
    if not settings.cors_origins:
        return None
    if "*" in settings.cors_origins:
        log.warning(
            "CORS: every web page may call this agent; list the allowed origins in %sCORS_ORIGINS",
            PREFIX,
        )
    # Credentials of the browser (cookies) are never allowed: clients send tokens, which a foreign
    # page does not have.
    return CORSConfig(
        allow_origins=list(settings.cors_origins),
        allow_headers=list(_REQUEST_HEADERS),
        expose_headers=list(_RESPONSE_HEADERS),
        allow_methods=["GET", "POST", "DELETE", "OPTIONS"],
    )


class OriginPolicy:
    """Refuses requests that a page of another origin makes a browser send: writes, and everything
    under a name that is not the agent's.

    A browser sends such requests with the cookies of its user and from inside of their network;
    that the page cannot read the response does not undo writes. But browsers name the origin of the
    page. A request that names none does not come from a browser.

    A page can make its own name lead to the agent (DNS rebinding); its requests are then of the
    same origin, and it reads the responses. So the host must be one of the agent's: that of its
    URL, one in the settings, this machine, or an address, which no name server can redirect.
    """

    def __init__(
        self, surface: Surface, cors: CORSConfig | None = None, allowed_hosts: Iterable[str] = ()
    ) -> None:
        self._cors = cors
        urls = [urlsplit(url) for url in (surface.public_url, surface.agent.url) if url]
        self._hosts = frozenset(url.netloc.encode() for url in urls)
        self._names = frozenset(
            (
                "localhost",
                *(url.hostname or "" for url in urls),
                *(host.lower() for host in allowed_hosts),
            )
        )

    def check(self, headers: Mapping[bytes, bytes], *, is_write: bool) -> None:
        """Refuse a request from a page of an origin that is not allowed."""
        is_marked = b"origin" in headers or b"sec-fetch-site" in headers
        if not is_marked and not _is_browser(headers):
            return
        origin = headers.get(b"origin")
        site = headers.get(b"sec-fetch-site")
        if (
            origin is not None
            and self._cors is not None
            and self._cors.is_origin_allowed(origin.decode("latin-1"))
        ):
            return
        # Old browsers send no Sec-Fetch-Site, and no browser does over plain HTTP to another
        # machine.
        if site is None:
            is_same_origin = self._is_same_origin(origin or b"", headers)
        else:
            is_same_origin = site in _SAME_ORIGIN_SITES
        if is_write and is_marked and not is_same_origin:
            raise PermissionDeniedError(
                f"Pages of other origins may not call this agent; {PREFIX}CORS_ORIGINS names "
                "those that may"
            )
        if not self._is_own_host(headers.get(b"host", b"").decode("latin-1")):
            raise PermissionDeniedError(
                f"Browsers may not call this agent at this host; {PREFIX}ALLOWED_HOSTS names "
                "those of the agent"
            )

    def _is_own_host(self, host: str) -> bool:
        name = host.lower().partition(":")[0]
        return (
            name in self._names
            or name.endswith(".localhost")
            or _ADDRESS.fullmatch(host) is not None
        )

    def _is_same_origin(self, origin: bytes, headers: Mapping[bytes, bytes]) -> bool:
        host = origin.partition(b"://")[2]
        return host in self._hosts or (host != b"" and host == headers.get(b"host"))


def _is_browser(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a request without marks may be that of a browser: of a page that reads over
    plain HTTP from its own origin.

    Such a page may change ``User-Agent`` in some browsers, but no page can leave
    ``Accept-Language`` out. Of other clients, Node.js sends it too, with ``Sec-Fetch-Mode``, which
    no page can set, and which browsers send with ``Sec-Fetch-Site`` only.
    """
    if b"user-agent" in headers and headers[b"user-agent"].startswith(_BROWSER):
        return True
    return b"referer" in headers or (
        b"accept-language" in headers and b"sec-fetch-mode" not in headers
    )


class HstsMiddleware:
    """Adds ``Strict-Transport-Security`` to every response of an app."""

    def __init__(self, app: ASGIApp, seconds: int) -> None:
        self._app, self._header = (
            app,
            (b"strict-transport-security", f"max-age={seconds}; includeSubDomains".encode()),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app."""

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], self._header]
            await send(message)

        await self._app(scope, receive, send_with_header)
