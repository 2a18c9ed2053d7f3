"""The explorer in an app: its routes, and its agents, which are called in this process.

    GET /explorer, GET /explorer/     free, also of the authentication of a host: by these two
                                      routes, not by a prefix
    /explorer/api/…                   behind the middleware of the host; each call of an agent
                                      passes its gate with the credentials of the visitor

A call runs through the whole app again, with the headers, the address and the certificate of the
visitor's own request, and with the credentials that the visitor has entered. Of these, only what a
security scheme of the agent names is used: no proxy has read them, so they must not stand in for
what a proxy says of its client (``X-Forwarded-…``, certificates, any header that ``caller=``
reads). Nothing leaves the process but the exchange of a code at an issuer that the app's own card
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx
from litestar import route
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, HTTPScope, Receive, Send
from litestar.utils.scope.state import CONNECTION_STATE_KEY

from a2a_contract.controllers.mount import METHODS
from a2a_contract.dialects import MESH
from a2a_contract.errors import A2AError, PermissionDeniedError
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.client.options import ClientOptions, Pin
from a2a_runtime.features.asgi_transport import StreamingAsgiTransport, copy_target
from a2a_runtime.features.explorer.api import ExplorerApi
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.guard import check_token
from a2a_runtime.features.explorer.page import send_page
from a2a_runtime.features.explorer.session import is_same_origin
from a2a_runtime.features.explorer.visitor import (
    CONNECTION_HEADERS,
    CREDENTIALS_HEADER,
    VisitorCredentials,
    split_cookies,
)
from a2a_runtime.http.asgi import HttpRequest, base_url, send_response
from a2a_runtime.http.host_routes import FREE_PAGE
from a2a_runtime.http.middleware import OriginPolicy
from a2a_runtime.service.cards.builder import resolve_url
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.surface import Surface

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the members of its scopes open.

EXPLORER_PATH = "/explorer"
_API = f"{EXPLORER_PATH}/api/"
_ROOT = "~"
"""Id of the agent at the root; that of others is their path."""
_KEPT_BACK = frozenset(
    (
        b"accept",
        b"accept-encoding",
        b"idempotency-key",
        b"if-modified-since",
        b"if-none-match",
        b"last-event-id",
        b"range",
        *(name.encode() for name in CONNECTION_HEADERS),
    )
) - {b"host"}
_KEPT_BACK_PREFIXES = (b"a2a-", b"x-a2a-")
"""Headers of the page's own request, which say nothing of the visitor."""
_COOKIE = b"cookie"
_NOT_PASSED_ON = ("path_params", "path_template", "route_handler", "litestar_app", "app")


def build_explorer_routes(
    get_surfaces: Callable[[], Sequence[Surface]],
    allowed_hosts: Sequence[str],
    get_token: Callable[[], str],
) -> tuple[HTTPRouteHandler, HTTPRouteHandler]:
    """Build the route of the page, and that of the API."""
    directory = MountedDirectory(get_surfaces, allowed_hosts, get_token)
    api = ExplorerApi(directory, max(each.limits.body_bytes for each in get_surfaces()))

    # the scope is of HTTP: the routes are for nothing else
    async def respond_page(scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401
        await _send_page(HttpRequest(scope, receive, send, ProtocolBinding.HTTP))

    async def respond_api(scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401
        await api.handle(
            HttpRequest(scope, receive, send, ProtocolBinding.HTTP),
            scope["path"].rpartition(_API)[2],
        )

    @route(EXPLORER_PATH, http_method=METHODS, include_in_schema=False, opt={FREE_PAGE: True})
    async def explorer_page() -> ASGIApp:
        return respond_page

    @route(f"{EXPLORER_PATH}/api/{{steps:path}}", http_method=METHODS, include_in_schema=False)
    async def explorer_api() -> ASGIApp:
        return respond_api

    return explorer_page, explorer_api


class MountedDirectory:
    """The agents of one app."""

    def __init__(
        self,
        get_surfaces: Callable[[], Sequence[Surface]],
        allowed_hosts: Sequence[str],
        get_token: Callable[[], str],
    ) -> None:
        self._get_surfaces = get_surfaces
        self._allowed_hosts = allowed_hosts
        self._get_token = get_token

    @property
    def mode(self) -> str:
        """The place: that of the command if it has set a token."""
        if self._get_token():
            return "command"
        return "mounted"

    def check(self, request: HttpRequest) -> None:
        """Refuse what does not come from the page of this app."""
        check_token(request, self._get_token())
        problem: PermissionDeniedError | None = None
        for surface in self._get_surfaces():
            try:
                return OriginPolicy(surface, None, self._allowed_hosts).check(
                    request.headers, is_write=True
                )
            except PermissionDeniedError as error:
                problem = error
        raise problem or PermissionDeniedError

    async def list_agents(self, request: HttpRequest) -> Sequence[ExploredAgent]:
        """List the agents whose card the visitor may read; raise if there are only others."""
        visible: list[ExploredAgent] = []
        problem: A2AError | None = None
        for surface in self._get_surfaces():
            try:
                if surface.public_card is False:
                    await _admit(surface, request)
                visible.append(_build_agent(surface, request))
            except A2AError as error:
                problem = error
        if problem is not None and not visible:
            raise problem
        return visible

    async def find_agent(self, request: HttpRequest, agent_id: str) -> ExploredAgent | None:
        """Find an agent; its own gate decides what the visitor may do there."""
        surface = next(
            (each for each in self._get_surfaces() if _to_id(each) == unquote(agent_id)), None
        )
        if surface is None:
            return None
        return _build_agent(surface, request)


async def _admit(surface: Surface, request: HttpRequest) -> None:
    gate = surface.effective_gate
    if gate is None:
        return
    visitor = VisitorCredentials.parse(
        request.headers.get(CREDENTIALS_HEADER.encode(), b"").decode("latin-1")
    )
    visitor = visitor.restrict_to(surface.security_schemes.values())
    given = [(name.lower().encode(), value.encode()) for name, value in visitor.headers]
    scope: Any = {**request.scope, "headers": _merge_headers(given, request.scope["headers"])}
    admitted = gate.admit(Credentials(scope))
    if isawaitable(admitted):
        await admitted


def _build_agent(surface: Surface, request: HttpRequest) -> ExploredAgent:
    url = resolve_url(surface, base_url(request.scope, surface.path))
    has_other_dialects = surface.dialects != frozenset((MESH.name,))

    def refuse(address: str) -> str:
        if is_same_origin(address, [url]):
            return ""
        return (
            f"{address}: not served by this app at its own address, so its page does not call "
            "it; use a2a-gen explore with this address"
        )

    return ExploredAgent(
        id=_to_id(surface),
        name=surface.agent.name,
        url=url,
        options=ClientOptions(pin=Pin() if has_other_dialects else Pin(MESH.name)),
        transport=StreamingAsgiTransport(
            request.scope["litestar_app"],
            lambda outgoing: _build_scope(request.scope, outgoing, surface, url),
        ),
        refusal=refuse,
        schemes=tuple(surface.security_schemes.values()),
    )


def _build_scope(
    outer: HTTPScope, outgoing: httpx.Request, surface: Surface, url: str
) -> HTTPScope:
    """Build the scope of a call: the target of the call, and the visitor of the page."""
    members: Mapping[str, Any] = outer
    given = [
        (name.lower(), value) for name, value in outgoing.headers.raw if name.lower() != b"host"
    ]
    state = {
        name: value
        for name, value in (members.get("state") or {}).items()
        if name != CONNECTION_STATE_KEY
    }
    scope: dict[str, Any] = {
        **{name: value for name, value in members.items() if name not in _NOT_PASSED_ON},
        **copy_target(outgoing, _find_path(members["path"], outgoing, surface, url)),
        "headers": _merge_headers(given, outer["headers"]),
        "state": state,
    }
    return scope  # type: ignore[return-value]  # without the members that Litestar adds


def _find_path(page_path: str, outgoing: httpx.Request, surface: Surface, url: str) -> str:
    """Find the path of a URL in the app: below a surface it may be another one than in the public
    address.
    """
    prefix = page_path.rpartition(_API)[0]
    path = outgoing.url.path
    public = urlsplit(url).path.rstrip("/")
    if f"{path}/".startswith(f"{public}/"):
        return (prefix + surface.path + path.removeprefix(public)) or "/"
    return path


def _merge_headers(
    given: Sequence[tuple[bytes, bytes]], own: Iterable[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Add the headers of the visitor's own request to those of a call, which win; of cookies, each
    by its name.
    """
    names = {name for name, _ in given}
    cookies: list[str] = []
    for name, value in given:
        if name == _COOKIE:
            cookies += [key for key, _ in split_cookies(value.decode("latin-1"))]
    merged = list(given)
    for name, value in own:
        if name == _COOKIE:
            pairs = split_cookies(value.decode("latin-1"))
            left = "; ".join(f"{key}={text}" for key, text in pairs if key not in cookies)
            if left:
                merged.append((_COOKIE, left.encode("latin-1")))
        elif (
            name not in names
            and name not in _KEPT_BACK
            and not name.startswith(_KEPT_BACK_PREFIXES)
        ):
            merged.append((name, value))
    return merged


def _to_id(surface: Surface) -> str:
    return quote(surface.path.strip("/"), safe="").replace("%2F", ":") or _ROOT


async def _send_page(request: HttpRequest) -> None:
    try:
        await send_page(request)
    except A2AError:
        await send_response(
            request,
            b"Method not allowed",
            b"text/plain",
            status=405,
            headers=[(b"allow", b"GET, HEAD")],
        )
