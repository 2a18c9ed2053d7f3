"""The floor of coverage is held for lines and branches apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from coverage_floor import main


@pytest.mark.parametrize(
    ("lines", "branches", "exit_code"),
    [(90, 85, 0), (89, 99, 1), (99, 84, 1)],
    ids=["on-the-floor", "lines-below", "branches-below"],
)
def test_the_floor(tmp_path: Path, lines: int, branches: int, exit_code: int) -> None:
    """Either figure below its floor fails."""
    report = tmp_path / "coverage.json"
    totals = {
        "covered_lines": lines,
        "num_statements": 100,
        "covered_branches": branches,
        "num_branches": 100,
    }
    report.write_text(json.dumps({"totals": totals}))
    assert main(report) == exit_code
