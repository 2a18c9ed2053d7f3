"""The console script. A build that has nothing to do ends here, before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from a2a_gen import __version__
from a2a_gen.output import lock
from a2a_gen.output import lock as fresh
from a2a_gen.problems import GeneratorError
from a2a_gen.source.documents import find_contract_files
from a2a_gen.source.project import find_project


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 fine, 1 findings, 2 wrong use or a bad schema, 3 no baseline."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["version"], ["--version"]):
        print(f"a2a-gen {__version__}")  # noqa: T201 - this is its output
        return 0
    if words == ["build"] and _is_up_to_date():
        return 0

    from a2a_gen.commands.run import run_command  # noqa: PLC0415 - click and the pipeline cost more than a whole no-op build

    try:
        return run_command(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def _is_up_to_date() -> bool:
    try:
        project = find_project(Path.cwd())
        old = lock.read_lock(project.root)
        if old is None:
            return False
        # The files of an agent are those that its own file led to the last time; a new one is reached only from one that has changed.
        files = (project.root / path for path in old.inputs) if project.kind == "agent" else find_contract_files(project.schema)
        return fresh.is_up_to_date(old, project.options, project.root, files)
    except (GeneratorError, OSError):
        return False  # the command says what is wrong, in full
