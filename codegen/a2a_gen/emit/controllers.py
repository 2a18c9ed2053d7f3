"""Litestar controllers: one for JSON-RPC, one for cards, and one for each dialect that has HTTP+JSON paths of its own.

JSON-RPC and cards are raw ASGI handlers, which cost least. Paths of HTTP+JSON are HTTP handlers that give an ASGI application back, for 2 µs more: in
Litestar 2.25 a raw handler whose path has a parameter registers without complaint and then fails on every request.
"""

from __future__ import annotations

from dataclasses import dataclass

from a2a_gen.emit import routes
from a2a_gen.emit.render import render
from a2a_gen.ir.model import Contract
from a2a_gen.ir.names import class_name

_SOURCES = ("operations.json", "dialects.json")


@dataclass(frozen=True, slots=True)
class Http:
    """A controller of HTTP+JSON paths."""

    module: str
    name: str
    surface: routes.Surface


def emit(contract: Contract) -> dict[str, bytes]:
    """Write the controllers."""
    http = tuple(_http(surface) for surface in routes.surfaces(contract))
    names = sorted(
        (("cards", "CardController"), ("jsonrpc", "JsonRpcController"), ("mount", "AgentController"), *((each.module, each.name) for each in http))
    )
    return {
        "controllers/__init__.py": render("controllers_package.py.jinja", sources=_SOURCES, names=names),
        "controllers/mount.py": render("controllers_mount.py.jinja", sources=_SOURCES),
        "controllers/jsonrpc.py": render("controllers_jsonrpc.py.jinja", sources=_SOURCES),
        "controllers/cards.py": render("controllers_cards.py.jinja", sources=("dialects.json",), cards=routes.card_paths(contract)),
        **{f"controllers/{each.module}.py": render("controllers_http.py.jinja", sources=_SOURCES, http=each) for each in http},
    }


def _http(surface: routes.Surface) -> Http:
    return Http(f"http_{surface.name}", class_name(f"Http{surface.name.replace('_', '').capitalize()}Controller"), surface)
