"""An agent in an app of Starlette and of FastAPI with users of its own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated

import pytest
from fastapi import BackgroundTasks, Depends, FastAPI, Header, HTTPException, Request, Response
from integration.hosts.users import (
    HEADERS,
    MESSAGE,
    build_agent,
    build_surfaces,
    check_users_are_apart,
)
from integration.outcome_agent import serve_on_socket
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from a2a_contract.errors import (
    A2AError,
    InvalidParamsError,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
)
from a2a_contract.v0_3 import TransportProtocol
from a2a_runtime.app import create_app
from a2a_runtime.auth import (
    ApiKeyAuthenticator,
    AuthGate,
    Credentials,
    Identity,
    OpenGate,
    digest_key,
    host_user,
)
from a2a_runtime.client import HTTP_JSON, JSONRPC, A2AClient, ClientOptions, Pin, RetryPolicy
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.starlette import HostApp, mount_agents
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

opened: list[str] = []
ended: list[str] = []


class HeaderBackend(AuthenticationBackend):
    """Takes the user from a header."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Return the user, or none."""
        name = conn.headers.get("x-user")
        if name:
            return (AuthCredentials(["authenticated"]), SimpleUser(name))
        return None


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[Mapping[str, str]]:
    """Open what the host needs."""
    opened.append("host")
    yield {"state": "kept"}
    opened.append("closed")


def build_host(framework: str) -> Starlette:
    """Build a host with a lifespan and an authentication middleware."""
    middleware = [Middleware(AuthenticationMiddleware, backend=HeaderBackend())]
    if framework == "starlette":
        return Starlette(middleware=middleware, lifespan=lifespan)
    return FastAPI(middleware=middleware, lifespan=lifespan)


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
def test_users_of_the_host_are_the_callers(framework: str) -> None:
    """Two users never see each other's tasks; the lifespan of the host runs around that of the
    agents.
    """
    opened.clear()
    host = build_host(framework)
    mount_agents(host, "/agent", *build_surfaces(host_user(), ""), settings=FAST_SETTINGS)
    with serve_on_socket(host) as client:
        assert opened == ["host"]
        check_users_are_apart(client)
        card = client.get("/agent/.well-known/agent-card.json").json()
        assert card["supportedInterfaces"][0]["url"] == f"{client.base_url}/agent"
        assert client.get("/nothing").status_code == 404
    assert opened == ["host", "closed"]


def require_user(
    request: Request,
    response: Response,
    tasks: BackgroundTasks,
    x_user: Annotated[str | None, Header()] = None,
) -> str:
    """Authenticate as many hosts of FastAPI do: by a dependency of the app."""
    opened.append(f"{request.method} {request.url.path}")
    if x_user is None:
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
    request.state.user = x_user
    response.headers["x-seen"] = x_user
    tasks.add_task(ended.append, x_user)
    return x_user


def read_state(connection: Credentials) -> Identity | None:
    """Read the user whom the dependency has left."""
    user = connection.scope["state"].get("user")
    if user is None:
        return None
    return Identity(user)


@pytest.mark.parametrize("is_of_the_app", [True, False], ids=["app", "mount"])
def test_dependencies_of_fastapi_run_for_every_route(
    is_of_the_app: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Those of the app, and those of the agents alone; the caller is whom they have left in the
    state.
    """
    ended.clear()
    guarded = [Depends(require_user)]
    app = FastAPI(dependencies=guarded if is_of_the_app else [], lifespan=lifespan)

    @app.get("/me")
    def me() -> str:
        return "me"

    agents = mount_agents(
        app,
        "/agent",
        *build_surfaces(read_state, ""),
        settings=FAST_SETTINGS,
        dependencies=() if is_of_the_app else guarded,
    )
    with serve_on_socket(app) as client:
        assert client.get("/me").status_code == (401 if is_of_the_app else 200)
        check_users_are_apart(client)
        paths = {
            re.sub(r"\{[^}]*\}", "x", each.path)
            for each in agents.routes
            if not each.path.startswith("/schema")
        }
        assert len(paths) > 20
        for path in sorted(paths):
            opened.clear()
            if (
                path in agents.plugins.get(A2APlugin).list_health_checks()
            ):  # a platform that watches the process has no credentials
                assert client.get(f"/agent{path}").status_code == 200
                assert opened == []
                continue
            assert client.get(f"/agent{path}".rstrip("/")).status_code == 401
            assert (
                client.post(f"/agent{path}", json={}, headers=HEADERS["ada"]).headers["x-seen"]
                == "ada"
            )
            assert opened == [f"GET /agent{path}".rstrip("/"), f"POST /agent{path}"]
        card = client.get("/agent/.well-known/agent-card.json", headers=HEADERS["ada"]).json()
        assert card["supportedInterfaces"][0]["url"] == f"{client.base_url}/agent"
        stream = client.post("/agent/message:stream", json=MESSAGE, headers=HEADERS["ada"])
        assert "TASK_STATE_COMPLETED" in stream.text
        assert "rest" not in str(
            client.get("/openapi.json", headers=HEADERS["ada"]).json()["paths"].keys()
        )
    assert len(ended) > len(paths)


def refuse(x_number: Annotated[int, Header()]) -> None:
    """Refuse a request with the status that it names."""
    raise HTTPException(
        x_number,
        {"why": "a rule of the application"},
        {"WWW-Authenticate": "Bearer", "Retry-After": "7"},
    )


REFUSALS = {
    "401": UnauthenticatedError,
    "403": PermissionDeniedError,
    "429": RateLimitedError,
    "503": UnavailableError,
    "none": InvalidParamsError,
}


@pytest.mark.parametrize(("number", "error"), REFUSALS.items())
@pytest.mark.parametrize("transport", [JSONRPC, HTTP_JSON])
def test_errors_of_dependencies_are_those_of_the_application(
    number: str, error: type[A2AError], transport: TransportProtocol
) -> None:
    """In the form of FastAPI, whose handlers of exceptions apply; a client of the agent reads the
    status, in both bindings.
    """
    app = FastAPI()
    mount_agents(
        app,
        "/agent",
        Surface(build_agent(), gate=OpenGate()),
        settings=FAST_SETTINGS,
        dependencies=[Depends(refuse)],
    )

    @app.exception_handler(403)
    async def forbid(_request: Request, _error: Exception) -> JSONResponse:
        return JSONResponse({"page": "of the application"}, 403)

    async def call(url: str) -> None:
        options = ClientOptions(
            interface_url=url,
            pin=Pin(transport=transport),
            headers={"x-number": number},
            retry_policy=RetryPolicy(attempts=1),
        )
        async with A2AClient(url, options=options) as client:
            with pytest.raises(error):
                await client.send("x")

    with serve_on_socket(app) as client:
        response = client.post("/agent", json={}, headers={"x-number": number})
        assert response.headers.get("www-authenticate") == (
            None if number in {"none", "403"} else "Bearer"
        )
        assert response.json().keys() == ({"page"} if number == "403" else {"detail"})
        asyncio.run(call(f"{client.base_url}/agent"))


def test_dependencies_are_for_fastapi() -> None:
    """Dependencies are refused on Starlette, which has none."""
    with pytest.raises(TypeError, match="dependencies= are for FastAPI"):
        mount_agents(
            Starlette(),
            "/agent",
            Surface(build_agent(), caller=host_user()),
            dependencies=[object()],
        )


def test_middleware_of_the_host_runs_for_every_route() -> None:
    """Every route and stream passes middleware of the host, also Starlette's base class."""
    calls: list[str] = []

    class Counting(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
            calls.append(request.url.path)
            return await call_next(request)

    host = Starlette(middleware=[Middleware(Counting)])
    agents = mount_agents(
        host, "/agent", Surface(build_agent(), gate=OpenGate()), settings=FAST_SETTINGS
    )
    paths = [f"/agent{re.sub(r'{[^}]*}', 'x', each.path)}" for each in agents.routes]
    with serve_on_socket(host) as client:
        for path in paths:
            client.get(path)
        assert "TASK_STATE_COMPLETED" in client.post("/agent/message:stream", json=MESSAGE).text
    assert calls == [*paths, "/agent/message:stream"]


def test_a_mount_says_who_its_callers_are() -> None:
    """A mount without callers is refused before anything is mounted."""
    host: HostApp = Starlette()
    with pytest.raises(ValueError, match="nothing identifies its callers"):
        mount_agents(host, "/agent", Surface(build_agent()))
    with pytest.raises(ValueError, match="'agent/' is not a path for agents"):
        mount_agents(host, "agent/", Surface(build_agent(), caller=host_user()))


def test_agents_and_surfaces_are_mounted_alike() -> None:
    """An agent takes the options of its surface, as in the plugin of Litestar; one path has one
    mount.
    """
    host: HostApp = Starlette()
    mount_agents(host, "/one", build_agent(), gate=OpenGate(), settings=FAST_SETTINGS)
    mount_agents(
        host,
        "/two",
        Surface(build_agent(), "/a", gate=OpenGate()),
        Surface(build_agent(), "/b", gate=OpenGate()),
        settings=FAST_SETTINGS,
    )
    with pytest.raises(ValueError, match="'/one' has agents already; give all of them to one call"):
        mount_agents(host, "/one", build_agent(), gate=OpenGate())
    with pytest.raises(TypeError, match=r"mount_agents: 5 is not of type Agent or Surface"):
        mount_agents(host, "/three", 5)  # type: ignore[arg-type]  # which is the point
    with pytest.raises(ValueError, match="nothing identifies its callers"):
        mount_agents(host, "/three", build_agent())
    with serve_on_socket(host) as client:
        for path in ("/one", "/two/a", "/two/b"):
            assert (
                "TASK_STATE_COMPLETED" in client.post(f"{path}/message:stream", json=MESSAGE).text
            )


def test_fastapi_shows_agents_beside_its_own_routes() -> None:
    """In the document of its ``/docs``, below the path of the mount; an agent with a private card
    stays out.
    """
    app = FastAPI()
    app.get("/items")(list)
    agent = build_agent()
    hidden = Surface(
        agent,
        "/hidden",
        gate=AuthGate(ApiKeyAuthenticator({digest_key("k" * 40): Identity("me")})),
        public_card=False,
    )
    mount_agents(app, "/agent", Surface(agent, gate=OpenGate()), hidden, store="memory")
    with serve_on_socket(app) as client:
        paths = client.get("/openapi.json").json()["paths"]
        assert {"/items", "/agent", "/agent/message:send"} <= paths.keys()
        assert not [path for path in paths if "hidden" in path]


def test_a_plain_mount_says_that_its_lifespan_has_not_run(caplog: pytest.LogCaptureFixture) -> None:
    """The response says that the lifespan has not run; the log has the cure."""
    host = Starlette()
    host.mount("/agent", create_app(Surface(build_agent()), settings=FAST_SETTINGS))
    with serve_on_socket(host) as client:
        assert client.get("/agent/.well-known/agent-card.json").status_code == 200
        response = client.post("/agent/message:send", json=MESSAGE, headers=HEADERS["ada"])
    assert response.status_code == 503
    assert "the lifespan of its app has not run" in response.json()["error"]["message"]
    assert "mount_agents" in caplog.text
