"""The generated controllers on Litestar: every operation, over every binding of every dialect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest
from integration.agents import ANSWERS, EVENTS, app_of, read_valid
from integration.minimal_endpoints import RecordingService
from litestar import Litestar
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import DIALECTS
from a2a_contract.operations import OPERATIONS
from a2a_contract.service import AgentService

SCHEMA = Path(__file__).parents[3] / "schema"
TENANT = "acme"
Object = dict[str, object]


def load(file: Path) -> Object:
    """Read a JSON object."""
    loaded = json.loads(file.read_bytes())
    assert isinstance(loaded, dict)
    return loaded


@dataclass(frozen=True)
class Row:
    """One operation over one binding of one dialect, as in the tables of the contract."""

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
    for row in json.loads((SCHEMA / "operations.json").read_bytes())["operations"]:
        for dialect, call in row["dialects"].items():
            about = {"streams": row.get("streams", False), "request": call["request"]}
            for method in (call.get("method"), *call.get("aliases", ())):
                if method:
                    yield Row(row["name"], dialect, result=call["result"], method=method, **about)
            for http in call.get("http", ()):
                verb, _, path = http.partition(" ")
                for prefix in DIALECTS[dialect].http_prefixes:
                    yield Row(
                        row["name"],
                        dialect,
                        result=call.get("http_result", call["result"]),
                        http=f"{verb} {prefix}{path}",
                        **about,
                    )


ROWS = tuple(rows())
every_row = pytest.mark.parametrize("row", ROWS, ids=str)


def find_binding(row: Row) -> AnyBinding:
    """Find the binding of a row by its name."""
    binding = getattr(
        import_module(f"a2a_contract.bindings.{row.dialect}"),
        OPERATIONS[row.operation].service_method.upper(),
    )
    assert binding.operation is OPERATIONS[row.operation]
    return binding  # type: ignore[no-any-return]  # a module's members have no type


def find_example(row: Row) -> Object:
    """Find an example of the request, the one with all members if there is one."""
    if row.request is None:
        return {}
    examples = read_valid(row.dialect, row.request)
    return max(
        examples.items(), key=lambda each: (each[0] == "with-everything", len(json.dumps(each[1])))
    )[1]


def is_valid(dialect: str, name: str | None, document: object) -> bool:
    """Check a document against a type, by the schemas in the package."""
    bundle = json.loads(files("a2a_contract").joinpath("schemas", f"{dialect}.json").read_bytes())
    schema = (
        {"type": "null"} if name is None else {"$ref": f"#/$defs/{name}", "$defs": bundle["$defs"]}
    )
    return jsonschema_rs.validator_for(schema).is_valid(document)


def send(client: TestClient[Litestar], row: Row, request: Object) -> tuple[list[object], Object]:
    """Send a request as in a row; return the results, and the request as far as the row can carry
    it.
    """
    if row.method is not None:
        body = {
            "jsonrpc": "2.0",
            "id": "r-1",
            "method": row.method,
            **({"params": request} if row.request else {}),
        }
        answers = frames(client.post("/", json=body).text, streams=row.streams)
        assert all(each["id"] == "r-1" for each in answers)
        return [each["result"] for each in answers], request
    assert row.http is not None
    verb, _, template = row.http.partition(" ")
    path, carried, in_path = fill(template, request)
    if verb == "POST":
        response = client.post(
            path, json={name: value for name, value in carried.items() if name not in in_path}
        )
    else:
        carried = {name: value for name, value in carried.items() if isinstance(value, str | int)}
        query = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in carried.items()
            if name not in in_path
        }
        response = client.request(verb, path, params=query)
    assert response.status_code == 200, response.text
    return list(frames(response.text, streams=row.streams)), carried


def fill(template: str, request: Object) -> tuple[str, Object, set[str]]:
    """Put members of a request into a path, with a default tenant."""
    in_path = set(re.findall(r"\{(\w+)[=}]", template))
    carried = {"tenant": TENANT, **request} if "tenant" in in_path else dict(request)
    return (
        re.sub(r"\{(\w+)[^}]*\}", lambda found: str(carried[found[1]]), template),
        carried,
        in_path,
    )


def frames(text: str, *, streams: bool) -> list[Object]:
    """Parse a response: one document, or the data of every event."""
    if not streams:
        return [json.loads(text)]
    events = [
        dict(line.split(": ", 1) for line in event.splitlines())
        for event in text.split("\n\n")
        if event
    ]
    assert [event["id"] for event in events] == [
        str(number) for number in range(1, len(events) + 1)
    ]
    return [json.loads(event["data"]) for event in events]


@every_row
def test_every_row_reaches_its_operation(row: Row) -> None:
    """The service gets the operation of the row with the request of the client, and the result has
    the dialect's type.
    """
    service = RecordingService(ANSWERS, EVENTS)
    binding = find_binding(row)
    with TestClient(app_of(service, row.dialect)) as client:
        answers, carried = send(client, row, find_example(row))
    expected = binding.parse(binding.request.model_validate_json(json.dumps(carried)))
    ((operation, request),) = service.calls
    assert operation == OPERATIONS[row.operation].service_method
    assert without_fresh_ids(request) == without_fresh_ids(expected)
    assert len(answers) == (len(EVENTS) if row.streams else 1)
    assert all(is_valid(row.dialect, row.result, each) for each in answers), answers


def without_fresh_ids(request: WireModel) -> Object:
    """Remove the generated identifier of a message in a dialect without one."""
    members = request.to_dict()
    message = members.get("message")
    if isinstance(message, dict):
        return {**members, "message": {**message, "messageId": ""}}
    return members


class Idle(AgentService[None]):
    """A service without operations."""


@every_row
def test_missing_operations_are_unsupported(row: Row) -> None:
    """An operation that a service does not implement is unsupported, in every dialect."""
    example = find_example(row)
    with TestClient(app_of(Idle(), row.dialect)) as client:
        if row.method is not None:
            error = client.post(
                "/", json={"jsonrpc": "2.0", "id": 1, "method": row.method, "params": example}
            ).json()["error"]
        else:
            verb, _, template = str(row.http).partition(" ")
            error = client.request(
                verb, fill(template, example)[0], json=example if verb == "POST" else None
            ).json()
    assert error["message"] == "This operation is not supported"
