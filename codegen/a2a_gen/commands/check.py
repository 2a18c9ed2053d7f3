"""``a2a-gen check``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console, diff
from a2a_gen.diff import run as ignore
from a2a_gen.diff.formats import FORMATS
from a2a_gen.diff.run import CompareRequest, check_compatibility, should_fail
from a2a_gen.source.project import find_project

EXAMPLES = """\b
Examples:
  a2a-gen check            what CI runs
  a2a-gen check && git push
  a2a-gen check --against origin/main    the gate: stale output, rules and compatibility in one exit code"""


@click.command(epilog=EXAMPLES)
@click.option("--against", "baselines", multiple=True, metavar="REF|DIR|LOCK", help="Also compare the contract with this: what a2a-gen diff does.")
@click.option("--profile", type=click.Choice(diff.PROFILES), default=None, help="Who counts in the comparison.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="How to show the comparison.")
@click.option(
    "--fail-on", type=click.Choice(diff.FAIL_ON), default=None, help="The mildest finding of the comparison that ends with 1.  [default: error]"
)
def command(baselines: tuple[str, ...], profile: str | None, form: str, fail_on: str | None) -> None:
    """Say whether the output is fresh and the schemas are in order, and with --against whether they still keep what was promised.

    Without --against, the baselines under [compat] in a2a.toml count, if it names some.

    Generates everything anew, compares it with what is on disk to the byte, and prints a unified diff: stale files, files that were edited by hand,
    files that nobody generates. Warnings of the rules are shown and do no harm. Writes nothing. Exits with 1 on any finding.
    """
    project = find_project(Path.cwd())
    drift, warnings = pipeline.compute_drift(project)
    console.show_problems(warnings)
    console.show_diff(drift.render_diff())
    for path, why in drift.describe():
        click.echo(f"{path}: {why}", err=True)
    if drift:
        click.echo("the output is not what the schemas say\n    fix: a2a-gen build, and commit what it writes", err=True)
    is_broken = False
    compat = project.compat
    if asked := baselines or compat.baselines:
        outcome = check_compatibility(
            CompareRequest(asked, diff.find_schema_folder(), profile=profile or compat.profile, ignore_file=project.root / ignore.IGNORE_FILE)
        )
        diff.show_outcome(outcome, form)
        is_broken = should_fail(outcome.report, fail_on or compat.fail_on)
    raise SystemExit(bool(drift) or is_broken)
