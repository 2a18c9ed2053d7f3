"""Tables of requirements: every row has a test or a reason, every test of a section is marked, and
the pages are up to date.
"""

from __future__ import annotations

from conformance.requirements import (
    HERE,
    ROOT,
    Evidence,
    Mark,
    Requirement,
    Table,
    find_marks,
    find_problems,
    read_tables,
    render_page,
)

TABLES = read_tables()
MARKS = find_marks()
A_TEST = Evidence("tests/a.py", "test_a")


def test_every_requirement_has_a_test_or_a_reason() -> None:
    """Every marker names a row, and the pages are those of the tables and markers."""
    assert find_problems(TABLES, MARKS) == []


def test_every_test_of_a_section_is_marked() -> None:
    """A reader who starts from the specification finds all of them."""
    marked = {mark.evidence for mark in MARKS}
    expected = {
        Evidence(
            path.relative_to(ROOT).as_posix(),
            line.removeprefix("async ").removeprefix("def ").partition("(")[0],
        )
        for path in HERE.glob("test_v*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("def test_", "async def test_"))
    }
    assert sorted(map(str, expected - marked)) == []


def test_missing_tests_rows_and_pages_are_problems() -> None:
    """A row without a test, a gap beside a test, a row twice, an unknown level, a test that is not
    there, and a marker without a row.
    """
    rows = (
        Requirement("1", "MUST", "Not shown by a test."),
        Requirement("2", "MUST", "Shown.", gap="Not met."),
        Requirement("3", "MUST", "Shown."),
        Requirement("3", "MUST", "Shown."),
        Requirement("4", "MIGHT", "Open.", gap="It is not there."),
        Requirement("5", "MUST", "Shipped.", tests=("test_nothing",)),
    )
    marks = [Mark("x", row, A_TEST) for row in ("2", "3", "9")]
    table = Table(HERE / "x.toml", "x", "X", "", rows)
    assert [problem.partition(": ")[2] for problem in find_problems([table], marks)] == [
        "1: neither a test nor a gap; mark a test or say why not",
        "2: a gap beside its tests; mark a test or say why not",
        "3: 2 rows with this id; give each its own",
        "3: 2 rows with this id; give each its own",
        "4: level MIGHT; choose one of MUST, SHOULD, MAY, DECISION",
        "5: no test test_nothing ships with the runtime",
        "out of date; run python tests/conformance/requirements.py",
        "x has no 9",
    ]


def test_a_page_says_by_what_a_requirement_is_met() -> None:
    """Each row names the tests of its requirement, or the reason why there are none."""
    table = Table(
        HERE / "x.toml",
        "x",
        "X",
        "",
        (Requirement("1", "MUST", "A|B."), Requirement("2", "MAY", "C.", gap="Not built.")),
    )
    page = render_page(table, [Mark("x", "1", A_TEST), Mark("x", "1", Evidence("tests/b.py", ""))])
    assert (
        "| 1 | MUST | A\\|B. | `test_a` ([a.py](../../tests/a.py))<br>all tests of "
        "[b.py](../../tests/b.py) |"
    ) in page
    assert "| 2 | MAY | C. | **not met**: Not built. |" in page
    assert "2 requirements, 1 of them met." in page
