"""Paths of agents and a host in one app: prefixes, conflicts, and errors of the router."""

from __future__ import annotations

import pytest
from integration.host_app import MESSAGE, books, build_saying_agent, plugin, texts
from litestar import Litestar, get
from litestar.exceptions import ImproperlyConfiguredException
from litestar.testing import TestClient

from a2a_runtime.surface import Surface


@pytest.mark.parametrize(
    ("path", "route"), [("/x/tasks", "/x/tasks"), ("/x/message:send", "/x/message:send")]
)
def test_conflicting_routes_of_two_surfaces_are_refused(path: str, route: str) -> None:
    """The error names both surfaces and the route."""
    for surfaces in (
        ((build_saying_agent("one"), "/x"), (build_saying_agent("two"), path)),
        ((build_saying_agent("two"), path), (build_saying_agent("one"), "/x")),
    ):
        with pytest.raises(
            ImproperlyConfiguredException, match=rf"its route {route} is taken by surface "
        ):
            Litestar(plugins=[plugin(*(Surface(*each) for each in surfaces))])


def test_a_surface_at_the_path_of_a_tenant_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It is allowed, but requests of the tenant no longer reach the other surface."""
    with caplog.at_level("INFO"):
        Litestar(
            plugins=[
                plugin(
                    Surface(build_saying_agent("one"), "/x"),
                    Surface(build_saying_agent("two"), "/x/acme"),
                    Surface(build_saying_agent("three"), "/y"),
                )
            ]
        )
    messages = [each.getMessage() for each in caplog.records if "tenant" in each.getMessage()]
    assert messages == [
        "surface '/x/acme' of agent 'two': hides tenant 'acme' of surface '/x' of agent 'one'"
    ]


@pytest.mark.parametrize("root_path", ["", "/proxy"], ids=["alone", "behind a proxy"])
@pytest.mark.parametrize("path", ["", "/one"], ids=["at its root", "below"])
def test_an_app_may_have_a_path_of_its_own(path: str, root_path: str) -> None:
    """Cards, errors of the router and the OpenAPI document have the paths that clients request."""
    app = Litestar(
        [books], path="/prefix", plugins=[plugin(Surface(build_saying_agent("one"), path))]
    )
    with TestClient(app, root_path=root_path) as client:
        card = client.get(f"/prefix{path}/.well-known/agent-card.json").json()
        urls = {each["url"] for each in card["supportedInterfaces"]}
        assert urls == {f"http://testserver.local{root_path}/prefix{path}"}
        assert texts(client, f"/prefix{path}") == "one"
        assert client.get(f"/prefix{path}/nowhere").json()["error"]["code"] == 404
        refused = client.put(f"/prefix{path}/message:send")
        assert (refused.status_code, refused.json()["error"]["code"], refused.headers["allow"]) == (
            405,
            405,
            "POST, OPTIONS",
        )
        assert client.get("/prefixed").json() == {"status_code": 404, "detail": "Not Found"}
        documented = set(client.get("/prefix/schema/openapi.json").json()["paths"])
    assert {
        "/prefix/books",
        f"/prefix{path}",
        f"/prefix{path}/message:send",
        f"/prefix{path}/.well-known/agent-card.json",
    } <= documented
    assert not [each for each in documented if not each.startswith("/prefix")]


@get("/one/more")
async def more() -> str:
    """Answer below an agent."""
    return "more"


@pytest.mark.parametrize("path", ["", "/one"], ids=["at the root", "below"])
def test_the_host_refuses_methods_of_its_own_routes(path: str) -> None:
    """Also below an agent, whose own paths have errors of the protocol."""
    with TestClient(
        Litestar([books, more], plugins=[plugin(Surface(build_saying_agent("one"), path))])
    ) as client:
        for route in ("/books", "/one/more"):
            assert client.delete(route).json() == {
                "status_code": 405,
                "detail": "Method Not Allowed",
            }
        assert client.delete(f"{path}/message:send").json()["error"]["code"] == 405


@pytest.mark.parametrize("root_path", ["", "/proxy"], ids=["alone", "behind a proxy"])
def test_an_invalid_host_header_is_refused_as_the_path_requires(root_path: str) -> None:
    """The router refuses it; below an agent the error is one of the protocol, elsewhere one of the
    host.
    """
    with TestClient(
        Litestar([books], plugins=[plugin(Surface(build_saying_agent("one"), "/one"))]),
        root_path=root_path,
    ) as client:
        refused = client.post("/one/message:send", json=MESSAGE, headers={"Host": "a b"})
        assert (refused.status_code, refused.json()["error"]["message"]) == (
            400,
            "Invalid host header",
        )
        assert client.get("/books", headers={"Host": "a b"}).json() == {
            "status_code": 400,
            "detail": "Invalid host header",
        }
