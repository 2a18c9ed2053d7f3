"""The package itself: the names that its users need most, each loaded when it is first used."""

from __future__ import annotations

from collections.abc import Mapping

from a2a_gen.emit.render import render
from a2a_gen.ir.model import Contract

# Beside the canonical types and the errors; nothing here may lead to litestar.
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "base": ("Encoded",),
    "dialects": ("DIALECTS",),
    "errors": ("ERRORS",),
    "lifecycle": ("LIFECYCLE", "State"),
    "operations": ("OPERATIONS",),
    "service": ("AgentService", "Event", "Exchange"),
}


def emit(contract: Contract) -> dict[str, bytes]:
    """Write the module of the package."""
    homes = dict(_OTHERS)
    homes["errors"] += (contract.error_root, *(row.name for row in contract.errors))
    homes[contract.canonical] = tuple(named.name for named in contract.types(contract.canonical))
    return {
        "__init__.py": render(
            "package.py.jinja",
            sources=("the contract",),
            says="The contract of the protocol in Python: models, tables, translations and controllers, all made from its schemas.",
            homes=[(home, sorted(names)) for home, names in sorted(homes.items())],
            names=sorted(name for names in homes.values() for name in names),
        ),
        "py.typed": b"",
    }
