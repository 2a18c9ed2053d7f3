"""The same report in every process: Python hashes names differently in each, so whatever loops over
a set gives itself away.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAIRS = """
from random import Random
from contract.fuzzing import SchemaMaker, is_endless
from contract.judging import compare_readers
for index in range(90):
    maker = SchemaMaker(Random(f"3 {index}"))
    old = maker.make()
    new = maker.mutate(old)
    if not is_endless(old) and not is_endless(new):
        print(index, *compare_readers(old, new).findings)
"""


def report_in(hash_seed: str) -> str:
    """Compare random pairs in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
    return subprocess.run(
        [sys.executable, "-c", PAIRS], env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.slow
def test_reports_do_not_depend_on_hashes() -> None:
    """Findings, their order, their texts and their witnesses are equal under different hashes."""
    first = report_in("1")
    assert first.count("Finding(") > 20
    assert report_in("3") == first
