"""``a2a-gen build``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console
from a2a_gen.problems import pluralize

EXAMPLES = """\b
Examples:
  a2a-gen build            write changed files only
  a2a-gen build --check    write nothing; exit 1 if a file would change
  a2a-gen build --force    overwrite generated files that were edited by hand"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if a file would change."
)
@click.option("--force", is_flag=True, help="Overwrite generated files that were edited by hand.")
def command(only_check: bool, force: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Generate the package from the schemas.

    Reads the agent of a2a.toml, or the folder of schemas that a2a-gen.toml or [tool.a2a-gen] of
    pyproject.toml names, in this folder or above it. Unchanged files are not touched. On any error
    nothing is written.
    """
    project = pipeline.open_project(Path.cwd())
    if only_check:
        drift, _ = pipeline.compute_drift(project)
        console.show_diff(drift.render_diff())
        raise SystemExit(bool(drift))
    result = pipeline.build(project, force=force)
    console.show_problems(result.warnings)
    console.show_result(
        f"{project.package}: {pluralize(result.written_count, 'file')} written, "
        f"{result.removed_count} removed, {result.unchanged_count} unchanged"
    )
