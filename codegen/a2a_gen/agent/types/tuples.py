"""Tuples whose last items may be missing, or that go on: the generator of models knows tuples of
one length only.

It is given one of all items and, where there may be more, one more for those; its alias is then
written as what the schema accepts:

    items may be missing   ``tuple[A, B]`` where B may be missing becomes ``tuple[A] | tuple[A, B]``
    more may follow        ``tuple[A, B, C]`` becomes
                           ``Annotated[tuple[A, B, *tuple[C, ...]], RestItems()]``
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from a2a_gen.agent.types.shapes import AliasType, Definition, TupleType


def find_tuples(definitions: Mapping[str, Definition]) -> dict[str, TupleType]:
    """Find the aliases of tuples that have several lengths."""
    shapes = {name: each.shape for name, each in definitions.items() if isinstance(each, AliasType)}
    return {
        name: shape
        for name, shape in shapes.items()
        if isinstance(shape, TupleType) and not shape.is_fixed
    }


def expand_tuples(body: str, tuples: Mapping[str, TupleType]) -> str:
    """Write the aliases of tuples in a module as all lengths that they have."""
    lines = body.splitlines(keepends=True)
    for node in reversed(ast.parse(body).body if tuples else []):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(args=[_, ast.Subscript(slice=listed) as value]),
            ) if name in tuples:
                parts = listed.elts if isinstance(listed, ast.Tuple) else [listed]
                items = [ast.unparse(each) for each in parts]
                text = " | ".join(_list_lengths(items, tuples[name]))
                before = lines[value.lineno - 1].encode()[: value.col_offset].decode()
                after = (
                    lines[(value.end_lineno or value.lineno) - 1]
                    .encode()[value.end_col_offset or 0 :]
                    .decode()
                )
                lines[value.lineno - 1 : value.end_lineno] = [f"{before}{text}{after}"]
            case _:
                pass
    return "".join(lines)


def _list_lengths(items: list[str], shape: TupleType) -> Iterator[str]:
    for length in range(shape.least, len(shape.items)):
        yield f"tuple[{', '.join(items[:length])}]" if length else "tuple[()]"
    if shape.rest is None:
        yield f"tuple[{', '.join(items)}]"
    else:
        yield f"Annotated[tuple[{', '.join(items[:-1])}, *tuple[{items[-1]}, ...]], RestItems()]"
