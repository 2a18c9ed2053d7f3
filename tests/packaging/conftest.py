"""An environment with the wheel, shared by the tests of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from wheel import ROOT, command, find_dependencies


@pytest.fixture(scope="session")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and install it into a fresh environment; its commands."""
    fresh = tmp_path_factory.mktemp("fresh")
    command([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(fresh)], ROOT)
    (wheel,) = fresh.glob("*.whl")
    command([sys.executable, "-m", "venv", str(fresh / "env")], fresh)
    (site,) = (fresh / "env" / "lib").glob("python3*/site-packages")
    (site / "prepared.pth").write_text(f"{find_dependencies()}\n")
    command(
        [
            str(fresh / "env" / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            str(wheel),
        ],
        fresh,
    )
    return fresh / "env" / "bin"
