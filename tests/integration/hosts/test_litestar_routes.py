"""Everything that a host of Litestar adds to its routes, for every route of an agent: middleware,
guards, hooks, options and authentication.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from integration.hosts.test_litestar import JWT, TOKENS, me
from integration.hosts.users import HEADERS, MESSAGE, build_agent
from litestar import Litestar, Request, Response
from litestar.config.csrf import CSRFConfig
from litestar.connection import ASGIConnection
from litestar.datastructures import ResponseHeader
from litestar.exceptions import NotAuthorizedException
from litestar.handlers import BaseRouteHandler
from litestar.middleware import DefineMiddleware
from litestar.middleware.session.server_side import (
    ServerSideSessionBackend,
    ServerSideSessionConfig,
)
from litestar.routes import HTTPRoute
from litestar.security.jwt import JWTAuth
from litestar.security.session_auth import SessionAuth
from litestar.testing import TestClient
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth import (
    ApiKeyAuthenticator,
    AuthGate,
    Identity,
    OpenGate,
    digest_key,
    host_user,
)
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Limits, RouteOptions, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

Connection = ASGIConnection[Any, Any, Any, Any]

KEY = "k" * 32
GATE = AuthGate(ApiKeyAuthenticator({digest_key(KEY): Identity("nightly")}))
CARD = "/agent/.well-known/agent-card.json"
seen: Counter[str] = Counter()


def middleware(app: ASGIApp) -> ASGIApp:
    """Count requests."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        seen["middleware"] += scope["type"] == "http"
        await app(scope, receive, send)

    return run


async def count_guard(_connection: Connection, _handler: BaseRouteHandler) -> None:
    """Count requests."""
    seen["guard"] += 1


def count_in_a_thread(_connection: Connection, _handler: BaseRouteHandler) -> None:
    """Count requests, as a sync function."""
    seen["sync guard"] += 1


async def read_in_a_guard(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Read the body of a call, as a guard of HTTP routes may."""
    assert isinstance(connection, Request)
    seen["bytes"] += len(await connection.body())


async def before_request(request: Request[Any, Any, Any]) -> None:
    """Read the body, as a host may."""
    await request.body()
    seen["before_request"] += 1


def after_request(response: Response[Any]) -> Response[Any]:
    """Add a header."""
    seen["after_request"] += 1
    response.headers["x-status"] = str(response.status_code)
    return response


async def after_response(_request: Request[Any, Any, Any]) -> None:
    """Count responses."""
    seen["after_response"] += 1


async def before_send(message: Message, _scope: Scope) -> None:
    """Count responses."""
    seen["before_send"] += message["type"] == "http.response.start"


def build_host(surface: Surface, **options: Any) -> Litestar:  # noqa: ANN401 - options of Litestar
    """Build a host with an agent."""
    return Litestar(
        plugins=[A2APlugin(surface, settings=FAST_SETTINGS)], logging_config=None, **options
    )


def list_requests(app: Litestar) -> Iterator[tuple[str, str]]:
    """List a request for every path of the agent."""
    for route in app.routes:
        assert isinstance(route, HTTPRoute) or not route.path.startswith("/agent")
        if route.path.startswith("/agent"):
            yield (
                "POST" if "message" in route.path else "GET",
                re.sub(r"\{[^}]*\}", "x", route.path),
            )


def test_everything_that_a_host_adds_runs_for_every_route() -> None:
    """Once for each request to each path, whatever the agent answers; guards run in the order app,
    surface.
    """
    agent = build_agent()
    routes = RouteOptions(guards=[count_in_a_thread], middleware=[middleware])
    app = build_host(
        Surface(agent, "/agent", gate=OpenGate(), routes=routes),
        guards=[count_guard],
        before_request=before_request,
        after_request=after_request,
        after_response=after_response,
        before_send=[before_send],
        response_headers=[ResponseHeader(name="x-frame-options", value="DENY")],
    )
    with TestClient(app) as client:
        requests = list(list_requests(app))
        assert len(requests) > 20
        for method, path in requests:
            seen.clear()
            response = client.request(method, path, json=MESSAGE if method == "POST" else None)
            names = (
                "middleware",
                "guard",
                "sync guard",
                "before_request",
                "after_request",
                "after_response",
                "before_send",
            )
            assert seen == dict.fromkeys(names, 1), f"{method} {path}"
            assert response.headers["x-frame-options"] == "DENY"
            assert response.headers["x-status"] == str(response.status_code)
        seen.clear()
        assert client.post("/agent/message:send", json=MESSAGE).json()["task"]["artifacts"]
        assert client.get("/nothing").status_code == 404
        assert "x-status" not in client.get("/agent/nothing").headers


def test_a_stream_passes_the_hooks_too() -> None:
    """Its body is not buffered by them."""
    app = build_host(Surface(build_agent(), "/agent", gate=OpenGate()), after_request=after_request)
    with (
        TestClient(app) as client,
        client.stream("POST", "/agent/message:stream", json=MESSAGE) as response,
    ):
        assert response.headers["x-status"] == "200"
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "TASK_STATE_COMPLETED" in "".join(response.iter_lines())


def test_a_guard_may_read_the_body() -> None:
    """The agent gets it too, within its own limit."""
    surface = Surface(
        build_agent(),
        "/agent",
        gate=OpenGate(),
        limits=Limits(body_bytes=1000),
        routes=RouteOptions(guards=[read_in_a_guard]),
    )
    with TestClient(build_host(surface)) as client:
        seen.clear()
        assert client.post("/agent/message:send", json=MESSAGE).status_code == 200
        assert seen["bytes"] > 50
        assert (
            client.post(
                "/agent/message:send", json={**MESSAGE, "metadata": {"x": "y" * 1000}}
            ).status_code
            == 413
        )


def test_a_hook_that_replaces_a_body_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The body is on its way already; headers and status are taken."""

    async def wrap(response: Response[Any]) -> Response[Any]:
        return Response({"data": response.content}, status_code=203)

    with TestClient(
        build_host(Surface(build_agent(), "/agent", gate=OpenGate()), after_request=wrap)
    ) as client:
        response = client.post("/agent/message:send", json=MESSAGE)
    assert response.status_code == 203
    assert "task" in response.json()
    assert "replaced the body" in caplog.text


def test_guards_of_a_surface_see_its_options() -> None:
    """A refusal is an error of the protocol; the other surface is not guarded, nor are the host's
    routes. In an app of agents alone too.
    """

    def require_member(connection: Connection, handler: BaseRouteHandler) -> None:
        if connection.headers.get("x-user") not in handler.opt["members"]:
            raise NotAuthorizedException("members only")

    guarded = Surface(
        build_agent(),
        "/agent",
        gate=OpenGate(),
        routes=RouteOptions(guards=[require_member], opt={"members": ["ada"]}),
    )
    other = Surface(build_agent(), "/other", gate=OpenGate())
    for app in (
        Litestar(
            [], plugins=[A2APlugin(guarded, other, settings=FAST_SETTINGS)], logging_config=None
        ),
        create_app(guarded, other, settings=FAST_SETTINGS),
    ):
        with TestClient(app) as client:
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": MESSAGE}
            for path, body in (("", call), ("/message:send", MESSAGE)):
                refused = client.post(f"/agent{path}", json=body)
                assert refused.status_code == 401
                assert refused.json()["error"]["message"] == "members only"
                assert (
                    client.post(f"/agent{path}", json=body, headers=HEADERS["ada"]).status_code
                    == 200
                )
                assert client.post(f"/other{path}", json=body).status_code == 200


def build_session_auth() -> SessionAuth[str, ServerSideSessionBackend]:
    """Build session authentication with an option of its own name."""

    async def load_user(session: dict[str, Any], _connection: Connection) -> str | None:
        return session.get("user")

    return SessionAuth[str, ServerSideSessionBackend](
        retrieve_user_handler=load_user,
        session_backend_config=ServerSideSessionConfig(),
        exclude_opt_key="no_session_auth",
    )


@pytest.mark.parametrize("kind", ["jwt", "jwt with a key of its own", "session"])
def test_an_agent_with_a_gate_of_its_own_keeps_the_host_s_authentication_away(kind: str) -> None:
    """Whatever the host calls the option; its own routes stay behind it."""
    own = JWTAuth[Any, Any](
        retrieve_user_handler=JWT.retrieve_user_handler,
        token_secret="s" * 32,
        exclude_opt_key="open",
    )
    auth = {"jwt": JWT, "jwt with a key of its own": own, "session": build_session_auth()}[kind]
    surface = Surface(
        build_agent(), "/agent", gate=GATE, routes=RouteOptions(exclude_from_auth=True)
    )
    plugin = A2APlugin(surface, settings=FAST_SETTINGS)
    with TestClient(
        Litestar([me], plugins=[plugin], on_app_init=[auth.on_app_init], logging_config=None)
    ) as client:
        assert client.post("/agent/message:send", json=MESSAGE).status_code == 401
        task = client.post("/agent/message:send", json=MESSAGE, headers={"X-API-Key": KEY}).json()[
            "task"
        ]
        assert "nightly" in str(task["artifacts"])
        assert client.get(CARD).status_code == 200
        assert client.get("/me").status_code == 401


def test_users_of_a_host_are_needed_for_its_callers() -> None:
    """Callers of the host are refused on routes that keep the users of the host out."""
    with pytest.raises(ValueError, match="exclude_from_auth keeps out the users"):
        Surface(
            build_agent(), "/agent", caller=host_user(), routes=RouteOptions(exclude_from_auth=True)
        )


JWT_EVERYWHERE = JWTAuth[Any, Any](
    retrieve_user_handler=JWT.retrieve_user_handler,
    token_secret="a secret of thirty-two characters",  # noqa: S106
)


@pytest.mark.parametrize(("setting", "status"), [(None, 401), (True, 200), (False, 401)])
def test_a_card_behind_the_host_s_authentication(
    setting: bool | None,  # noqa: FBT001 - a parameter of the test
    status: int,
) -> None:
    """It is as public as the host has it, unless the surface says more; tasks are not."""
    plugin = A2APlugin(
        build_agent(), caller=host_user(), public_card=setting, settings=FAST_SETTINGS
    )
    with TestClient(
        Litestar(plugins=[plugin], on_app_init=[JWT_EVERYWHERE.on_app_init], logging_config=None)
    ) as client:
        assert client.get(CARD).status_code == status
        assert client.get(CARD, headers=TOKENS["ada"]).status_code == 200
        assert client.get("/agent/tasks").status_code == 401


def test_a_card_may_be_for_admitted_callers_only() -> None:
    """With the challenge of the gate, and never in a shared cache; the OpenAPI document, which has
    no gate, leaves the surface out.
    """
    with TestClient(
        build_host(Surface(build_agent(), "/agent", gate=GATE, public_card=False))
    ) as client:
        for path in (CARD, "/agent/.well-known/agent.json"):
            refused = client.get(path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("ApiKey")
            assert "who" not in refused.text
            admitted = client.get(path, headers={"X-API-Key": KEY})
            assert admitted.json()["name"] == "who"
            assert admitted.headers["cache-control"].startswith("private")
            assert "Authorization" in admitted.headers["vary"]
        assert CARD not in client.get("/schema/openapi.json").json()["paths"]
    with pytest.raises(ValueError, match="public_card is false, but no gate admits callers"):
        build_host(Surface(build_agent(), "/agent", gate=OpenGate(), public_card=False))


def test_a_public_card_is_not_behind_the_guards_of_its_surface() -> None:
    """A guard protects every path of a surface but the public card."""

    async def refuse(_connection: Connection, _handler: BaseRouteHandler) -> None:
        raise NotAuthorizedException

    with TestClient(
        build_host(
            Surface(
                build_agent(),
                "/agent",
                gate=OpenGate(),
                public_card=True,
                routes=RouteOptions(guards=[refuse]),
            )
        )
    ) as client:
        assert client.get(CARD).status_code == 200
        assert client.post("/agent", json={}).status_code == 401


def test_options_of_csrf_protection_and_of_the_openapi_document() -> None:
    """Agents are called by programs, which have no cookies: a surface opts out of the protection of
    forms.
    """
    csrf = CSRFConfig(secret="s" * 32)
    routes = RouteOptions(opt={"exclude_from_csrf": True}, tags=["internal"])
    hidden = Agent("hidden")
    hidden.add("x", lambda ctx: ctx.text)
    plugin = A2APlugin(
        Surface(build_agent(), "/agent", gate=OpenGate(), routes=routes),
        Surface(hidden, "/hidden", gate=OpenGate(), routes=RouteOptions(include_in_schema=False)),
        settings=FAST_SETTINGS,
    )
    with TestClient(Litestar(plugins=[plugin], csrf_config=csrf, logging_config=None)) as client:
        assert client.post("/agent/message:send", json=MESSAGE).status_code == 200
        assert client.post("/hidden/message:send", json=MESSAGE).status_code == 403
        paths = client.get("/schema/openapi.json").json()["paths"]
        assert paths["/agent/message:send"]["post"]["tags"] == ["internal"]
        assert not [path for path in paths if path.startswith("/hidden")]


def test_a_middleware_class_of_the_surface() -> None:
    """A surface takes middleware classes, with arguments too, as Litestar does."""

    class Stamp:
        def __init__(self, app: ASGIApp, name: str) -> None:
            self._app = app
            self._name = name

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            seen[self._name] += 1
            await self._app(scope, receive, send)

    seen.clear()
    routes = RouteOptions(middleware=[DefineMiddleware(Stamp, name="stamp")])
    with TestClient(
        build_host(Surface(build_agent(), "/agent", gate=OpenGate(), routes=routes))
    ) as client:
        client.get(CARD)
    assert seen["stamp"] == 1
