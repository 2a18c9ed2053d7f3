"""The rules of the request forms of the apcore SRS as frozen Python values, where the contract has
their table.
"""

from __future__ import annotations

from collections.abc import Mapping

from a2a_gen.emit.render import Code, literal, render
from a2a_gen.ir.node import SourceNode
from a2a_gen.source.documents import Document

TABLE = "srs_forms.json"


def emit(documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Emit the module of the rules."""
    document = documents.get(TABLE)
    if document is None:
        return {}
    table = SourceNode(document, "", document.data)
    return {
        "srs_forms.py": render(
            "srs_forms.py.jinja",
            sources=[TABLE],
            description=table["description"].text(),
            dialect=table["dialect"].text(),
            methods=table["methods"].words(),
            paths=table["paths"].words(),
            requests=[_rule(row) for row in table["requests"].items()],
            results=[_rule(row) for row in table["results"].items()],
        )
    }


def _rule(row: SourceNode) -> Mapping[str, Code]:
    """Write the members of a rule as arguments; objects become pairs, which keep their order."""
    arguments: dict[str, Code] = {}
    for name, member in row.members():
        value = member.freeze()
        arguments["equals" if name == "if" else name] = literal(
            tuple(value.items()) if isinstance(value, Mapping) else value
        )
    return arguments
