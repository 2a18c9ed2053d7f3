"""``a2a-gen diff``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from a2a_gen.commands import console
from a2a_gen.diff import run as ignore
from a2a_gen.diff.formats import FORMATS
from a2a_gen.diff.report import CompareOptions, Report
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.run import TRANSITIVE_SUFFIX, CompareOutcome, CompareRequest, check_compatibility, should_fail
from a2a_gen.diff.usage import BOTH, Usage
from a2a_gen.problems import ProjectError
from a2a_gen.source.project import Compat, find_project, find_root

PROFILES = ["WIRE", "SOURCE", "FULL", "BACKWARD", "FORWARD", *(f"{name}{TRANSITIVE_SUFFIX}" for name in ("BACKWARD", "FORWARD", "FULL"))]
FAIL_ON = ["error", "warning", "info", "none"]
USAGES = {"read": frozenset({Usage.READ}), "written": frozenset({Usage.WRITTEN}), "both": BOTH}
EXAMPLES = """\b
Examples:
  a2a-gen diff --against origin/main              this project against a branch
  a2a-gen diff --against v1.2.0 --format markdown against a tag, for a pull request
  a2a-gen diff --against a2a-gen.lock             against what was built last
  a2a-gen diff --against https://example.org      the card of a running agent
  a2a-gen diff old/ new/ --plain --role read      any two folders of JSON Schemas
  a2a-gen diff --against 'v*' --profile FULL_TRANSITIVE

\b
Exit codes: 0 nothing that bad, 1 findings, 2 wrong use or a bad schema,
3 the baseline is not there (the message says how to get it)."""


class _Options(TypedDict):
    """What can be said beside the sides."""

    form: str
    fail_on: str | None
    profile: str | None
    role: str
    plain: bool
    docs: bool
    ignored: Path | None
    write_ignore: bool


@click.command(epilog=EXAMPLES)
@click.argument("sides", nargs=-1, metavar="[OLD] [NEW]")
@click.option("--against", "baselines", multiple=True, metavar="REF|DIR|LOCK|URL", help="What to compare with: a ref, a folder, a lock, a card.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="How to show what was found.")
@click.option("--fail-on", type=click.Choice(FAIL_ON), default=None, help="The mildest finding that ends with 1.  [default: error]")
@click.option("--profile", type=click.Choice(PROFILES), default=None, help="Who counts; FULL for a contract, WIRE for anything else.")
@click.option("--role", type=click.Choice(list(USAGES)), default="both", show_default=True, help="How plain schemas are used.")
@click.option("--plain", is_flag=True, help="Take the files for schemas and nothing more.")
@click.option("--docs", is_flag=True, help="Tell of changed descriptions too.")
@click.option(
    "--ignore", "ignored", type=click.Path(path_type=Path, dir_okay=False), help=f"Approvals; {ignore.IGNORE_FILE} of this project when not given."
)
@click.option("--write-ignore", is_flag=True, help="Add what was found to the approvals, for somebody to give reasons.")
def command(sides: tuple[str, ...], baselines: tuple[str, ...], **options: Unpack[_Options]) -> None:
    """Say what a change of schemas does to those who rely on them.

    Compares as sets of documents, not as texts, and shows a document for every break. NEW is this project when it is not given; what it is
    compared with, when that is not given, says [compat] in its a2a.toml.
    """
    compat = _read_compat() if not sides else Compat()
    baselines = baselines or compat.baselines
    if len(sides) + bool(baselines) not in (1, 2) or (not baselines and not sides):
        raise click.UsageError("name what to compare with: a2a-gen diff OLD NEW, a2a-gen diff --against REF, or baselines under [compat] in a2a.toml")
    olds, new = (baselines, sides[0] if sides else "") if baselines else (sides[:1], sides[1] if len(sides) > 1 else "")
    file = options["ignored"] or (find_root(Path.cwd()) or Path()) / ignore.IGNORE_FILE
    wish = CompareOptions(usages=USAGES[options["role"]], include_docs=options["docs"])
    outcome = check_compatibility(
        CompareRequest(olds, Path(new) if new else find_schema_folder(), options["plain"], options["profile"] or compat.profile, wish, file)
    )
    show_outcome(outcome, options["form"])
    fail_on = options["fail_on"] or compat.fail_on
    if options["write_ignore"]:
        _write_ignore_entries(file, outcome.report, fail_on)
    raise SystemExit(should_fail(outcome.report, fail_on))


def _read_compat() -> Compat:
    try:
        return find_project(Path.cwd()).compat
    except ProjectError:
        return Compat()  # two folders, or a baseline that is named, need no project


def find_schema_folder() -> Path:
    """Find the schemas of the project here: the folder of an agent, or that of a contract."""
    root = find_root(Path.cwd())
    return root if root is not None and (root / "a2a.toml").is_file() else find_project(Path.cwd()).schema


def show_outcome(outcome: CompareOutcome, form: str) -> None:
    """Print a report, and notes beside it."""
    for note in outcome.notes:
        click.echo(f"note: {note}", err=True)
    text = FORMATS[form](outcome.report)
    if form == "text" and sys.stdout.isatty():
        console.show_report(text)
    else:
        click.echo(text, nl=False)


def _write_ignore_entries(file: Path, report: Report, fail_on: str) -> None:
    least = {"error": ChangeLevel.ERROR, "warning": ChangeLevel.WARNING}.get(fail_on, ChangeLevel.INFO)
    entries = ignore.render_ignore_entries(report.findings_at_least(least))
    if entries:
        before = file.read_text(encoding="utf-8") if file.exists() else "# Changes that somebody has looked at and wants. A reason must be given.\n"
        file.write_text(before + entries, encoding="utf-8")
        click.echo(f"{file}: {entries.count('[[ignore]]')} entries added; write the reasons", err=True)
