"""The generated controllers in a Litestar app: their paths, path parameters and refusals."""

from __future__ import annotations

import pytest
from integration.agents import ANSWERS, CONTROLLERS, app_of
from integration.minimal_endpoints import MinimalEndpoints, RecordingService
from litestar.exceptions import WebSocketDisconnect
from litestar.testing import TestClient

EVERY_DIALECT = ("v1_0", "v0_3", "mesh")


def read_only_id(recorder: RecordingService) -> object:
    """Return the id in the only request of a service."""
    ((_, request),) = recorder.calls
    return request.to_dict()["id"]


IDS: dict[str, tuple[str, str]] = {
    "plain": ("/tasks/t-1", "t-1"),
    "colon": ("/tasks/a:b", "a:b"),
    "escaped colon": ("/tasks/a%3Ab", "a:b"),
    "verb of another method": ("/tasks/a:cancel", "a:cancel"),
    "question mark": ("/tasks/a%3Fb", "a?b"),
    "blank": ("/tasks/a%20b", "a b"),
    "not ASCII": ("/tasks/%E4%BD%A0", "你"),
    "slash at the end": ("/tasks/t-1/", "t-1"),
    "tenant": ("/acme/tasks/t-1", "t-1"),
    "word of a path": ("/tasks/tasks", "tasks"),
    "0.3": ("/v1/tasks/a:b", "a:b"),
}


@pytest.mark.parametrize(("path", "task"), IDS.values(), ids=IDS.keys())
def test_an_id_may_have_any_character_but_a_slash(path: str, task: str) -> None:
    """The path segment is the task id."""
    service = RecordingService(ANSWERS)
    with TestClient(app_of(service, *EVERY_DIALECT)) as client:
        assert client.get(path).status_code == 200
    assert read_only_id(service) == task


VERBS: dict[str, tuple[str, str, str, str]] = {
    "cancel": ("POST", "/tasks/t-1:cancel", "cancel_task", "t-1"),
    "escaped": ("POST", "/tasks/t-1%3Acancel", "cancel_task", "t-1"),
    "id with colons": ("POST", "/tasks/a:b:cancel", "cancel_task", "a:b"),
    "id like the verb": ("POST", "/tasks/cancel:cancel", "cancel_task", "cancel"),
    "subscribe with GET": ("GET", "/tasks/t-1:subscribe", "subscribe_to_task", "t-1"),
    "subscribe with POST": ("POST", "/tasks/t-1:subscribe", "subscribe_to_task", "t-1"),
    "tenant": ("POST", "/acme/tasks/t-1:cancel", "cancel_task", "t-1"),
    "0.3": ("POST", "/v1/tasks/t-1:cancel/", "cancel_task", "t-1"),
}


@pytest.mark.parametrize(("method", "path", "operation", "task"), VERBS.values(), ids=VERBS.keys())
def test_a_verb_follows_the_last_colon(method: str, path: str, operation: str, task: str) -> None:
    """The verb of a path follows its last colon, with or without a body."""
    service = RecordingService(ANSWERS)
    with TestClient(app_of(service, *EVERY_DIALECT)) as client:
        assert client.request(method, path).status_code == 200
    assert (service.calls[0][0], read_only_id(service)) == (operation, task)


REFUSED: dict[str, tuple[str, str, int]] = {
    "GET of a method that is posted": ("GET", "/message:send", 405),
    "PUT": ("PUT", "/tasks/t-1", 405),
    "PATCH": ("PATCH", "/tasks", 405),
    "HEAD": ("HEAD", "/tasks/t-1", 405),
    "OPTIONS": ("OPTIONS", "/v1/tasks/t-1", 405),
    "TRACE": ("TRACE", "/acme/tasks/t-1", 405),
    "POST without a verb": ("POST", "/tasks/t-1", 405),
    "POST of an unknown verb": ("POST", "/tasks/t-1:stop", 405),
    "GET of the endpoint": ("GET", "/", 405),
    "slash in an id": ("GET", "/tasks/a%2Fb", 404),
    "0.3 without its version": ("GET", "/card", 404),
    "unknown path of 0.3": ("GET", "/v1/extendedAgentCard", 404),
    "unknown path": ("GET", "/nothing/here/at/all", 404),
}


@pytest.mark.parametrize(("method", "path", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_unknown_paths_and_methods_are_refused(method: str, path: str, status: int) -> None:
    """A wrong HTTP method reaches the endpoint; an unknown path is answered by the app."""
    service = RecordingService(ANSWERS)
    with TestClient(app_of(service, *EVERY_DIALECT)) as client:
        assert client.request(method, path).status_code == status
    assert service.calls == []


def test_the_allowed_methods_are_listed() -> None:
    """The endpoint knows the methods of its path."""
    with TestClient(app_of(RecordingService(ANSWERS), *EVERY_DIALECT)) as client:
        assert client.put("/tasks/t-1:subscribe").headers["allow"] == "GET, POST"


@pytest.mark.parametrize("path", ["/agents/echo", "/agents/echo/"])
def test_a_trailing_slash_is_optional(path: str) -> None:
    """A path with a trailing slash is served without a redirect."""
    with TestClient(
        app_of(RecordingService(ANSWERS), "mesh", path="/agents/echo"), raise_server_exceptions=True
    ) as client:
        answer = client.post(
            path,
            json={"id": {"any": "thing"}, "method": "tasks/get", "params": {"id": "t-1"}},
            follow_redirects=False,
        )
    assert (answer.status_code, answer.json()["id"]) == (200, {"any": "thing"})


CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


@pytest.mark.parametrize("path", [*CARDS, *(f"{path}/" for path in CARDS)])
@pytest.mark.parametrize("prefix", ["", "/agents/echo"], ids=["root", "agent"])
def test_a_card_has_every_path_that_clients_read(path: str, prefix: str) -> None:
    """Both paths, with and without a trailing slash, know the dialects of their clients."""
    with TestClient(
        app_of(RecordingService(ANSWERS), *EVERY_DIALECT, path=prefix or "/")
    ) as client:
        answer = client.get(f"{prefix}{path}", follow_redirects=False)
    assert answer.status_code == 200
    assert answer.json() == {
        "path": path.rstrip("/"),
        "dialects": ["v1_0", "v1_1_draft", "v0_3"] if "card" in path else ["v0_3", "mesh"],
    }


def test_each_mount_has_its_own_endpoints() -> None:
    """The same controllers can be mounted for two agents."""
    first = RecordingService(ANSWERS)
    second = RecordingService(ANSWERS)
    app = app_of(first, *EVERY_DIALECT)
    for controller in CONTROLLERS:
        app.register(controller.at("/agents/second", MinimalEndpoints(second, *EVERY_DIALECT)))
    with TestClient(app) as client:
        assert client.get("/agents/second/tasks/two").status_code == 200
        assert client.get("/tasks/one").status_code == 200
    assert (read_only_id(first), read_only_id(second)) == ("one", "two")


def test_a_shared_method_is_parsed_by_the_first_dialect() -> None:
    """Each of the dialects can also be the only one."""
    for dialects in (("v0_3", "mesh"), ("mesh", "v0_3"), ("mesh",), ("v0_3",)):
        service = RecordingService(ANSWERS)
        with TestClient(app_of(service, *dialects)) as client:
            answer = client.post(
                "/",
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tasks/cancel",
                    "params": {"id": "t", "reason": "late", "metadata": {"a": 1}},
                },
            )
        assert ("kind" in answer.json()["result"]) == (dialects[0] == "v0_3")
        assert service.calls[0][1].to_dict() == {
            "id": "t",
            "metadata": {"a": 1} if dialects[0] == "v0_3" else {"reason": "late"},
        }


METHODS_BY_SURFACE = {
    "1.0": (("v1_0",), {"GetTask"}),
    "0.3": (("v0_3",), {"tasks/get"}),
    "mesh": (("mesh",), {"tasks/get", "tasks/send"}),
    "1.0 and 0.3": (("v1_0", "v0_3"), {"GetTask", "tasks/get"}),
    "1.0 and mesh": (("v1_0", "mesh"), {"GetTask", "tasks/get", "tasks/send"}),
}


@pytest.mark.parametrize(
    ("dialects", "known"), METHODS_BY_SURFACE.values(), ids=METHODS_BY_SURFACE.keys()
)
def test_methods_of_other_dialects_are_not_found(
    dialects: tuple[str, ...], known: set[str]
) -> None:
    """A surface has the methods of its dialects only."""
    found = set()
    with TestClient(app_of(RecordingService(ANSWERS), *dialects)) as client:
        for method in ("GetTask", "tasks/get", "tasks/send", "nothing"):
            answer = client.post(
                "/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "t"}}
            ).json()
            if answer.get("error", {}).get("code") != -32601:
                found.add(method)
    assert found == known


def test_websockets_reach_the_endpoint() -> None:
    """Litestar passes them on, and the endpoint rejects them."""
    with (
        TestClient(app_of(RecordingService(ANSWERS), "v1_0")) as client,
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/"),
    ):
        pass


def test_requirements_are_checked_in_every_binding() -> None:
    """A request needs more than its model does; each field path is that of the dialect."""
    empty = {"message": {"messageId": "", "role": "ROLE_USER", "parts": []}}
    with TestClient(app_of(RecordingService(ANSWERS), "v1_0")) as client:
        error = client.post(
            "/", json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": empty}
        ).json()["error"]
        fields = client.post("/message:send", json=empty).json()["fields"]
    assert (
        [path for path, _ in fields]
        == [path for path, _ in error["data"]]
        == ["message.messageId", "message.parts"]
    )
    assert error["code"] == -32602
