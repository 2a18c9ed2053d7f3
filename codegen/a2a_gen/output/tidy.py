"""One run of ruff over the stage: unused imports go, the rest is formatted. What it cannot mend is a mistake of ours, and stops the build.

The settings live in ``ruff.toml`` beside this file and nowhere else: naming a file keeps ruff from looking for settings on the user's machine.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from ruff import find_ruff_bin  # pyright: ignore[reportMissingTypeStubs] - ships no types

from a2a_gen.problems import GeneratorError

CONFIG = Path(__file__).with_name("ruff.toml")


def tidy(package: Path) -> None:
    """Mend and format every Python file of a staged package, in place."""
    _ruff("check", "--fix", "--quiet", "--no-cache", package=package)
    _ruff("format", "--quiet", "--no-cache", package=package)


def _ruff(*arguments: str, package: Path) -> None:
    command = [find_ruff_bin(), *arguments, "--config", str(CONFIG), package.name]
    done = subprocess.run(command, cwd=package.parent, capture_output=True, text=True, check=False)  # noqa: S603 - ruff on our own stage
    if done.returncode:
        raise GeneratorError(f"the generated code is not valid, which is a mistake of the generator:\n{done.stdout}{done.stderr}".rstrip())
