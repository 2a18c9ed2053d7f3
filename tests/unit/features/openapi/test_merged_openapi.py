"""One OpenAPI document for a host and its agents: no name stands for two things."""

from __future__ import annotations

from typing import Any

from a2a_runtime.features.openapi.merged import merge_openapi


def build_document(path: str, title: str) -> dict[str, Any]:
    """Build a document with one operation, whose schema and security scheme have usual names."""
    operation = {
        "operationId": "call",
        "security": [{"key": []}],
        "responses": {
            "200": {
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}
            }
        },
    }
    components = {
        "schemas": {"Item": {"title": title}},
        "securitySchemes": {"key": {"description": title}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": title},
        "paths": {path: {"get": operation}},
        "components": components,
    }


def test_names_of_the_host_stay() -> None:
    """A name of the agents that is taken gets the path of the mount, in references and requirements
    too.
    """
    host = build_document("/items", "host")
    agents = build_document("/", "agents")
    merged = merge_openapi(host, agents, "/my/agent")
    assert merged["info"] == {"title": "host"}
    assert merged["paths"]["/items"] == host["paths"]["/items"]
    added = merged["paths"]["/my/agent"]["get"]
    assert (added["operationId"], added["security"]) == ("call.my.agent", [{"key.my.agent": []}])
    schema = added["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/Item.my.agent"}
    assert {name: each["title"] for name, each in merged["components"]["schemas"].items()} == {
        "Item": "host",
        "Item.my.agent": "agents",
    }
    assert (host, agents) == (build_document("/items", "host"), build_document("/", "agents"))


def test_free_names_stay() -> None:
    """A host without components takes those of its agents as they are."""
    merged = merge_openapi(
        {"openapi": "3.1.0", "paths": {}}, build_document("/tasks", "agents"), "/agent"
    )
    assert [*merged["paths"]] == ["/agent/tasks"]
    assert [*merged["components"]["schemas"]] == ["Item"]
    assert merged["paths"]["/agent/tasks"]["get"]["operationId"] == "call"
