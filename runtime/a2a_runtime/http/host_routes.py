"""Routes of a surface in an app of a host: options of Litestar, its authentication, and its hooks.

    runs for every route of a surface           what it gets
    middleware, ``before_send``                 the request, as for any other route
    guards, sync or async                       the request; an error becomes one of the protocol
    ``before_request``, ``after_response``      the request; its body may be read
    ``after_request``, ``response_headers``     status and headers of the response, which may be
                                                changed; the body is already on its way

Litestar passes to ``after_request`` whatever a handler returns, and handlers of surfaces return an
ASGI app. So the hook is called here, when the response starts.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from litestar import Litestar, Response
from litestar.datastructures import Cookie
from litestar.handlers import HTTPRouteHandler
from litestar.middleware import AbstractAuthenticationMiddleware, DefineMiddleware
from litestar.routes import BaseRoute, HTTPRoute
from litestar.security.base import AbstractSecurityConfig
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

from a2a_contract.controllers import AgentController, CardController
from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.surface import RouteOptions, Surface

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its responses, handlers and middleware open.

AfterRequest: TypeAlias = Callable[[Response[Any]], Awaitable[Response[Any]]]

log = logging.getLogger(__name__)

FREE_PAGE = "a2a_free_page"
"""Option of a route that needs no authentication although it serves no card."""
_EXCLUDE_KEY = "exclude_from_auth"
"""The name that Litestar's own middleware has for it, unless it is told another one."""


class PublicWithCard:
    """Marks a controller whose routes are as public as the card of its surface."""


def apply_route_options(controller: type[AgentController], surface: Surface) -> None:
    """Give a controller the options of its surface; a card that is public is not behind the guards
    of the surface.
    """
    options: RouteOptions = surface.routes
    controller.opt = dict(options.opt)
    controller.middleware = [*options.middleware]  # type: ignore[list-item]  # the surface does not know Litestar's types
    if not _is_public(controller, surface):
        controller.guards = [*options.guards]  # type: ignore[list-item]  # as above


def adapt_routes(app: Litestar) -> None:
    """Fit the routes of surfaces to the hooks and the authentication of an app; when it starts,
    because plugins may add some.
    """
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            if handler.opt.get(FREE_PAGE):
                handler.opt.update(dict.fromkeys(_find_exclude_keys(handler), True))
        if isinstance(route, HTTPRoute) and (endpoints := find_endpoints(route)) is not None:
            for handler in route.route_handlers:
                _adapt_handler(
                    handler, type(_get_controller(handler)), endpoints.dispatcher.surface
                )


def find_endpoints(route: BaseRoute) -> SurfaceEndpoints | None:
    """Find the endpoints of a surface behind a route; ``None`` for a route of the host."""
    if not isinstance(route, HTTPRoute):
        return None
    for handler in route.route_handlers:
        controller = _get_controller(handler)
        if isinstance(controller, AgentController):
            endpoints = controller.endpoints
            return endpoints if isinstance(endpoints, SurfaceEndpoints) else None
    return None


def _get_controller(handler: HTTPRouteHandler) -> Any:  # noqa: ANN401 - any object that has the method
    return getattr(handler.fn, "__self__", None)


def _adapt_handler(
    handler: HTTPRouteHandler, controller: type[AgentController], surface: Surface
) -> None:
    if surface.routes.exclude_from_auth or _is_public(controller, surface):
        handler.opt.update(dict.fromkeys(_find_exclude_keys(handler), True))
    if isinstance(handler.after_request, ResponseHook):  # the app starts again
        return
    # Litestar has wrapped sync hooks, so all of them are async.
    hooks: list[Any] = [
        layer.after_request for layer in handler.ownership_layers if layer.after_request
    ]
    headers = {
        each.name: str(each.value)
        for each in handler.resolve_response_headers()
        if not each.documentation_only
    }
    cookies = [each for each in handler.resolve_response_cookies() if not each.documentation_only]
    if hooks or headers or cookies:
        # By the type of the attribute a hook gets a response; in fact it gets what the handler
        # returns.
        hook: Any = ResponseHook(hooks[-1] if hooks else None, headers, cookies)
        handler.after_request = hook


def _is_public(controller: type[AgentController], surface: Surface) -> bool:
    return surface.public_card is True and issubclass(controller, CardController | PublicWithCard)


def _find_exclude_keys(handler: HTTPRouteHandler) -> Iterable[str]:
    """Find the options by which a route opts out of the authentication of its app."""
    yield _EXCLUDE_KEY
    for each in handler.resolve_middleware():
        if not isinstance(each, DefineMiddleware):
            continue
        config = each.kwargs.get("config")
        if isinstance(config, AbstractSecurityConfig):
            yield config.exclude_opt_key
        elif isinstance(each.middleware, type) and issubclass(
            each.middleware, AbstractAuthenticationMiddleware
        ):
            yield (
                each.kwargs.get("exclude_opt_key")
                or each.kwargs.get("exclude_from_auth_key")
                or _EXCLUDE_KEY
            )


class ResponseHook:
    """Passes the start of each response through ``after_request`` of the host, with the headers and
    cookies that it adds to all of its routes.
    """

    def __init__(
        self, hook: AfterRequest | None, headers: Mapping[str, str], cookies: Sequence[Cookie]
    ) -> None:
        self._hook = hook
        self._headers = headers
        self._cookies = cookies

    async def __call__(self, endpoint: ASGIApp) -> ASGIApp:
        """Wrap the endpoint of a route."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_adapted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message = await self._adapt(message)
                await send(message)

            await endpoint(scope, receive, send_adapted)

        return app

    async def _adapt(self, message: HTTPResponseStartEvent) -> HTTPResponseStartEvent:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]
        }
        response = Response[Any](
            None,
            status_code=message["status"],
            headers={**self._headers, **headers},
            cookies=self._cookies,
        )
        if self._hook is not None:
            response = await self._hook(response)
            if response.content is not None:
                log.warning(
                    (
                        "after_request: %r replaced the body of a response of an agent, which is "
                        "sent unchanged"
                    ),
                    self._hook,
                )
        sent = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in response.headers.items()
        ]
        cookies = [
            each.to_encoded_header() for each in response.cookies if not each.documentation_only
        ]
        return {
            **message,
            "status": response.status_code or message["status"],
            "headers": [*sent, *cookies],
        }
