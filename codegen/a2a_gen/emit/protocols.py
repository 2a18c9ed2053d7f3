"""The two protocols between which generated controllers stand: what an agent does, and what a server does around it."""

from __future__ import annotations

from collections.abc import Mapping

from a2a_gen.emit.render import Code, render
from a2a_gen.ir.model import Contract, Operation


def emit(contract: Contract) -> dict[str, bytes]:
    """Write the module of the protocols."""
    operations = contract.operations
    return {
        "service.py": render(
            "service.py.jinja",
            sources=("operations.json",),
            canonical=contract.canonical,
            types=sorted({name for each in operations for name in (each.request, each.response) if name}),
            operations=[_method(each) for each in operations],
        )
    }


def _method(operation: Operation) -> Mapping[str, object]:
    answer = f"Encoded[{operation.response}]" if operation.response else "None"
    returns = f"AsyncIterator[Event[{operation.response}]]" if operation.streams else answer
    return {"row": operation, "keyword": Code("def" if operation.streams else "async def"), "returns": Code(returns)}
