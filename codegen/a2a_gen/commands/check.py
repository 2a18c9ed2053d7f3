"""``a2a-gen check``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console
from a2a_gen.source.project import find_project

EXAMPLES = """\b
Examples:
  a2a-gen check            what CI runs
  a2a-gen check && git push"""


@click.command(epilog=EXAMPLES)
def command() -> None:
    """Say whether the output is fresh and the schemas are in order.

    Generates everything anew, compares it with what is on disk to the byte, and prints a unified diff: stale files, files that were edited by hand,
    files that nobody generates. Warnings of the rules are shown and do no harm. Writes nothing. Exits with 1 on any finding.
    """
    drift, warnings = pipeline.compare(find_project(Path.cwd()))
    console.warn(warnings)
    console.show_diff(drift.diff())
    for path, why in drift.reasons():
        click.echo(f"{path}: {why}", err=True)
    if drift:
        click.echo("the output is not what the schemas say\n    fix: a2a-gen build, and commit what it writes", err=True)
    raise SystemExit(bool(drift))
