"""Examples in documents: their Python runs, with the results in their comments."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from style.source_files import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, block in enumerate(BLOCK.findall(path.read_text()), 1)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_in_documents_runs(block: str) -> None:
    """Every statement runs, and an expression with a comment gives what the comment says."""
    names: dict[str, object] = {
        "__name__": "__main__"
    }  # frameworks look functions up in their module
    for statement in ast.parse(block).body:
        code = ast.unparse(statement)
        line = block.splitlines()[(statement.end_lineno or 1) - 1]
        if isinstance(statement, ast.Expr):
            value = eval(code, names)  # noqa: S307 - our own documents
            assert line.partition("  # ")[2].strip() in {
                "",
                str(value),
                repr(value),
                f"{type(value).__name__}.{getattr(value, 'name', '')}",
            }
        else:
            exec(compile(code, "<document>", "exec", dont_inherit=True), names)  # noqa: S102 - our own documents


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_examples_run(example: Path) -> None:
    """Every example that is one file runs to its end and says something."""
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
