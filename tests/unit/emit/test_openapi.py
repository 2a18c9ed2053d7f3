"""OpenAPI documents of the dialects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from a2a_gen.emit import openapi
from a2a_gen.ir.model import Contract
from a2a_gen.source.documents import Document


@pytest.fixture(scope="module")
def openapi_documents(contract: Contract, documents: Mapping[str, Document]) -> Mapping[str, Any]:
    """Emit the documents of the protocol's contract."""
    return {
        path: json.loads(content) for path, content in openapi.emit(contract, documents).items()
    }


def test_every_dialect_has_a_document(
    openapi_documents: Mapping[str, Any], contract: Contract
) -> None:
    """A form of another dialect has error schemas only, since its paths are those of that
    dialect.
    """
    assert list(openapi_documents) == [
        f"openapi/{dialect.name}.json" for dialect in contract.dialects
    ]
    assert [path for path, document in openapi_documents.items() if not document["paths"]] == [
        "openapi/v0_3_proto.json"
    ]
    assert list(openapi_documents["openapi/mesh.json"]["paths"]) == [
        "/",
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
    ]


def test_references_name_dialect_and_type(
    openapi_documents: Mapping[str, Any], contract: Contract
) -> None:
    """Each reference leads to an error schema of the document or to a type of the dialect."""
    for dialect in contract.dialects:
        document = openapi_documents[f"openapi/{dialect.name}.json"]
        names = {f"{dialect.name}.{each.name}" for each in contract.types(dialect.name)} | set(
            document["components"]["schemas"]
        )
        references = re.findall(r'"\$ref": "([^"]+)"', json.dumps(document))
        assert {
            reference.removeprefix("#/components/schemas/") for reference in references
        } <= names


def test_operations_have_unique_ids_and_their_name_as_tag(
    openapi_documents: Mapping[str, Any], contract: Contract
) -> None:
    """A server finds an operation by its tag, and makes its id unique by a prefix."""
    tags = {"JSON-RPC", "AgentCard", *(each.name for each in contract.operations)}
    for document in openapi_documents.values():
        operations = [
            operation for item in document["paths"].values() for operation in item.values()
        ]
        ids = [each["operationId"] for each in operations if "operationId" in each]
        assert len(ids) == len(set(ids))
        assert {tag for each in operations for tag in each["tags"]} <= tags


def test_members_of_a_request_without_a_body_are_parameters(
    openapi_documents: Mapping[str, Any],
) -> None:
    """Members in the path are path parameters, the others query parameters with the schema of the
    member.
    """
    operation = openapi_documents["openapi/v1_0.json"]["paths"]["/{tenant}/tasks"]["get"]
    found = {each["name"]: (each["in"], each["schema"]) for each in operation["parameters"]}
    assert found["tenant"] == ("path", {"type": "string"})
    assert found["status"][0] == "query"
    assert found["status"][1]["$ref"] == "#/components/schemas/v1_0.TaskState"
    assert "requestBody" not in operation


def test_a_version_that_extends_another_has_its_paths_with_its_own_members(
    openapi_documents: Mapping[str, Any], contract: Contract
) -> None:
    """The paths are shared; requests, results and parameters are those of the version."""
    for dialect in contract.dialects:
        if dialect.extends is None:
            continue
        base, own = (
            openapi_documents[f"openapi/{name}.json"]["paths"]
            for name in (dialect.extends, dialect.name)
        )
        assert base.keys() == own.keys()
        assert f"{dialect.extends}." not in json.dumps(own)
        added = [
            {each["name"] for each in own[path][method]["parameters"]}
            - {each["name"] for each in item[method]["parameters"]}
            for path, item in base.items()
            for method in item
        ]
        assert {"timelineLength", "currentGeneration"} <= set().union(*added)
