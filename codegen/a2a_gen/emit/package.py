"""The package: its lazy exports, service protocols, support files, schema bundles and Litestar
controllers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from a2a_gen.emit import routes
from a2a_gen.emit.render import Code, header, render
from a2a_gen.ir.model import EXTENSIONS_FOLDER, Contract, ContractDialect, OperationRow
from a2a_gen.ir.names import class_name
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json

# Exports beside the canonical types and the errors; none may import litestar.
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "base": ("Encoded",),
    "dialects": ("DIALECTS",),
    "errors": ("ERRORS",),
    "lifecycle": ("LIFECYCLE", "State"),
    "operations": ("OPERATIONS",),
    "service": ("AgentService", "Endpoints", "Event"),
}


def emit_package(contract: Contract) -> dict[str, bytes]:
    """Emit the module of the package."""
    homes = dict(_OTHERS)
    homes["errors"] += (contract.error_root, *(row.name for row in contract.errors))
    homes[contract.canonical] = tuple(
        definition.name for definition in contract.types(contract.canonical)
    )
    return {
        "__init__.py": render(
            "package.py.jinja",
            sources=("the contract",),
            says=(
                "Python contract of the protocol: models, tables, translations and controllers, "
                "all generated from its schemas."
            ),
            homes=[(home, sorted(names)) for home, names in sorted(homes.items())],
            names=sorted(chain.from_iterable(homes.values())),
        ),
        "py.typed": b"",
    }


# --- protocols on both sides of the generated controllers: the agent's operations, and the
# dispatcher around them ---


def emit_protocols(contract: Contract) -> dict[str, bytes]:
    """Emit the module of the protocols."""
    names = chain.from_iterable((each.request, each.response) for each in contract.operations)
    types = sorted(set(filter(None, names)))
    methods = [_method(each) for each in contract.operations]
    return {
        f"{name}.py": render(
            f"{name}.py.jinja",
            sources=("operations.json",),
            canonical=contract.canonical,
            types=types,
            operations=methods,
        )
        for name in ("interceptor", "service")
    }


def _method(operation: OperationRow) -> Mapping[str, object]:
    answer = f"Encoded[{operation.response}]" if operation.response else "None"
    events = f"Event[{operation.response}]"
    return {
        "row": operation,
        "keyword": Code("def" if operation.streams else "async def"),
        "returns": Code(f"AsyncIterator[{events}]" if operation.streams else answer),
        "intercepted": Code(f"AsyncGenerator[{events}, None]" if operation.streams else answer),
        "constant": Code(operation.python.upper()),
    }


# --- hand-written support files, copied below a header ---

_FOLDER: Final = Path(__file__).parent.parent / "support"


_NOT_OF_A_CONTRACT: Final = frozenset({"__init__", "checked_models"})


def emit_support(names: Iterable[str] = ()) -> dict[str, bytes]:
    """Copy modules of ``a2a_gen/support``, by path relative to the package; those of a contract if
    none are named.
    """
    files = [_FOLDER / f"{name}.py" for name in names] or sorted(
        file for file in _FOLDER.glob("*.py") if file.stem not in _NOT_OF_A_CONTRACT
    )
    copies: dict[str, bytes] = {}
    for file in files:
        head = header([f"a2a_gen/support/{file.name}"])
        copies[file.name] = f"{head}\n{file.read_text(encoding='utf-8')}".encode()
    return copies


# --- schemas for users of the package: one self-contained JSON document per dialect ---

_CONFIG = {
    "schemas/project.json": "meta/project.schema.json",
    "schemas/settings.json": "meta/settings.schema.json",
}


def emit_schemas(contract: Contract, documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Emit the bundles, and the schemas of a user's project and of operator settings where the
    contract has them.
    """
    bundles = {
        f"schemas/{dialect.name}.json": _bundle(contract, dialect, documents)
        for dialect in contract.dialects
    }
    if contract.extensions:
        bundles["schemas/extensions.json"] = _bundle_extensions(contract, documents)
    return bundles | {
        path: _serialize_schema(documents[source].data)
        for path, source in _CONFIG.items()
        if source in documents
    }


def _bundle_extensions(contract: Contract, documents: Mapping[str, Document]) -> bytes:
    bundle = _build_bundle(
        contract,
        EXTENSIONS_FOLDER,
        "Extensions",
        "The parameters of the extensions on cards.",
        documents,
    )
    uris: dict[str, Json] = {
        row.name: {"uri": row.uri, "params": f"#/$defs/{row.params}"} for row in contract.extensions
    }
    return _serialize_schema({**bundle, "x-a2a-extensions": uris})


def _bundle(
    contract: Contract, dialect: ContractDialect, documents: Mapping[str, Document]
) -> bytes:
    return _serialize_schema(
        _build_bundle(contract, dialect.name, dialect.title, dialect.description, documents)
    )


def _build_bundle(
    contract: Contract, folder: str, title: str, description: str, documents: Mapping[str, Document]
) -> dict[str, Json]:
    files = sorted(family.file for family in contract.families if family.dialect == folder)
    definitions: dict[str, Json] = {}
    for file in files:
        found = get_definitions(documents[file].data)
        definitions |= {name: _redirect_references(schema) for name, schema in found.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": header(files).removeprefix("# "),
        "title": title,
        "description": description,
        "$defs": dict(sorted(definitions.items())),
    }


def _serialize_schema(document: Json) -> bytes:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def get_definitions(data: Json) -> Mapping[str, Json]:
    """Return the definitions of a document, by name."""
    definitions = data.get("$defs") if isinstance(data, dict) else None
    if isinstance(definitions, dict):
        return definitions
    return {}


def _redirect_references(value: Json) -> Json:
    """Redirect references to other files of the dialect to the same document: names are unique
    within a dialect.
    """
    if isinstance(value, list):
        return [_redirect_references(each) for each in value]
    if not isinstance(value, dict):
        return value
    redirected: dict[str, Json] = {}
    for key, each in value.items():
        if key == "$ref" and isinstance(each, str):
            redirected[key] = f"#{each.partition('#')[2]}"
        else:
            redirected[key] = _redirect_references(each)
    return redirected


# --- Litestar controllers ---

# JSON-RPC and cards are raw ASGI handlers, which cost least. HTTP+JSON paths are HTTP handlers that
# return an ASGI application, at 2 µs more: in Litestar 2.25 a raw handler whose path has a
# parameter registers without an error and then fails on every request.

_SOURCES = ("operations.json", "dialects.json")


@dataclass(frozen=True, slots=True)
class HttpController:
    """A controller of HTTP+JSON paths."""

    module: str
    name: str
    description: str
    surface: routes.RouteTable


def emit_controllers(contract: Contract) -> dict[str, bytes]:
    """Emit the controllers."""
    http = tuple(_http(contract, surface) for surface in routes.build_route_tables(contract))
    names = sorted(
        (
            ("cards", "CardController"),
            ("jsonrpc", "JsonRpcController"),
            ("mount", "AgentController"),
            *((each.module, each.name) for each in http),
        )
    )
    return {
        "controllers/__init__.py": render(
            "controllers_package.py.jinja", sources=_SOURCES, names=names
        ),
        "controllers/mount.py": render("controllers_mount.py.jinja", sources=_SOURCES),
        "controllers/jsonrpc.py": render(
            "controllers_jsonrpc.py.jinja", sources=_SOURCES, exchanges=_list_calls(contract)
        ),
        "controllers/cards.py": render(
            "controllers_cards.py.jinja",
            sources=("dialects.json",),
            cards=[(each, _list_readers(contract, each)) for each in routes.card_paths(contract)],
        ),
        **{
            f"controllers/{each.module}.py": render(
                "controllers_http.py.jinja", sources=_SOURCES, http=each
            )
            for each in http
        },
    }


def _list_calls(contract: Contract) -> tuple[str, ...]:
    """List the operations over JSON-RPC, each with its canonical types."""
    return routes.write_exchanges(
        [
            routes.OperationLine("POST", each, each.request, each.response)
            for each in contract.operations
            if any(call.method for call in each.calls)
        ]
    )


def _list_readers(contract: Contract, card: routes.CardPath) -> str:
    """List the dialects whose clients look for a card at a path, for its docstring."""
    titles = [each.title for each in contract.dialects if each.name in card.dialects]
    return f"Read the card; clients of {', '.join(titles)} look here."


def _http(contract: Contract, surface: routes.RouteTable) -> HttpController:
    return HttpController(
        f"http_{surface.name}",
        class_name(f"Http{surface.name.replace('_', '').capitalize()}Controller"),
        _describe_http(contract, surface),
        surface,
    )


def _describe_http(contract: Contract, surface: routes.RouteTable) -> str:
    text = (
        f"{surface.title} over HTTP+JSON: a handler for each path, named after its operations. "
        "Its endpoint serves the request."
    )
    others = [
        each.title
        for each in contract.dialects
        if each.name in surface.dialects and each.name != surface.name
    ]
    if not others:
        return text
    return f"{text} Also at these paths, with types of their own: {', '.join(others)}."
