"""Agents in front of an app of any ASGI framework: paths, and the lifespans of both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from integration.hosts.users import (
    HEADERS,
    MESSAGE,
    build_agent,
    build_surfaces,
    check_users_are_apart,
)
from integration.outcome_agent import serve_on_socket
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from a2a_runtime.asgi import with_agents
from a2a_runtime.auth import Credentials, Identity
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS


def read_header(connection: Credentials) -> Identity | None:
    """Name the caller by a header."""
    name = connection.get("x-user")
    if name is None:
        return None
    return Identity(name)


async def show_path(request: Request) -> PlainTextResponse:
    """Say which path the host has seen."""
    return PlainTextResponse(request.url.path)


def test_the_host_has_every_other_path_and_a_lifespan_around_that_of_the_agents() -> None:
    """The agents start last and stop first; also a path that only begins like theirs is the
    host's.
    """
    log: list[str] = []
    agent = build_agent()
    agent.provide(pool=lambda: log.append("+agents") or "pool")

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        log.append("+host")
        yield
        log.append("-host")

    host = Starlette(
        routes=[Route("/agents", show_path), Route("/x/agent", show_path)], lifespan=lifespan
    )
    with serve_on_socket(
        with_agents(host, "/agent", Surface(agent, caller=read_header), settings=FAST_SETTINGS)
    ) as client:
        assert client.get("/agents").text == "/agents"
        assert client.get("/x/agent").text == "/x/agent"
        assert (
            client.post("/agent/message:send", json=MESSAGE, headers=HEADERS["ada"]).status_code
            == 200
        )
        assert log == ["+host", "+agents"]
    assert log == ["+host", "+agents", "-host"]


def test_a_host_without_a_lifespan_is_served() -> None:
    """A host that raises for lifespan, as the protocol allows, is served."""

    async def host(scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        if scope["type"] != "http":
            raise ValueError(scope["type"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"host"})

    app = with_agents(host, "/agent", *build_surfaces(read_header, ""), settings=FAST_SETTINGS)
    with serve_on_socket(app) as client:
        assert client.get("/other").text == "host"
        check_users_are_apart(client)


@pytest.mark.anyio
async def test_a_host_that_fails_to_start_stops_the_start() -> None:
    """Its reason is that of the server, and no agent has started."""
    started: list[str] = []
    agent = build_agent()
    agent.provide(pool=lambda: started.append("agents") or "pool")

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        raise OSError("no database")
        yield

    sent: list[Any] = []

    async def receive() -> dict[str, str]:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:  # noqa: ANN401 - ASGI
        sent.append(message)

    app = with_agents(
        Starlette(lifespan=lifespan),
        "/agent",
        Surface(agent, caller=read_header),
        settings=FAST_SETTINGS,
    )
    with pytest.raises(RuntimeError, match=r"lifespan of the host: (?s:.*)no database"):
        await app({"type": "lifespan"}, receive, send)
    assert [each["type"] for each in sent] == ["lifespan.startup.failed"]
    assert started == []


def test_a_mount_in_front_says_who_its_callers_are() -> None:
    """A mount in front of a host is refused without callers, as any mount."""
    with pytest.raises(ValueError, match="nothing identifies its callers"):
        with_agents(Starlette(), "/agent", Surface(build_agent()))
    with pytest.raises(ValueError, match="with_agents: 'agent' is not a path"):
        with_agents(Starlette(), "agent", Surface(build_agent(), caller=read_header))
