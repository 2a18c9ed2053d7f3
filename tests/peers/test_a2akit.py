"""Storages of a2akit serve agents of ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from peers.environments import ROOT, interpreter

pytestmark = pytest.mark.peer

_FILE = Path(__file__).with_name("a2akit_storages.py")


def _run_contract(*selection: str) -> None:
    """Run the contract of storages in the environment of that library."""
    python = interpreter("a2akit-0.0.32")
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("runtime", "generated"))
    words = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "--noconftest",
        "-c",
        os.devnull,
        "-p",
        "no:cacheprovider",
        *selection,
        str(_FILE),
    ]
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=_FILE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_storages_of_a2akit_serve_an_agent() -> None:
    """In memory with every rule of the contract, in a file with an agent: a question is answered in
    the next process.
    """
    _run_contract("-k", "TestMemory or agent_runs")


@pytest.mark.soak(share="frameworks")
def test_the_storages_of_a2akit_pass_the_contract() -> None:
    """Both storages of a2akit keep every rule of the contract."""
    _run_contract()
