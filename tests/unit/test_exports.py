"""Names that documents import, and where they are found."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import a2a_runtime

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OWN_NAMES = (
    "a2a_runtime.features.apcore",
    "a2a_runtime.features.mcp",
    "a2a_runtime.features.pydantic_ai",
    "a2a_runtime.features.remote_tools",
    "a2a_runtime.features.simple_stores",
    "a2a_runtime.testing",
)
"""Packages for some users, some of whose names mean something else than at the top."""


def list_imports() -> dict[str, set[str]]:
    """List the names that the documents import from the runtime, each with its modules."""
    found: dict[str, set[str]] = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in BLOCK.findall(path.read_text(encoding="utf-8")):
            for node in ast.walk(ast.parse(block)):
                if (
                    isinstance(node, ast.ImportFrom)
                    and (node.module or "").partition(".")[0] == a2a_runtime.__name__
                ):
                    for each in node.names:
                        found.setdefault(each.name, set()).add(node.module or "")
    return found


def test_names_of_the_documents_are_at_the_top() -> None:
    """A reader finds each of them in the package itself, and it is the same object."""
    imports = {
        name: {each for each in modules if not each.startswith(OWN_NAMES)}
        for name, modules in list_imports().items()
    }
    needed = {name: modules for name, modules in imports.items() if modules}
    assert len(needed) > 20
    assert sorted(needed.keys() - set(a2a_runtime.__all__)) == []
    for name, modules in needed.items():
        assert {id(getattr(import_module(each), name)) for each in modules} == {
            id(getattr(a2a_runtime, name))
        }


def test_every_public_name_is_loaded_from_its_module() -> None:
    """The list for type checkers and the table of modules agree, and a wrong name is an
    ``AttributeError``.
    """
    assert sorted(name for names in a2a_runtime._MODULES.values() for name in names) == sorted(
        a2a_runtime.__all__
    )
    assert all(getattr(a2a_runtime, name) is not None for name in a2a_runtime.__all__)
    assert not hasattr(a2a_runtime, "Nothing")
