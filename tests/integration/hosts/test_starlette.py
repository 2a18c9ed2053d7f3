"""An agent in an app of Starlette and of FastAPI with users of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException
from integration.hosts.users import HEADERS, MESSAGE, build_agent, check_users_are_apart
from integration.outcome_agent import serve_on_socket
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection

from a2a_runtime.app import create_app
from a2a_runtime.auth import Credentials, Identity, host_user
from a2a_runtime.starlette import HostApp, mount_agents
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

opened: list[str] = []


class HeaderBackend(AuthenticationBackend):
    """Takes the user from a header."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Return the user, or none."""
        name = conn.headers.get("x-user")
        return (AuthCredentials(["authenticated"]), SimpleUser(name)) if name else None


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
    """Two users never see each other's tasks; the lifespan of the host runs around that of the agents."""
    opened.clear()
    host = build_host(framework)
    mount_agents(host, "/agent", Surface(build_agent(), caller=host_user()), settings=FAST_SETTINGS)
    with serve_on_socket(host) as client:
        assert opened == ["host"]
        check_users_are_apart(client)
        card = client.get("/agent/.well-known/agent-card.json").json()
        assert card["supportedInterfaces"][0]["url"] == f"{client.base_url}/agent"
        assert client.get("/nothing").status_code == 404
    assert opened == ["host", "closed"]


def test_dependencies_of_fastapi_do_not_run_for_a_mount() -> None:
    """So a function reads the connection, as the dependency does."""

    def require_user(x_user: Annotated[str | None, Header()] = None) -> str:
        if x_user is None:
            raise HTTPException(401)
        return x_user

    def read_user(connection: Credentials) -> Identity | None:
        name = connection.get("x-user")
        return None if name is None else Identity(name)

    app = FastAPI(dependencies=[Depends(require_user)])
    app.add_api_route("/me", lambda user: user, dependencies=[])
    mount_agents(app, "/agent", Surface(build_agent(), caller=read_user), settings=FAST_SETTINGS)
    with serve_on_socket(app) as client:
        assert client.get("/me").status_code == 401
        check_users_are_apart(client)


def test_a_mount_says_who_its_callers_are() -> None:
    """Before anything is mounted."""
    host: HostApp = Starlette()
    with pytest.raises(ValueError, match="nothing identifies its callers"):
        mount_agents(host, "/agent", Surface(build_agent()))
    with pytest.raises(ValueError, match="'agent/' is not a path for agents"):
        mount_agents(host, "agent/", Surface(build_agent(), caller=host_user()))


def test_a_plain_mount_says_that_its_lifespan_has_not_run(caplog: pytest.LogCaptureFixture) -> None:
    """In the answer and in the log, with the cure."""
    host = Starlette()
    host.mount("/agent", create_app(Surface(build_agent()), settings=FAST_SETTINGS))
    with serve_on_socket(host) as client:
        assert client.get("/agent/.well-known/agent-card.json").status_code == 200
        response = client.post("/agent/message:send", json=MESSAGE, headers=HEADERS["ada"])
    assert response.status_code == 503
    assert "the lifespan of its app has not run" in response.json()["error"]["message"]
    assert "mount_agents" in caplog.text
