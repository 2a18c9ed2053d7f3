"""Agents in an app of a host: its routes, exception handlers and guards, conflicts at start, and
the OpenAPI document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import jsonschema_rs
import pytest
from integration.host_app import MESSAGE, books, build_saying_agent, plugin, texts
from integration.outcome_agent import build_test_agent
from litestar import Controller, Litestar, Request, Response, Router, asgi, get, post
from litestar.connection import ASGIConnection
from litestar.exceptions import (
    HTTPException,
    ImproperlyConfiguredException,
    NotAuthorizedException,
    NotFoundException,
)
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath
from litestar.testing import TestClient
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

from a2a_contract.dialects import V0_3, V1_0, V1_1_DRAFT
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface


@get("/books/{book:str}")
async def book(book: FromPath[str]) -> str:
    """Find no book."""
    raise NotFoundException(f"no {book}")


def test_an_app_has_several_agents_beside_its_routes() -> None:
    """Each agent has its own path, and tasks of one do not exist on the other."""
    app = Litestar(
        [books],
        plugins=[
            plugin(
                Surface(build_saying_agent("one"), "/agents/one"),
                Surface(build_saying_agent("two"), "/agents/two"),
            )
        ],
    )
    with TestClient(app) as client:
        assert client.get("/books").json() == ["Momo"]
        assert (texts(client, "/agents/one"), texts(client, "/agents/two")) == ("one", "two")
        task = client.post("/agents/one/message:send", json=MESSAGE).json()["task"]
        assert client.get(f"/agents/one/tasks/{task['id']}").status_code == 200
        assert client.get(f"/agents/two/tasks/{task['id']}").status_code == 404


def test_one_agent_has_several_surfaces() -> None:
    """Surfaces of an agent differ in skills and dialects."""
    agent = build_test_agent()
    surfaces = (
        Surface(agent, "/all"),
        Surface(
            agent,
            "/old",
            dialects=frozenset((V0_3.name,)),
            shared_card=V0_3.name,
            only=frozenset(("echo",)),
        ),
    )
    with TestClient(Litestar(plugins=[plugin(*surfaces)])) as client:
        assert len(client.get("/all/.well-known/agent-card.json").json()["skills"]) > 1
        assert [
            skill["id"] for skill in client.get("/old/.well-known/agent-card.json").json()["skills"]
        ] == ["echo"]
        assert client.post("/old/message:send", json=MESSAGE).status_code == 404


def test_an_app_can_be_started_again() -> None:
    """Each start builds a new runtime; there is none between two starts."""
    app = Litestar(plugins=[plugin(Surface(build_saying_agent("one"), "/one"))])
    for _ in range(2):
        with TestClient(app) as client:
            assert texts(client, "/one") == "one"
    assert app.plugins.get(A2APlugin).runtime is None


def page(_request: Request[Any, Any, Any], error: Exception) -> Response[str]:
    """Answer an error with a page of the host."""
    return Response(
        f"<h1>{type(error).__name__}</h1>",
        media_type="text/html",
        status_code=getattr(error, "status_code", 418),
    )


@pytest.mark.parametrize(
    "handlers",
    [{404: page}, {NotFoundException: page}, {HTTPException: page}, {Exception: page}],
    ids=lambda each: str(list(each)),
)
@pytest.mark.parametrize("layer", ["app", "router"])
def test_exception_handlers_of_a_host_keep_their_errors(
    handlers: Any,  # noqa: ANN401 - keys of several kinds
    layer: str,
) -> None:
    """Handlers by status or class, on any layer; below an agent's path, errors are those of the
    protocol.
    """
    router = Router(
        "/",
        route_handlers=[books, book],
        exception_handlers=handlers if layer == "router" else None,
    )
    app = Litestar(
        [router],
        plugins=[plugin(Surface(build_saying_agent("one"), "/one"))],
        exception_handlers=handlers if layer == "app" else None,
    )
    with TestClient(app) as client:
        assert client.get("/books/Momo").text == "<h1>NotFoundException</h1>"
        nowhere = client.get("/nowhere")
        assert (
            nowhere.text == "<h1>NotFoundException</h1>"
            if layer == "app"
            else nowhere.json() == {"status_code": 404, "detail": "Not Found"}
        )
        assert client.get("/one/nowhere").json()["error"]["code"] == 404
        assert client.get("/oneself").text == nowhere.text


def test_at_the_root_the_host_s_handler_of_unknown_paths_takes_precedence() -> None:
    """A host with an agent at the root and a handler of 404 keeps its page."""
    with TestClient(
        Litestar(
            [books], plugins=[plugin(build_saying_agent("one"))], exception_handlers={404: page}
        )
    ) as client:
        assert client.get("/nowhere/at/all").text == "<h1>NotFoundException</h1>"
        assert texts(client, "") == "one"


async def only_ada(
    connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler
) -> None:
    """Admit requests with the token."""
    if connection.headers.get("authorization") != "Bearer ada":
        raise NotAuthorizedException("who are you?", headers={"WWW-Authenticate": "Bearer"})


def test_a_guard_of_the_host_guards_agents_too() -> None:
    """Its error is rendered in the dialect and binding of the request, with its challenge."""
    with TestClient(
        Litestar(plugins=[plugin(Surface(build_saying_agent("one"), "/one"))], guards=[only_ada])
    ) as client:
        for path, body in (
            ("/one/message:send", MESSAGE),
            ("/one", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": MESSAGE}),
        ):
            response = client.post(path, json=body)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.json()["error"]["message"] == "who are you?"
            assert (
                client.post(path, json=body, headers={"Authorization": "Bearer ada"}).status_code
                == 200
            )


@asgi("/one", copy_scope=False)
async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
    """Take the path of an agent."""


@post("/one/{user:int}/message:send")
async def with_parameter() -> None:
    """Take the path of a tenant."""


class Users(Controller):
    """Takes the path of an agent's endpoint."""

    path = "/one"

    @get("/")
    async def users(self) -> list[str]:
        """List no users."""
        return []


@pytest.mark.parametrize(
    ("host_routes", "path"),
    [
        ([mounted], "/one"),
        ([with_parameter], "/one/{}/message:send"),
        ([Users], "/one"),
        ([Router("/one", route_handlers=[get("/tasks")(books.fn)])], "/one/tasks"),
    ],
    ids=["asgi", "parameter", "controller", "router"],
)
def test_conflicting_routes_of_the_host_are_refused(
    host_routes: Sequence[ControllerRouterHandler], path: str
) -> None:
    """The error names the surface, the route, its handler and the fix."""
    with pytest.raises(
        ImproperlyConfiguredException,
        match=rf"surface '/one' of agent 'one': its route {re.escape(path)} is taken by .*; move",
    ):
        Litestar(list(host_routes), plugins=[plugin(Surface(build_saying_agent("one"), "/one"))])


def test_two_surfaces_at_one_path_are_refused() -> None:
    """Two surfaces at one path are an error that names both."""
    with pytest.raises(
        ImproperlyConfiguredException,
        match=(
            r"surface '/x' of agent 'two': surface '/x' of agent 'one' has the same path; "
            r"set another path="
        ),
    ):
        Litestar(
            plugins=[
                plugin(
                    Surface(build_saying_agent("one"), "/x"),
                    Surface(build_saying_agent("two"), "/x"),
                )
            ]
        )


def test_a_plugin_without_an_agent_is_refused() -> None:
    """The error shows the call that works."""
    with pytest.raises(
        ImproperlyConfiguredException,
        match=(
            r"A2APlugin: no agent given; pass at least one, "
            r"e\.g\. A2APlugin\(agent, caller=host_user\(\)\)"
        ),
    ):
        A2APlugin()


def test_two_plugins_in_one_app_are_refused() -> None:
    """Only the first would have health, catalog and the commands; the error shows the call that
    works.
    """
    with pytest.raises(
        ImproperlyConfiguredException,
        match=r"two of them, .*; give all agents to one: A2APlugin\(Surface\(one, path=…\)",
    ):
        Litestar(
            plugins=[
                plugin(Surface(build_saying_agent("one"), "/one")),
                plugin(Surface(build_saying_agent("two"), "/two")),
            ]
        )


def test_the_document_of_the_app_has_every_path() -> None:
    """Colon paths, endpoint and cards of every surface are there beside the host's paths, and every
    reference can be resolved.
    """
    app = Litestar(
        [books],
        plugins=[
            plugin(
                Surface(build_test_agent(), "/one"),
                Surface(build_test_agent(), "/new", dialects=frozenset((V1_0.name,))),
            )
        ],
    )
    with TestClient(app) as client:
        document = client.get("/schema/openapi.json").json()
    paths = document["paths"]
    assert document["openapi"].startswith("3.1")
    assert {
        "/books",
        "/one",
        "/one/.well-known/agent-card.json",
        "/one/v1/message:send",
        "/new/tasks/{id}:cancel",
    } <= set(paths)
    assert set(paths["/one/tasks/{id}:subscribe"]) == {"get", "post"}
    assert "/new/v1/message:send" not in paths
    references = re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(document))
    assert references
    assert set(references) <= set(document["components"]["schemas"])
    identifiers = [
        operation["operationId"]
        for item in paths.values()
        for operation in item.values()
        if "operationId" in operation
    ]
    assert len(identifiers) == len(set(identifiers))


def test_versions_that_share_paths_share_their_operations() -> None:
    """An operation has the parameters of all versions of its path, each once."""
    surfaces = [
        Surface(build_test_agent(), f"/{number}", dialects=frozenset(names))
        for number, names in enumerate(((V1_0.name,), (V1_0.name, V1_1_DRAFT.name)))
    ]
    with TestClient(Litestar(plugins=[plugin(*surfaces)])) as client:
        paths = client.get("/schema/openapi.json").json()["paths"]
    parameters = [
        [
            (each["in"], each["name"])
            for each in paths[f"/{number}/tasks/{{id}}"]["get"]["parameters"]
        ]
        for number in range(2)
    ]
    assert ("query", "timelineLength") not in parameters[0]
    assert ("query", "timelineLength") in parameters[1]
    for item in paths.values():
        for operation in item.values():
            found = [(each["in"], each["name"]) for each in operation.get("parameters", [])]
            assert len(found) == len(set(found))


def test_the_document_has_headers_and_errors() -> None:
    """Each operation has the headers that it reads; responses with an error match the error schema
    of their dialect.
    """
    with TestClient(
        Litestar(plugins=[plugin(Surface(build_saying_agent("one"), "/one"))])
    ) as client:
        document = client.get("/schema/openapi.json").json()
        errors = {
            "/one/tasks/{id}": client.get("/one/tasks/x"),
            "/one/v1/tasks/{id}": client.get("/one/v1/tasks/x"),
        }
        call = client.post("/one", json={})
    paths = document["paths"]
    types = document["components"]["schemas"]
    headers = {
        path: {each["name"] for each in paths[path]["post"]["parameters"]}
        - {"A2A-Version", "A2A-Extensions", "id"}
        for path in (
            "/one",
            "/one/message:send",
            "/one/v1/message:stream",
            "/one/tasks/{id}:subscribe",
            "/one/tasks/{id}:cancel",
        )
    }
    assert list(headers.values()) == [
        {"Idempotency-Key", "Last-Event-ID"},
        {"Idempotency-Key"},
        {"Idempotency-Key"},
        {"Last-Event-ID"},
        set(),
    ]
    for path, response in errors.items():
        schema = paths[path]["get"]["responses"]["default"]["content"][
            response.headers["content-type"]
        ]["schema"]
        jsonschema_rs.validate(types[schema["$ref"].rpartition("/")[2]], response.json())
    schema = paths["/one"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = {**schema, "components": document["components"]}
    assert [
        jsonschema_rs.is_valid(answer, each) for each in (call.json(), {"error": {"code": "x"}})
    ] == [True, False]


def test_an_app_without_a_document_stays_without() -> None:
    """No document is added to an app without one."""
    with TestClient(
        Litestar(plugins=[plugin(build_saying_agent("one"))], openapi_config=None)
    ) as client:
        assert texts(client, "") == "one"
