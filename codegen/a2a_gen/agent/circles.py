"""Types that lead back to themselves, written so that everybody who reads them can follow.

Pydantic follows an alias in a circle only when it is a `TypeAliasType`; pyright only when it is a plain `TypeAlias`, in text, before whatever uses
it. So it is the one at run time and the other for type checkers, ahead of the rest of its module.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from textwrap import indent
from typing import TypeGuard

from a2a_gen.agent.grouping import Definitions, names_in, reached_from
from a2a_gen.agent.shape import Alias


def circular(definitions: Definitions) -> frozenset[str]:
    """Name the aliases that lead back to themselves, directly or through other types."""
    uses = {name: set(names_in(definition)) for name, (_, definition) in definitions.items()}
    return frozenset(name for name, (_, definition) in definitions.items() if isinstance(definition, Alias) and name in reached_from(name, uses))


def ahead(body: str, names: Collection[str]) -> str:
    """Put some aliases of a module before everything else that it makes."""
    nodes = ast.parse(body).body
    lines = body.splitlines(keepends=True)
    checked = run = ""
    for node, after in reversed(list(zip(nodes, [*nodes[1:], None], strict=True))):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, value])) if name in names:
                end = after if _is_text(after) else node
                said = "".join(lines[node.end_lineno : end.end_lineno])
                written = repr(ast.unparse(_Bare().visit(value)))
                checked = f"{name}: TypeAlias = {written}\n{said}{checked}"
                run = f"{name} = TypeAliasType({name!r}, {written})\n{run}"
                del lines[node.lineno - 1 : end.end_lineno]
            case _:
                pass
    if not run:
        return body
    first = next((node.lineno for node in nodes if not isinstance(node, ast.Import | ast.ImportFrom)), 1) - 1
    block = f"from typing import TYPE_CHECKING, TypeAlias\n\nif TYPE_CHECKING:\n{indent(checked, '    ')}\nelse:\n{indent(run, '    ')}\n\n"
    return "".join([*lines[:first], block, *lines[first:]])


def _is_text(node: ast.stmt | None) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Bare(ast.NodeTransformer):
    """Takes the quotes from names that stand within a type, and leaves words alone."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Look into everything but literals."""
        return node if isinstance(node.value, ast.Name) and node.value.id == "Literal" else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Read a name, or a whole type, that is written as text."""
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node
