"""Names of files, and docstrings of tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from style.source_files import Source, sources

PACKAGES = sources("codegen", "runtime", "generated")
HAND_WRITTEN = sources("codegen", "runtime", "tests", "bench", "examples")
SAYS_NOTHING = re.compile(r"^_?(utils?|helpers?|common|misc|base2|.*_v\d+|.*_coverage)$")


def test_file_names_are_specific() -> None:
    """No file has a name that fits anything: utils, helpers, common."""
    assert [str(source) for source in HAND_WRITTEN if SAYS_NOTHING.match(source.path.stem)] == []


def test_top_folders_are_no_packages() -> None:
    """`runtime.a2a_runtime` must not be importable: it would be a second copy of every class."""
    assert [
        str(source)
        for source in PACKAGES
        if source.path.name == "__init__.py" and len(str(source).split("/")) == 2
    ] == []


def test_tests_say_what_they_hold() -> None:
    """Every test has one sentence on the behaviour, and none uses mocks."""
    tests = [source for source in HAND_WRITTEN if str(source).startswith("tests/")]
    functions = [
        (source, function)
        for source in tests
        for function in source.functions()
        if function.name.startswith("test_")
    ]
    assert [
        f"{source}:{function.lineno}: {function.name}"
        for source, function in functions
        if not ast.get_docstring(function)
    ] == []
    mocks = [
        f"{source}: {name}"
        for source in tests
        for name in imported_by(source)
        if name.startswith(("unittest", "mock"))
    ]
    assert mocks == []


def imported_by(source: Source) -> Iterator[str]:
    """Name the modules that a file imports from, or by themselves."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
