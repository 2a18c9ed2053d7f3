"""Agents beside what a host's app has: routes, handlers of exceptions, guards, and what is refused at start."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import jsonschema_rs
import pytest
from integration.hosting import MESSAGE, books, plugin, saying, texts
from integration.serving import build_test_agent
from litestar import Controller, Litestar, Request, Response, Router, asgi, get, post
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, ImproperlyConfiguredException, NotAuthorizedException, NotFoundException
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath
from litestar.testing import TestClient
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

from a2a_contract.dialects import V0_3, V1_0
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface


@get("/books/{book:str}")
async def book(book: FromPath[str]) -> str:
    """Find none of them."""
    raise NotFoundException(f"no {book}")


def test_several_agents_stand_beside_the_routes_of_a_host() -> None:
    """Each answers at its own path, and tasks of one do not exist for the other."""
    app = Litestar([books], plugins=[plugin(Surface(saying("one"), "/agents/one"), Surface(saying("two"), "/agents/two"))])
    with TestClient(app) as client:
        assert client.get("/books").json() == ["Momo"]
        assert (texts(client, "/agents/one"), texts(client, "/agents/two")) == ("one", "two")
        task = client.post("/agents/one/message:send", json=MESSAGE).json()["task"]
        assert client.get(f"/agents/one/tasks/{task['id']}").status_code == 200
        assert client.get(f"/agents/two/tasks/{task['id']}").status_code == 404


def test_one_agent_has_several_surfaces() -> None:
    """With other skills, and in other dialects."""
    agent = build_test_agent()
    surfaces = (Surface(agent, "/all"), Surface(agent, "/old", dialects=frozenset((V0_3.name,)), shared_card=V0_3.name, only=frozenset(("echo",))))
    with TestClient(Litestar(plugins=[plugin(*surfaces)])) as client:
        assert len(client.get("/all/.well-known/agent-card.json").json()["skills"]) > 1
        assert [skill["id"] for skill in client.get("/old/.well-known/agent-card.json").json()["skills"]] == ["echo"]
        assert client.post("/old/message:send", json=MESSAGE).status_code == 404


def test_an_app_can_be_started_again() -> None:
    """What is behind the routes is made anew each time; before the first time and in between nobody is served."""
    app = Litestar(plugins=[plugin(Surface(saying("one"), "/one"))])
    for _ in range(2):
        with TestClient(app) as client:
            assert texts(client, "/one") == "one"
    assert app.plugins.get(A2APlugin).runtime is None


def page(_request: Request[Any, Any, Any], error: Exception) -> Response[str]:
    """Answer an error with a page of the host's."""
    return Response(f"<h1>{type(error).__name__}</h1>", media_type="text/html", status_code=getattr(error, "status_code", 418))


@pytest.mark.parametrize(
    "handlers", [{404: page}, {NotFoundException: page}, {HTTPException: page}, {Exception: page}], ids=lambda each: str(list(each))
)
@pytest.mark.parametrize("layer", ["app", "router"])
def test_a_host_s_errors_stay_its_own(handlers: Any, layer: str) -> None:  # noqa: ANN401 - keys of several kinds
    """Whatever a host's handlers of exceptions are made for, and on whichever layer; below an agent's path, errors are the protocol's."""
    router = Router("/", route_handlers=[books, book], exception_handlers=handlers if layer == "router" else None)
    app = Litestar([router], plugins=[plugin(Surface(saying("one"), "/one"))], exception_handlers=handlers if layer == "app" else None)
    with TestClient(app) as client:
        assert client.get("/books/Momo").text == "<h1>NotFoundException</h1>"
        nowhere = client.get("/nowhere")
        assert nowhere.text == "<h1>NotFoundException</h1>" if layer == "app" else nowhere.json() == {"status_code": 404, "detail": "Not Found"}
        assert client.get("/one/nowhere").json()["error"]["code"] == 404
        assert client.get("/oneself").text == nowhere.text


def test_at_the_root_a_host_that_has_a_page_for_strangers_shows_it() -> None:
    """Who mounts an agent at the root and has a word for what is not found keeps it."""
    with TestClient(Litestar([books], plugins=[plugin(saying("one"))], exception_handlers={404: page})) as client:
        assert client.get("/nowhere/at/all").text == "<h1>NotFoundException</h1>"
        assert texts(client, "") == "one"


async def only_ada(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Let in who has the token."""
    if connection.headers.get("authorization") != "Bearer ada":
        raise NotAuthorizedException("who are you?", headers={"WWW-Authenticate": "Bearer"})


def only_ada_in_a_thread(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Look into a database, perhaps."""


def test_a_guard_of_the_host_guards_agents_too() -> None:
    """Its refusal has the shape of the dialect and of the binding, with its challenge."""
    with TestClient(Litestar(plugins=[plugin(Surface(saying("one"), "/one"))], guards=[only_ada])) as client:
        for path, body in (("/one/message:send", MESSAGE), ("/one", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": MESSAGE})):
            refused = client.post(path, json=body)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert refused.json()["error"]["message"] == "who are you?"
            assert client.post(path, json=body, headers={"Authorization": "Bearer ada"}).status_code == 200


def test_a_guard_that_would_cost_a_thread_is_refused() -> None:
    """With its name, and what to do about it."""
    with pytest.raises(ImproperlyConfiguredException, match=r"only_ada_in_a_thread .* no async function.*async def.*gate="):
        Litestar([books], plugins=[plugin(saying("one"))], guards=[only_ada_in_a_thread])


def test_guards_of_the_host_s_own_routes_may_be_what_they_like() -> None:
    """Only what stands before an agent is looked at."""
    app = Litestar(
        [Router("/books", route_handlers=[get("/x")(books.fn)], guards=[only_ada_in_a_thread])], plugins=[plugin(Surface(saying("one"), "/one"))]
    )
    with TestClient(app) as client:
        assert texts(client, "/one") == "one"


@asgi("/one", copy_scope=False)
async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand where an agent stands."""


@post("/one/{user:int}/message:send")
async def with_parameter() -> None:
    """Stand where a tenant stands."""


class Users(Controller):
    """Stands where the endpoint of an agent stands."""

    path = "/one"

    @get("/")
    async def users(self) -> list[str]:
        """List them."""
        return []


@pytest.mark.parametrize(
    ("hosts", "place"),
    [
        ([mounted], "/one"),
        ([with_parameter], "/one/{}/message:send"),
        ([Users], "/one"),
        ([Router("/one", route_handlers=[get("/tasks")(books.fn)])], "/one/tasks"),
    ],
    ids=["asgi", "parameter", "controller", "router"],
)
def test_a_route_of_the_host_in_an_agent_s_way_is_refused(hosts: Sequence[ControllerRouterHandler], place: str) -> None:
    """With both names, the place, and what to do about it."""
    with pytest.raises(
        ImproperlyConfiguredException, match=rf"agent 'one' \(a surface at /one\) answers at {re.escape(place)}, where .* stands already; move"
    ):
        Litestar(list(hosts), plugins=[plugin(Surface(saying("one"), "/one"))])


def test_two_surfaces_at_one_path_are_refused() -> None:
    """With both names."""
    with pytest.raises(ImproperlyConfiguredException, match=r"'two' .* and agent 'one' .* at one path; give one of them another path="):
        Litestar(plugins=[plugin(Surface(saying("one"), "/x"), Surface(saying("two"), "/x"))])


def test_a_plugin_without_an_agent_is_refused() -> None:
    """There is nothing to mount."""
    with pytest.raises(ImproperlyConfiguredException, match="no agent"):
        A2APlugin()


def test_the_document_of_the_app_has_every_path() -> None:
    """Colon paths, the endpoint and the cards of every surface, beside those of the host, and every reference in it leads somewhere."""
    app = Litestar(
        [books], plugins=[plugin(Surface(build_test_agent(), "/one"), Surface(build_test_agent(), "/new", dialects=frozenset((V1_0.name,))))]
    )
    with TestClient(app) as client:
        document = client.get("/schema/openapi.json").json()
    paths = document["paths"]
    assert document["openapi"].startswith("3.1")
    assert {"/books", "/one", "/one/.well-known/agent-card.json", "/one/v1/message:send", "/new/{tenant}/tasks/{id}:cancel"} <= set(paths)
    assert set(paths["/one/tasks/{id}:subscribe"]) == {"get", "post"}
    assert "/new/v1/message:send" not in paths
    references = re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(document))
    assert references
    assert set(references) <= set(document["components"]["schemas"])
    identifiers = [operation["operationId"] for item in paths.values() for operation in item.values() if "operationId" in operation]
    assert len(identifiers) == len(set(identifiers))


def test_the_document_has_headers_and_errors() -> None:
    """The headers are those that each operation heeds; errors have the shape of their dialect, and are as they say."""
    with TestClient(Litestar(plugins=[plugin(Surface(saying("one"), "/one"))])) as client:
        document = client.get("/schema/openapi.json").json()
        refusals = {"/one/tasks/{id}": client.get("/one/tasks/x"), "/one/v1/tasks/{id}": client.get("/one/v1/tasks/x")}
        call = client.post("/one", json={})
    paths, types = document["paths"], document["components"]["schemas"]
    heeded = {
        path: {each["name"] for each in paths[path]["post"]["parameters"]} - {"A2A-Version", "A2A-Extensions", "id"}
        for path in ("/one", "/one/message:send", "/one/v1/message:stream", "/one/tasks/{id}:subscribe", "/one/tasks/{id}:cancel")
    }
    assert list(heeded.values()) == [{"Idempotency-Key", "Last-Event-ID"}, {"Idempotency-Key"}, {"Idempotency-Key"}, {"Last-Event-ID"}, set()]
    for path, refused in refusals.items():
        told = paths[path]["get"]["responses"]["default"]["content"][refused.headers["content-type"]]["schema"]
        jsonschema_rs.validate(types[told["$ref"].rpartition("/")[2]], refused.json())
    told = paths["/one"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = {**told, "components": document["components"]}
    assert [jsonschema_rs.is_valid(answer, each) for each in (call.json(), {"error": {"code": "x"}})] == [True, False]


def test_an_app_without_a_document_stays_without() -> None:
    """Nothing is added to what is not there."""
    with TestClient(Litestar(plugins=[plugin(saying("one"))], openapi_config=None)) as client:
        assert texts(client, "") == "one"
