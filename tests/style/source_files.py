"""The Python files of this repository, parsed once for all tests of style."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CASES = ROOT / "tests" / "cases"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One file: where it is, what it says, and its tree."""

    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        """The file as it stands."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python sees it."""
        return ast.parse(self.text)

    def functions(self) -> Iterator[Function]:
        """Every function and method, the inner ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def strings(self) -> Iterator[tuple[int, str]]:
        """Every string that is not a docstring, with its line."""
        documented = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node)
        ]
        skipped = {
            id(node.body[0].value) for node in documented if isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in skipped
            ):
                yield node.lineno, node.value


def sources(*folders: str) -> list[Source]:
    """Find the Python files below some folders of the repository."""
    found = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [_source(path) for path in found if _CASES not in path.parents or path.parent == _CASES]


@cache
def _source(path: Path) -> Source:
    """Give the one that others have parsed already."""
    return Source(path)
