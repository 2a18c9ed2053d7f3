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
from integration.agents import ANSWERS, EVENTS, EXAMPLES, app_of
from integration.minimal_endpoints import RecordingService
from litestar import Litestar
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.operations import OPERATIONS
from a2a_contract.service import AgentService

SCHEMA = Path(__file__).parents[2] / "schema"
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
    service, binding = RecordingService(ANSWERS, EVENTS), binding_of(row)
    with TestClient(app_of(service, row.dialect)) as client:
        answers, carried = ask(client, row, example_of(row))
    meant = binding.parse(binding.request.model_validate_json(json.dumps(carried)))
    ((asked, request),) = service.calls
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
