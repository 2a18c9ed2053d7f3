"""The generated controllers on Litestar: every row of the table of operations, over every binding of every dialect that has it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest
from integration.small_exchange import Recorder, SmallExchange
from litestar import Litestar
from litestar.exceptions import WebSocketDisconnect
from litestar.testing import TestClient

from a2a_contract import v1_0
from a2a_contract.base import Encoded, WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.controllers import CardController, HttpV03Controller, HttpV10Controller, JsonRpcController
from a2a_contract.operations import OPERATIONS
from a2a_contract.service import AgentService

SCHEMA = Path(__file__).parents[2] / "schema"
EXAMPLES = SCHEMA / "examples" / "valid"
TENANT = "acme"
Object = dict[str, object]


def load(file: Path) -> Object:
    """Read a JSON object."""
    loaded = json.loads(file.read_bytes())
    assert isinstance(loaded, dict)
    return loaded


@dataclass(frozen=True)
class Row:
    """One way to ask for one operation, as the tables of the contract say it."""

    operation: str
    dialect: str
    request: str | None
    result: str | None
    method: str | None = None
    http: str | None = None
    streams: bool = False

    def __str__(self) -> str:
        return f"{self.dialect} {self.method or self.http}"


def rows() -> Iterator[Row]:
    """Read every row, HTTP paths below every prefix of their dialect."""
    prefixes: Mapping[str, list[str]] = {
        each["name"]: each["http_prefixes"] for each in json.loads((SCHEMA / "dialects.json").read_bytes())["dialects"]
    }
    for row in json.loads((SCHEMA / "operations.json").read_bytes())["operations"]:
        for dialect, call in row["dialects"].items():
            about = {"streams": row.get("streams", False), "request": call["request"]}
            for method in (call.get("method"), *call.get("aliases", ())):
                if method:
                    yield Row(row["name"], dialect, result=call["result"], method=method, **about)
            for http in call.get("http", ()):
                verb, _, path = http.partition(" ")
                for prefix in prefixes[dialect]:
                    yield Row(row["name"], dialect, result=call.get("http_result", call["result"]), http=f"{verb} {prefix}{path}", **about)


ROWS = tuple(rows())
every_row = pytest.mark.parametrize("row", ROWS, ids=str)


def canonical(name: str, example: str) -> Encoded[WireModel]:
    """Read an example of a canonical type."""
    model: type[WireModel] = getattr(v1_0, name)
    return Encoded.of(model.model_validate_json((EXAMPLES / "v1_0" / name / f"{example}.json").read_bytes()))


ANSWERS: Mapping[str, Encoded[WireModel] | None] = {
    "send_message": canonical("SendMessageResponse", "task"),
    "get_task": canonical("Task", "with-everything"),
    "list_tasks": canonical("ListTasksResponse", "with-more"),
    "cancel_task": canonical("Task", "with-history"),
    "create_task_push_notification_config": canonical("TaskPushNotificationConfig", "with-everything"),
    "get_task_push_notification_config": canonical("TaskPushNotificationConfig", "with-everything"),
    "list_task_push_notification_configs": canonical("ListTaskPushNotificationConfigsResponse", "with-more"),
    "delete_task_push_notification_config": None,
    "get_extended_agent_card": canonical("AgentCard", "route-planner"),
}
EVENTS = (canonical("StreamResponse", "artifact-update"), canonical("StreamResponse", "status-update"))


def app_of(service: object, *dialects: str, path: str = "/") -> Litestar:
    """Mount an agent that speaks some dialects."""
    exchange = SmallExchange(service, *dialects)
    controllers = (JsonRpcController, HttpV10Controller, HttpV03Controller, CardController)
    return Litestar([controller.at(path, exchange) for controller in controllers])


def binding_of(row: Row) -> AnyBinding:
    """Find the binding of a row by its name."""
    binding = getattr(import_module(f"a2a_contract.bindings.{row.dialect}"), OPERATIONS[row.operation].service_method.upper())
    assert binding.operation is OPERATIONS[row.operation]
    return binding  # type: ignore[no-any-return]  # a module's members have no type


def example_of(row: Row) -> Object:
    """Take an example of the request, the one with everything if there is one; an operation without a request is asked nothing."""
    if row.request is None:
        return {}
    examples = sorted((EXAMPLES / row.dialect / row.request).glob("*.json"), key=lambda file: (file.stem == "with-everything", file.stat().st_size))
    return load(examples[-1])


def fits(dialect: str, name: str | None, document: object) -> bool:
    """Say whether a document is of a type, by the schemas that travel in the package."""
    bundle = json.loads(files("a2a_contract").joinpath("schemas", f"{dialect}.json").read_bytes())
    schema = {"type": "null"} if name is None else {"$ref": f"#/$defs/{name}", "$defs": bundle["$defs"]}
    return jsonschema_rs.validator_for(schema).is_valid(document)


def ask(client: TestClient[Litestar], row: Row, request: Object) -> tuple[list[object], Object]:
    """Send a request as a row says, and give what came back with the request as the row can carry it."""
    if row.method is not None:
        body = {"jsonrpc": "2.0", "id": "r-1", "method": row.method, **({"params": request} if row.request else {})}
        answers = frames(client.post("/", json=body).text, streams=row.streams)
        assert all(each["id"] == "r-1" for each in answers)
        return [each["result"] for each in answers], request
    assert row.http is not None
    verb, _, template = row.http.partition(" ")
    path, carried, in_path = fill(template, request)
    if verb == "POST":
        response = client.post(path, json={name: value for name, value in carried.items() if name not in in_path})
    else:
        carried = {name: value for name, value in carried.items() if isinstance(value, str | int)}
        query = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in carried.items() if name not in in_path}
        response = client.request(verb, path, params=query)
    assert response.status_code == 200, response.text
    return list(frames(response.text, streams=row.streams)), carried


def fill(template: str, request: Object) -> tuple[str, Object, set[str]]:
    """Put members of a request into a path; a tenant is made up where the request has none."""
    in_path = set(re.findall(r"\{(\w+)[=}]", template))
    carried = {"tenant": TENANT, **request} if "tenant" in in_path else dict(request)
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: str(carried[found[1]]), template), carried, in_path


def frames(text: str, *, streams: bool) -> list[Object]:
    """Read an answer: one document, or the data of every event."""
    if not streams:
        return [json.loads(text)]
    events = [dict(line.split(": ", 1) for line in event.splitlines()) for event in text.split("\n\n") if event]
    assert [event["id"] for event in events] == [str(number) for number in range(1, len(events) + 1)]
    return [json.loads(event["data"]) for event in events]


@every_row
def test_a_row_is_asked_and_answered(row: Row) -> None:
    """The service is asked the operation of the row with the request as the client meant it, and the answer is of the dialect's type."""
    service, binding = Recorder(ANSWERS, EVENTS), binding_of(row)
    with TestClient(app_of(service, row.dialect)) as client:
        answers, carried = ask(client, row, example_of(row))
    meant = binding.take(binding.request.model_validate_json(json.dumps(carried)))
    ((asked, request),) = service.asked
    assert asked == OPERATIONS[row.operation].service_method
    assert without_fresh_ids(request) == without_fresh_ids(meant)
    assert len(answers) == (len(EVENTS) if row.streams else 1)
    assert all(fits(row.dialect, row.result, each) for each in answers), answers


def without_fresh_ids(request: WireModel) -> Object:
    """Leave out the identifier that is made up for a message where a dialect has none."""
    members = request.to_dict()
    message = members.get("message")
    return {**members, "message": {**message, "messageId": ""}} if isinstance(message, dict) else members


class Idle(AgentService[None]):
    """A service that has no operation at all."""


@every_row
def test_a_service_refuses_what_it_has_not(row: Row) -> None:
    """An operation that a service leaves out is unsupported, in every form of the protocol."""
    example = example_of(row)
    with TestClient(app_of(Idle(), row.dialect)) as client:
        if row.method is not None:
            error = client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": row.method, "params": example}).json()["error"]
        else:
            verb, _, template = str(row.http).partition(" ")
            error = client.request(verb, fill(template, example)[0], json=example if verb == "POST" else None).json()
    assert error["message"] == "This operation is not supported"


EVERY_DIALECT = ("v1_0", "v0_3", "mesh")


def asked_of(recorder: Recorder) -> object:
    """Give the id in the one request that a service got."""
    ((_, request),) = recorder.asked
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
def test_an_id_may_hold_anything_but_a_slash(path: str, task: str) -> None:
    """What stands in the path is the id of the task."""
    service = Recorder(ANSWERS)
    with TestClient(app_of(service, *EVERY_DIALECT)) as client:
        assert client.get(path).status_code == 200
    assert asked_of(service) == task


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
    """A verb is split off, with or without a body."""
    service = Recorder(ANSWERS)
    with TestClient(app_of(service, *EVERY_DIALECT)) as client:
        assert client.request(method, path).status_code == 200
    assert (service.asked[0][0], asked_of(service)) == (operation, task)


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
def test_what_is_not_there_is_refused(method: str, path: str, status: int) -> None:
    """A wrong HTTP method reaches the exchange, which knows the right ones; an unknown path is the application's."""
    service = Recorder(ANSWERS)
    with TestClient(app_of(service, *EVERY_DIALECT)) as client:
        assert client.request(method, path).status_code == status
    assert service.asked == []


def test_a_wrong_method_learns_the_right_ones() -> None:
    """The exchange can say which methods the path takes."""
    with TestClient(app_of(Recorder(ANSWERS), *EVERY_DIALECT)) as client:
        assert client.put("/tasks/t-1:subscribe").headers["allow"] == "GET, POST"


@pytest.mark.parametrize("path", ["/agents/echo", "/agents/echo/"])
def test_an_endpoint_answers_with_and_without_a_slash(path: str) -> None:
    """Nobody is sent elsewhere."""
    with TestClient(app_of(Recorder(ANSWERS), "mesh", path="/agents/echo"), raise_server_exceptions=True) as client:
        answer = client.post(path, json={"id": {"any": "thing"}, "method": "tasks/get", "params": {"id": "t-1"}}, follow_redirects=False)
    assert (answer.status_code, answer.json()["id"]) == (200, {"any": "thing"})


CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


@pytest.mark.parametrize("path", [*CARDS, *(f"{path}/" for path in CARDS)])
@pytest.mark.parametrize("prefix", ["", "/agents/echo"], ids=["root", "agent"])
def test_a_card_is_where_clients_look(path: str, prefix: str) -> None:
    """Both paths of cards answer, with and without a slash, and say whose clients look there."""
    with TestClient(app_of(Recorder(ANSWERS), *EVERY_DIALECT, path=prefix or "/")) as client:
        answer = client.get(f"{prefix}{path}", follow_redirects=False)
    assert answer.status_code == 200
    assert answer.json() == {"path": path.rstrip("/"), "dialects": ["v1_0", "v0_3"] if "card" in path else ["v0_3", "mesh"]}


def test_each_mount_has_its_own_exchange() -> None:
    """The same controllers can be mounted twice, for two agents, beside routes of the host."""
    first, second = Recorder(ANSWERS), Recorder(ANSWERS)
    app = app_of(first, *EVERY_DIALECT)
    for controller in (JsonRpcController, HttpV10Controller, HttpV03Controller, CardController):
        app.register(controller.at("/agents/second", SmallExchange(second, *EVERY_DIALECT)))
    with TestClient(app) as client:
        assert client.get("/agents/second/tasks/two").status_code == 200
        assert client.get("/tasks/one").status_code == 200
    assert (asked_of(first), asked_of(second)) == ("one", "two")


def test_a_shared_method_is_read_as_the_first_dialect_means_it() -> None:
    """Where two dialects have a method, both readings are there, and each alone works."""
    for dialects in (("v0_3", "mesh"), ("mesh", "v0_3"), ("mesh",), ("v0_3",)):
        service = Recorder(ANSWERS)
        with TestClient(app_of(service, *dialects)) as client:
            answer = client.post(
                "/", json={"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": "t", "reason": "late", "metadata": {"a": 1}}}
            )
        assert ("kind" in answer.json()["result"]) == (dialects[0] == "v0_3")
        assert service.asked[0][1].to_dict() == {"id": "t", "metadata": {"a": 1} if dialects[0] == "v0_3" else {"reason": "late"}}


@pytest.mark.parametrize(
    ("dialects", "known"),
    [(("v1_0",), "GetTask"), (("v0_3",), "tasks/get"), (("v1_0", "v0_3"), "tasks/get"), (("v1_0", "mesh"), "tasks/send")],
    ids=["1.0", "0.3", "1.0 and 0.3", "1.0 and mesh"],
)
def test_a_surface_speaks_its_dialects_only(dialects: tuple[str, ...], known: str) -> None:
    """The methods of dialects that a surface has not are not found."""
    with TestClient(app_of(Recorder(ANSWERS), *dialects)) as client:
        for method in (known, "GetTask", "message/send", "tasks/send", "nothing"):
            error = client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method}).json().get("error", {"code": 0})
            has = method == known or any(row.method == method and row.dialect in dialects for row in ROWS)
            assert (error["code"] == -32601) != has


def test_nobody_gets_past_the_exchange_with_a_websocket() -> None:
    """Litestar hands WebSockets to the endpoint too; they are the exchange's to refuse."""
    with TestClient(app_of(Recorder(ANSWERS), "v1_0")) as client, pytest.raises(WebSocketDisconnect), client.websocket_connect("/"):
        pass


def test_a_demand_is_made_over_every_binding() -> None:
    """What the model forgives, a request must have; each place is named as the dialect names it."""
    empty = {"message": {"messageId": "", "role": "ROLE_USER", "parts": []}}
    with TestClient(app_of(Recorder(ANSWERS), "v1_0")) as client:
        error = client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": empty}).json()["error"]
        fields = client.post("/message:send", json=empty).json()["fields"]
    assert [place for place, _ in fields] == [place for place, _ in error["data"]] == ["message.messageId", "message.parts"]
    assert error["code"] == -32602
