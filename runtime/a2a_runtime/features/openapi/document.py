"""OpenAPI 3.1 of the surfaces of an app, colon paths included.

Litestar knows the handlers but not their types: they receive bytes. Paths, parameters and error
schemas come from the contract, one document per dialect. Here the documents of a surface are
merged, prefixed and tagged, and get the headers and the security of the runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from litestar import Litestar
from litestar._openapi.plugin import OpenAPIPlugin
from pydantic_core import from_json

import a2a_contract
from a2a_contract.dialects import Dialect, Parameter
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.operations import (
    OPERATIONS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.routes.cards import CARDS
from a2a_contract.translate.v0_3 import write_security_scheme  # 0.3 has those of OpenAPI
from a2a_contract.v1_0 import SecurityRequirement
from a2a_runtime.features.openapi.components import Json, header_parameter, skill_operation
from a2a_runtime.http.asgi import IDEMPOTENCY_KEY, LAST_EVENT_ID
from a2a_runtime.http.negotiation import expand_dialects
from a2a_runtime.skills.paths import SKILLS
from a2a_runtime.surface import Surface

_HEADERS: Mapping[str, tuple[Parameter, ...]] = {
    "JSON-RPC": (IDEMPOTENCY_KEY, LAST_EVENT_ID),
    SEND_MESSAGE.name: (IDEMPOTENCY_KEY,),
    SEND_STREAMING_MESSAGE.name: (IDEMPOTENCY_KEY,),
    SUBSCRIBE_TO_TASK.name: (LAST_EVENT_ID,),
}
"""Headers of the runtime, by the tag of an operation in the contract."""
_TENANT = "{tenant}"
_SCHEMAS = "#/components/schemas/"
_LOCATIONS = ("path", "header", "query")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def extend_openapi(app: Litestar, surfaces: Sequence[Surface]) -> None:
    """Add the paths and types of surfaces to the OpenAPI document of an app, if it has one."""
    if app.openapi_config is None:
        return
    plugin: Any = app.plugins.get(OpenAPIPlugin)
    # The document that the plugin keeps has what a source had offered before.
    plugin._openapi = plugin._openapi_schema = None  # noqa: SLF001
    # Its classes know no paths that are plain JSON, but serialize them unchanged.
    document: Any = app.openapi_schema
    surfaces = select_documented(surfaces)
    prefix = app.path.rstrip("/")
    paths: Json = {}
    for surface in surfaces:
        for path, item in build_paths(surface):
            paths[(prefix + path).rstrip("/") or "/"] = item
    document.paths = {**(document.paths or {}), **paths}
    document.components.schemas = {
        **document.components.schemas,
        **_select_reachable(build_schemas(surfaces), paths),
    }
    if schemes := security_schemes(surfaces):
        document.components.security_schemes = {
            **(document.components.security_schemes or {}),
            **schemes,
        }


def select_documented(surfaces: Sequence[Surface]) -> Sequence[Surface]:
    """Select the surfaces that the document tells of: a private card is not told to every reader of
    the document.
    """
    return [each for each in surfaces if _is_documented(each)]


def _is_documented(surface: Surface) -> bool:
    included = surface.routes.include_in_schema
    if included is None:
        return surface.public_card is not False
    return included


def security_schemes(surfaces: Sequence[Surface]) -> Json:
    """Collect the security schemes of surfaces."""
    schemes: Json = {}
    for surface in surfaces:
        for name, scheme in surface.security_schemes.items():
            schemes[_scheme_name(surface, name)] = write_security_scheme(scheme.to_dict())
    return schemes


def build_schemas(surfaces: Sequence[Surface]) -> Json:
    """Collect the types and errors of all dialects of surfaces; each name begins with that of its
    dialect.
    """
    names = set[str]().union(*(surface.dialects for surface in surfaces))
    dialects = sorted(expand_dialects(names), key=lambda each: each.name)
    schemas: Json = {}
    for dialect in dialects:
        for name, schema in _read_types(dialect).items():
            schemas[f"{dialect.name}.{name}"] = schema
    for dialect in dialects:
        schemas |= _read_document(dialect)["components"]["schemas"]
    return schemas


def build_paths(surface: Surface) -> Iterator[tuple[str, Json]]:
    """Build the path items of a surface: those of its dialects, and the calls of its skills."""
    dialects = expand_dialects(surface.dialects)
    paths: Json = {}
    for dialect in dialects:
        paths = _merge(paths, _select_paths(surface, _read_document(dialect)["paths"]))
    callers = [each for each in dialects if "/" in _read_document(each)["paths"]]
    paths["/"] = {
        "post": {
            **paths["/"]["post"],
            "summary": "JSON-RPC: " + ", ".join(each.title for each in callers),
        }
    }
    for skill in surface.skills.values():
        if skill.contract is not None and not skill.only_extended:
            ids: Json = {
                "tags": [],
                "operationId": "_".join(re.findall(r"\w+", f"call {skill.id}")),
            }
            paths[f"{SKILLS}/{skill.id}"] = {
                "post": ids | skill_operation(skill, skill.contract, dialects[0])
            }
    public_paths = set[str]()
    if surface.public_card is not False:
        public_paths = {card.path for card in CARDS}
    for path, item in paths.items():
        operations = {
            method: _adapt_operation(surface, operation, is_public=path in public_paths)
            for method, operation in item.items()
        }
        if path == "/":
            yield surface.path or "/", operations
        else:
            yield surface.path + path, operations


def _select_paths(surface: Surface, paths: Json) -> Json:
    """Select the operations that an agent has by its capabilities; each of them once, unless paths
    with a tenant are wanted too.
    """
    missing = {
        each.name
        for each in OPERATIONS.values()
        if each.capability and not getattr(surface.agent.capabilities, each.capability)
    }
    selected: Json = {}
    for path, item in paths.items():
        if _TENANT in path and not surface.routes.tenants_in_schema:
            continue
        operations = {
            method: operation
            for method, operation in item.items()
            if missing.isdisjoint(operation["tags"])
        }
        if operations:
            selected[path] = operations
    return selected


def _select_reachable(schemas: Json, *roots: object) -> Json:
    """Select the schemas to which some JSON refers, and those to which they refer."""
    found: Json = {}
    pending: list[object] = [*roots]
    while pending:
        value = pending.pop()
        if is_json_object(value):
            name = str(value.get("$ref", "")).removeprefix(_SCHEMAS)
            if name in schemas and name not in found:
                found[name] = schemas[name]
                pending.append(schemas[name])
            pending.extend(value.values())
        elif is_json_array(value):
            pending.extend(value)
    return {name: schema for name, schema in schemas.items() if name in found}


def _merge(one: object, other: object) -> Any:  # noqa: ANN401 - any JSON
    """Merge two JSON values: objects member by member, lists without duplicates; else the first
    value wins.
    """
    if is_json_object(one) and is_json_object(other):
        return {
            **one,
            **other,
            **{name: _merge(one[name], other[name]) for name in one.keys() & other.keys()},
        }
    if is_json_array(one) and is_json_array(other):
        return [*one, *(each for each in other if each not in one)]
    return one


def _adapt_operation(surface: Surface, operation: Json, *, is_public: bool) -> Json:
    """Tag an operation with its agent, make its id unique among surfaces, and add the headers and
    security of the runtime.
    """
    names = chain.from_iterable(_HEADERS.get(tag, ()) for tag in operation["tags"])
    headers = [header_parameter(each) for each in names]
    adapted = {**operation, "tags": [*(surface.routes.tags or (surface.agent.name,))]}
    if "parameters" in operation:
        adapted["parameters"] = _list_parameters([*operation["parameters"], *headers])
    if "operationId" in operation:
        adapted["operationId"] = "_".join(
            [*re.findall(r"\w+", surface.path), operation["operationId"]]
        )
    if requirements := surface.security_requirements:
        needed = [_name_requirement(surface, each) for each in requirements]
        adapted["security"] = [] if is_public else needed
    return adapted


def _name_requirement(surface: Surface, requirement: SecurityRequirement) -> Json:
    """Name the schemes of a requirement as in the document, each with its scopes."""
    schemes = requirement.schemes or {}
    return {_scheme_name(surface, name): scopes.list_ or [] for name, scopes in schemes.items()}


def _list_parameters(parameters: Sequence[Json]) -> list[Json]:
    """List the parameters by location.

    Versions that share a path share its parameters, too: the first of two with one name describes
    both.
    """
    found: dict[object, Json] = {}
    for each in parameters:
        found.setdefault((each["in"], each["name"]), each)
    return sorted(found.values(), key=lambda each: _LOCATIONS.index(each["in"]))


def _scheme_name(surface: Surface, scheme: str) -> str:
    """Build a name that differs from those of other surfaces."""
    return _NOT_IN_NAMES.sub("-", f"{surface.path}-{scheme}").strip("-")


@cache
def _read_document(dialect: Dialect) -> Json:
    document: Json = from_json(
        files(a2a_contract).joinpath("openapi", f"{dialect.name}.json").read_bytes()
    )
    return document


@cache
def _read_types(dialect: Dialect) -> Json:
    """Read the types of a dialect, with references as in an OpenAPI document."""
    text = (
        files(a2a_contract).joinpath("schemas", f"{dialect.name}.json").read_text(encoding="utf-8")
    )
    types: Json = from_json(text.replace("#/$defs/", f"#/components/schemas/{dialect.name}."))[
        "$defs"
    ]
    return types
