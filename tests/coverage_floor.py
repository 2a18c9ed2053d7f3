"""Holds the floor: at least 90 % of the lines and 85 % of the branches of hand-written code are run
by the tests.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

LINES = 90.0
BRANCHES = 85.0


def main(report: Path) -> int:
    """Compare the totals of a coverage report with the floor."""
    totals = json.loads(report.read_bytes())["totals"]
    lines = 100 * totals["covered_lines"] / max(totals["num_statements"], 1)
    branches = 100 * totals["covered_branches"] / max(totals["num_branches"], 1)
    sys.stdout.write(
        f"hand-written code: {lines:.1f} % of lines (floor {LINES:.0f}), {branches:.1f} % of "
        f"branches (floor {BRANCHES:.0f})\n"
    )
    sys.stdout.write("Each file: .venv/bin/coverage report\n")
    return int(lines < LINES or branches < BRANCHES)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
