"""OpenAPI document of a host with the paths of the agents that it mounts.

Paths get the prefix of the mount. Names of the host stay: a component or an operation of the agents
with the same name gets another one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

from a2a_contract.json_types import is_json_array, is_json_object

_COMPONENTS = "#/components/"


def merge_openapi(
    host: Mapping[str, Any], agents: Mapping[str, Any], prefix: str
) -> dict[str, Any]:
    """Return the document of a host with the paths and components of its agents."""
    components = {section: dict(entries) for section, entries in host.get("components", {}).items()}
    renamed: dict[str, str] = {}
    for section, entries in agents.get("components", {}).items():
        taken = components.get(section, {})
        for name in entries:
            own = _find_free(name, prefix, taken)
            renamed[f"{_COMPONENTS}{section}/{name}"] = f"{_COMPONENTS}{section}/{own}"
    for section, entries in agents.get("components", {}).items():
        kept = components.setdefault(section, {})
        for name, component in entries.items():
            own = renamed[f"{_COMPONENTS}{section}/{name}"].rpartition("/")[2]
            kept[own] = _rename(component, renamed)
    paths = dict(host.get("paths", {}))
    operations = set(chain.from_iterable(map(_list_operations, paths.values())))
    for path, item in agents.get("paths", {}).items():
        added = _rename(item, renamed)
        for operation in added.values():
            if is_json_object(operation) and "operationId" in operation:
                operation["operationId"] = _find_free(
                    str(operation["operationId"]), prefix, operations
                )
        paths[prefix if path == "/" else prefix + path] = added
    return {**host, "paths": paths, "components": components}


def _find_free(name: str, prefix: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: itself, or with the path of the mount."""
    if name not in taken:
        return name
    return f"{name}.{prefix.strip('/').replace('/', '.')}"


def _list_operations(path: Mapping[str, Any]) -> list[str]:
    return [
        str(each["operationId"])
        for each in path.values()
        if is_json_object(each) and "operationId" in each
    ]


def _rename(value: Any, renamed: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    """Copy a part of a document with the new names in its references and its security
    requirements.
    """
    if is_json_array(value):
        return [_rename(each, renamed) for each in value]
    if not is_json_object(value):
        return value
    copied: dict[str, Any] = {}
    for name, each in value.items():
        if name == "$ref" and isinstance(each, str):
            copied[name] = renamed.get(each, each)
        elif name == "security" and is_json_array(each):
            copied[name] = [_rename_schemes(requirement, renamed) for requirement in each]
        else:
            copied[name] = _rename(each, renamed)
    return copied


def _rename_schemes(requirement: Any, renamed: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    if not is_json_object(requirement):
        return requirement
    schemes: dict[str, Any] = {}
    for name, scopes in requirement.items():
        pointer = f"{_COMPONENTS}securitySchemes/{name}"
        schemes[renamed.get(pointer, pointer).rpartition("/")[2]] = scopes
    return schemes
