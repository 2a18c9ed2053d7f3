"""Requirements of the sources, the tests that show them, and their pages in ``docs/conformance``.

Each table beside this file (``v1_0.toml``) has a row for every requirement of one source: an id,
which begins with its section, the level, what it says in our words. A test names what it shows, by
the ``name`` of the table and ids: ``@pytest.mark.requirement("1.0", "3.1.1a", "3.4.2")``. As
``pytestmark`` it stands for all tests of a file. Tests that ship with the runtime cannot have our
marker and are named in the row (``tests``). A row without a test has a ``gap``, the reason why, or
says what shows it instead (``elsewhere``).

``python tests/conformance/requirements.py`` writes the pages; with ``--check`` it only tells what
is missing or out of date.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = ROOT / "docs" / "conformance"
SHIPPED = ROOT / "runtime" / "a2a_runtime" / "testing" / "store_contract"
MARKER = "requirement"
LEVELS = ("MUST", "SHOULD", "MAY", "DECISION")

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Evidence:
    """A test, or with an empty name all tests of its file."""

    path: str
    name: str

    def __str__(self) -> str:
        link = f"[{self.path.removeprefix('tests/')}](../../{self.path})"
        if self.name:
            return f"`{self.name}` ({link})"
        return f"all tests of {link}"


@dataclass(frozen=True)
class Mark:
    """A marker on a test."""

    source: str
    requirement: str
    evidence: Evidence


@dataclass(frozen=True)
class Requirement:
    """A row of a table."""

    id: str
    level: str
    says: str
    gap: str = ""
    elsewhere: str = ""
    """What shows it instead of a test: a check or a measurement."""
    tests: tuple[str, ...] = ()
    """Names of tests that ship with the runtime."""


@dataclass(frozen=True)
class Table:
    """The requirements of one source."""

    path: Path
    name: str
    title: str
    about: str
    rows: tuple[Requirement, ...]

    @property
    def page(self) -> Path:
        """The page of this table."""
        return PAGES / f"{self.path.stem}.md"


def read_tables() -> list[Table]:
    """Read all tables."""
    return [
        _build_table(path, tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted(HERE.glob("*.toml"))
    ]


def _build_table(path: Path, content: dict[str, Any]) -> Table:
    rows = tuple(
        Requirement(**dict(row, tests=tuple(row.get("tests", ())))) for row in content["row"]
    )
    return Table(path, content["name"], content["title"], content["about"], rows)


def find_marks(folder: Path = ROOT / "tests") -> list[Mark]:
    """Find the markers of all tests, without importing them."""
    marks: list[Mark] = []
    for path in sorted(folder.rglob("test_*.py")):
        if f"mark.{MARKER}(" in (text := path.read_text(encoding="utf-8")):
            place = path.relative_to(ROOT).as_posix()
            marks += [
                Mark(source, row, Evidence(place, name))
                for name, source, row in _read_marks(ast.parse(text).body)
            ]
    return marks


def _read_marks(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    for node in body:
        name = ""
        expressions = []
        if isinstance(node, Definition):
            name = node.name
            expressions = node.decorator_list
            if isinstance(node, ast.ClassDef):
                yield from _read_marks(node.body)
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "pytestmark"
        ):
            expressions = [node.value]
        for call in (
            each
            for expression in expressions
            for each in ast.walk(expression)
            if isinstance(each, ast.Call)
        ):
            if isinstance(call.func, ast.Attribute) and call.func.attr == MARKER:
                source, *rows = (ast.literal_eval(argument) for argument in call.args)
                yield from ((name, source, row) for row in rows)


def find_shipped_tests() -> dict[str, str]:
    """Find the tests that ship with the runtime, with their files."""
    return {
        name: path.relative_to(ROOT).as_posix()
        for path in sorted(SHIPPED.glob("*.py"))
        for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }


def find_problems(tables: Sequence[Table], marks: Sequence[Mark]) -> list[str]:
    """List rows without a test or a reason, markers without a row, and pages that are out of
    date.
    """
    problems = [problem for table in tables for problem in _find_problems_of(table, marks)]
    known = {(table.name, row.id) for table in tables for row in table.rows}
    unknown = (mark for mark in marks if (mark.source, mark.requirement) not in known)
    return problems + sorted(
        f"{mark.evidence.path}: {mark.source} has no {mark.requirement}" for mark in unknown
    )


def _find_problems_of(table: Table, marks: Sequence[Mark]) -> Iterator[str]:
    shipped = find_shipped_tests()
    marked = {mark.requirement for mark in marks if mark.source == table.name}
    counts = Counter(row.id for row in table.rows)
    for row in table.rows:
        place = f"{table.path.name}: {row.id}"
        has_tests = bool(row.tests) or row.id in marked or bool(row.elsewhere)
        if counts[row.id] > 1:
            yield f"{place}: {counts[row.id]} rows with this id; give each its own"
        if row.level not in LEVELS:
            yield f"{place}: level {row.level}; choose one of {', '.join(LEVELS)}"
        if has_tests == bool(row.gap):
            yield (
                f"{place}: "
                f"{'a gap beside its tests' if has_tests else 'neither a test nor a gap'}; mark "
                "a test or say why not"
            )
        yield from (
            f"{place}: no test {test} ships with the runtime"
            for test in row.tests
            if test not in shipped
        )
    if not table.page.exists() or table.page.read_text(encoding="utf-8") != render_page(
        table, marks
    ):
        yield (
            f"{table.page.relative_to(ROOT)}: out of date; run python "
            "tests/conformance/requirements.py"
        )


def render_page(table: Table, marks: Sequence[Mark]) -> str:
    """Render the page of a table."""
    met = sum(not row.gap for row in table.rows)
    lines = [
        f"# {table.title}",
        "",
        table.about,
        "",
        (
            f"{len(table.rows)} requirements, {met} of them met. Made from "
            f"`tests/conformance/{table.path.name}` and the markers of the tests;"
        ),
        "`python tests/conformance/requirements.py` writes it anew.",
        "",
        "| section | level | requirement | met by |",
        "|---|---|---|---|",
    ]
    shipped = find_shipped_tests()
    for row in table.rows:
        evidence = [
            mark.evidence
            for mark in marks
            if (mark.source, mark.requirement) == (table.name, row.id)
        ]
        evidence += [Evidence(shipped.get(test, ""), test) for test in row.tests]
        met_by = (
            f"**not met**: {row.gap}"
            if row.gap
            else "<br>".join((*map(str, evidence), *filter(None, (row.elsewhere,))))
        )
        lines.append(f"| {row.id} | {row.level} | {_escape(row.says)} | {_escape(met_by)} |")
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the pages, or check them."""
    tables = read_tables()
    marks = find_marks()
    if "--check" not in sys.argv[1:]:
        PAGES.mkdir(exist_ok=True)
        for table in tables:
            table.page.write_text(render_page(table, marks), encoding="utf-8")
    problems = find_problems(tables, marks)
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
