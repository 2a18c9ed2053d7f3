"""Cost of a send on any machine: its number of function entries."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "entries.py"
MAX_ENTRIES = {"A2A 1.0": 339, "A2A 0.3": 380}

# The number is exact for one interpreter and one set of libraries: that of the environment that
# `make` sets up first.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.version_info[:2] != (3, 11), reason="function entries are counted on CPython 3.11"
    ),
]


def test_function_entries_of_a_send_are_limited() -> None:
    """A blocking send through the whole server, with the memory store, in both versions of the
    protocol.
    """
    counted = subprocess.run(
        [sys.executable, str(BENCH)], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    entries = {
        title: int(number)
        for title, number in re.findall(
            r"^(A2A \S+): (\d+) function entries per send$", counted, re.MULTILINE
        )
    }
    assert entries.keys() == MAX_ENTRIES.keys()
    assert {title: number for title, number in entries.items() if number > MAX_ENTRIES[title]} == {}
