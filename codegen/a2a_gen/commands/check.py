"""``a2a-gen check``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console, diff
from a2a_gen.diff.formats import FORMATS
from a2a_gen.diff.ignore import IGNORE_FILE
from a2a_gen.diff.run import CompareRequest, check_compatibility, should_fail

EXAMPLES = """\b
Examples:
  a2a-gen check                          for CI: stale output and lint rules
  a2a-gen check && git push
  a2a-gen check --against origin/main    also report breaking changes, in the same exit code"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--against",
    "baselines",
    multiple=True,
    metavar="REF|DIR|LOCK",
    help="Baseline of a breaking-change check; repeatable.",
)
@click.option("--profile", type=click.Choice(diff.PROFILES), default=None, help=diff.PROFILE_HELP)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="Output format of --against.",
)
@click.option("--fail-on", type=click.Choice(diff.FAIL_ON), default=None, help=diff.FAIL_ON_HELP)
def command(
    baselines: tuple[str, ...], profile: str | None, form: str, fail_on: str | None
) -> None:
    """Check that generated code is up to date and the schemas pass all rules.

    Generates everything again, compares it with the files on disk, and prints a unified diff of
    stale, edited and unknown files. Warnings of the rules do not fail the check. Writes nothing.
    Exits with 1 on any finding.

    With --against, or with baselines under [compat] of the project file, also reports breaking
    changes of the contract.
    """
    project = pipeline.open_project(Path.cwd())
    drift, warnings = pipeline.compute_drift(project)
    console.show_problems(warnings)
    console.show_diff(drift.render_diff())
    for path, reason in drift.describe():
        click.echo(f"{path}: {reason}", err=True)
    if drift:
        click.echo(
            "generated code: not up to date\n    fix: run a2a-gen build, and commit the result",
            err=True,
        )
    is_broken = False
    compat = project.compat
    if baselines := baselines or compat.baselines:
        request = CompareRequest(
            baselines,
            diff.find_schema_folder(),
            diff.has_plain_schemas(),
            profile=profile or compat.profile,
            ignore_file=project.root / IGNORE_FILE,
        )
        outcome = check_compatibility(request)
        diff.show_outcome(outcome, form)
        is_broken = should_fail(outcome.report, fail_on or compat.fail_on)
    if not drift and not is_broken:
        console.show_result(f"{project.package}: up to date")
    raise SystemExit(bool(drift) or is_broken)
