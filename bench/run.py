"""Runs every benchmark beside this file, each in an interpreter of its own.

Name some to run only those: `python bench/run.py build`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NO_BENCHMARKS = {"run", "table", "fill", "load", "contest"}


def main(named: list[str]) -> int:
    """Run the benchmarks, and fail if one of them does."""
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores. "
        "Rows compare within one table of one run."
    )
    found = sorted(path for path in HERE.glob("*.py") if path.stem not in NO_BENCHMARKS)
    codes = [
        subprocess.run([sys.executable, str(path)], check=False).returncode
        for path in found
        if not named or path.stem in named
    ]
    return max(codes, default=2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
