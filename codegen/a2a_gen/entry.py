"""Console script. A build with nothing to do returns here, before any heavy import."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from a2a_gen import __version__
from a2a_gen.output import lock
from a2a_gen.problems import GeneratorError
from a2a_gen.source.kinds import list_inputs
from a2a_gen.source.project import find_project


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Exit codes: 0 success, 1 findings, 2 usage error or invalid schema, 3 missing baseline.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["version"], ["--version"]):
        print(f"a2a-gen {__version__}")  # noqa: T201 - the output of the command
        return 0
    if words == ["build"] and (package := _find_package_up_to_date()):
        print(f"{package}: up to date", file=sys.stderr)  # noqa: T201 - as above
        return 0

    # Click and the pipeline cost more than a whole no-op build.
    from a2a_gen.commands.run import run_command  # noqa: PLC0415

    try:
        return run_command(words)
    except SystemExit as end:
        if isinstance(end.code, int):
            return end.code
        return int(end.code is not None)


def _find_package_up_to_date() -> str:
    """Return the name of the package if a build would write nothing."""
    try:
        project = find_project(Path.cwd())
        old = lock.read_lock(project.root)
        is_up_to_date = old is not None and lock.is_up_to_date(
            old, project.options, project.root, list_inputs(project, old.inputs)
        )
    except (GeneratorError, OSError):
        # The command reports the problem, with its place.
        return ""
    if is_up_to_date:
        return project.package
    return ""
