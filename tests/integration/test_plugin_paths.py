"""Whose a path is, where agents and a host share an app: prefixes, surfaces among each other, and what the router refuses."""

from __future__ import annotations

import pytest
from integration.hosting import MESSAGE, books, plugin, saying, texts
from litestar import Litestar, get
from litestar.exceptions import ImproperlyConfiguredException
from litestar.testing import TestClient

from a2a_runtime.surface import Surface


@pytest.mark.parametrize(("path", "place"), [("/x/tasks", "/x/tasks"), ("/x/message:send", "/x/message:send")])
def test_a_surface_in_another_s_way_is_refused(path: str, place: str) -> None:
    """With both names, and the place that both of them have."""
    for surfaces in ((saying("one"), "/x"), (saying("two"), path)), ((saying("two"), path), (saying("one"), "/x")):
        with pytest.raises(ImproperlyConfiguredException, match=rf"answers at {place}, where agent .* stands already"):
            Litestar(plugins=[plugin(*(Surface(*each) for each in surfaces))])


def test_a_surface_in_a_tenant_s_place_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """It is what was asked for, but the tenant is reached there no more."""
    with caplog.at_level("INFO"):
        Litestar(plugins=[plugin(Surface(saying("one"), "/x"), Surface(saying("two"), "/x/acme"), Surface(saying("three"), "/y"))])
    told = [each.getMessage() for each in caplog.records if "tenant" in each.getMessage()]
    assert told == ["agent 'two' (a surface at /x/acme) stands where a tenant 'acme' of agent 'one' (a surface at /x) would"]


@pytest.mark.parametrize("root_path", ["", "/proxy"], ids=["alone", "behind a proxy"])
@pytest.mark.parametrize("path", ["", "/one"], ids=["at its root", "below"])
def test_an_app_may_have_a_path_of_its_own(path: str, root_path: str) -> None:
    """Cards, errors of the router and the document name the paths that clients ask for."""
    app = Litestar([books], path="/prefix", plugins=[plugin(Surface(saying("one"), path))])
    with TestClient(app, root_path=root_path) as client:
        card = client.get(f"/prefix{path}/.well-known/agent-card.json").json()
        addresses = {each["url"] for each in card["supportedInterfaces"]}
        assert addresses == {f"http://testserver.local{root_path}/prefix{path}"}
        assert texts(client, f"/prefix{path}") == "one"
        assert client.get(f"/prefix{path}/nowhere").json()["error"]["code"] == 404
        refused = client.put(f"/prefix{path}/message:send")
        assert (refused.status_code, refused.json()["error"]["code"], refused.headers["allow"]) == (405, 405, "POST, OPTIONS")
        assert client.get("/prefixed").json() == {"status_code": 404, "detail": "Not Found"}
        documented = set(client.get("/prefix/schema/openapi.json").json()["paths"])
    assert {"/prefix/books", f"/prefix{path}", f"/prefix{path}/message:send", f"/prefix{path}/.well-known/agent-card.json"} <= documented
    assert not [each for each in documented if not each.startswith("/prefix")]


@get("/one/more")
async def more() -> str:
    """Stand below an agent."""
    return "more"


@pytest.mark.parametrize("path", ["", "/one"], ids=["at the root", "below"])
def test_methods_of_a_host_s_routes_are_the_host_s_to_refuse(path: str) -> None:
    """Also where an agent is around them; the agent's own are refused by the protocol."""
    with TestClient(Litestar([books, more], plugins=[plugin(Surface(saying("one"), path))])) as client:
        for route in ("/books", "/one/more"):
            assert client.delete(route).json() == {"status_code": 405, "detail": "Method Not Allowed"}
        assert client.delete(f"{path}/message:send").json()["error"]["code"] == 405


@pytest.mark.parametrize("root_path", ["", "/proxy"], ids=["alone", "behind a proxy"])
def test_a_host_that_is_none_is_refused_in_the_shape_of_the_path(root_path: str) -> None:
    """The router refuses it before anything is placed; below an agent that is the protocol's to tell, elsewhere the host's."""
    with TestClient(Litestar([books], plugins=[plugin(Surface(saying("one"), "/one"))]), root_path=root_path) as client:
        refused = client.post("/one/message:send", json=MESSAGE, headers={"Host": "a b"})
        assert (refused.status_code, refused.json()["error"]["message"]) == (400, "Invalid host header")
        assert client.get("/books", headers={"Host": "a b"}).json() == {"status_code": 400, "detail": "Invalid host header"}
