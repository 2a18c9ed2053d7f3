"""``a2a-gen diff``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from a2a_gen.commands import console
from a2a_gen.diff import finding
from a2a_gen.diff.formats import FORMATS
from a2a_gen.diff.ignore import IGNORE_FILE, render_ignore_entries
from a2a_gen.diff.report import CompareOptions, Report
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.run import (
    TRANSITIVE_SUFFIX,
    CompareOutcome,
    CompareRequest,
    check_compatibility,
    should_fail,
)
from a2a_gen.diff.usage import BOTH, Usage
from a2a_gen.problems import ProjectError
from a2a_gen.source.project import Compat, find_project, find_root

PROFILES = [
    *finding.PROFILES,
    *(f"{name}{TRANSITIVE_SUFFIX}" for name in ("BACKWARD", "FORWARD", "FULL")),
]
PROFILE_HELP = "Kinds of break to report.  [default: FULL for a contract, WIRE for anything else]"
FAIL_ON = ["error", "warning", "info", "none"]
FAIL_ON_HELP = "Exit with 1 at this level or above.  [default: error]"
USAGES = {"read": frozenset({Usage.READ}), "written": frozenset({Usage.WRITTEN}), "both": BOTH}
EXAMPLES = """\b
Examples:
  a2a-gen diff --against origin/main              this project against a branch
  a2a-gen diff --against v1.2.0 --format markdown against a tag, for a pull request
  a2a-gen diff --against a2a-gen.lock             against the last committed build
  a2a-gen diff --against https://example.org      against the card of a running agent
  a2a-gen diff old/ new/ --plain --role read      any two folders of JSON Schemas
  a2a-gen diff --against 'v*' --profile FULL_TRANSITIVE

\b
Exit codes: 0 no finding at the --fail-on level, 1 findings, 2 usage error or
invalid schema, 3 missing baseline (the message has the command to fetch it)."""


class _Options(TypedDict):
    """Options beside the sides."""

    form: str
    fail_on: str | None
    profile: str | None
    role: str
    plain: bool
    docs: bool
    ignored: Path | None
    write_ignore: bool


@click.command(epilog=EXAMPLES)
@click.argument("sides", nargs=-1, metavar="[BASE] [REVISION]")
@click.option(
    "--against",
    "baselines",
    multiple=True,
    metavar="REF|DIR|LOCK|URL",
    help="Baseline: a Git ref, folder, lock or agent card; repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option("--fail-on", type=click.Choice(FAIL_ON), default=None, help=FAIL_ON_HELP)
@click.option("--profile", type=click.Choice(PROFILES), default=None, help=PROFILE_HELP)
@click.option(
    "--role",
    type=click.Choice(list(USAGES)),
    default="both",
    show_default=True,
    help="Usage of plain schemas.",
)
@click.option("--plain", is_flag=True, help="Compare the files as plain JSON Schemas.")
@click.option("--docs", is_flag=True, help="Report changed descriptions too.")
@click.option(
    "--ignore",
    "ignored",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"File of accepted changes.  [default: {IGNORE_FILE} of the project]",
)
@click.option(
    "--write-ignore",
    is_flag=True,
    help="Add the findings to the file of accepted changes, with empty reasons.",
)
def command(
    sides: tuple[str, ...], baselines: tuple[str, ...], **options: Unpack[_Options]
) -> None:
    """Report breaking changes between two contracts.

    Compares schemas as sets of documents and shows a document for every break. REVISION defaults to
    this project; the base defaults to the baselines under [compat] of its project file.
    """
    compat = _read_compat() if not sides else Compat()
    baselines = baselines or compat.baselines
    if len(sides) + bool(baselines) not in (1, 2) or (not baselines and not sides):
        raise click.UsageError(
            "BASE: not given; pass BASE and REVISION, or --against, or set baselines under "
            "[compat] in the project file"
        )
    # With baselines, the only side that is given is the revision.
    bases = baselines or sides[:1]
    rest = sides if baselines else sides[1:]
    revision = rest[0] if rest else ""
    ignore_file = options["ignored"] or (find_root(Path.cwd()) or Path()) / IGNORE_FILE
    request = CompareRequest(
        bases,
        Path(revision) if revision else find_schema_folder(),
        options["plain"] or (not revision and has_plain_schemas()),
        options["profile"] or compat.profile,
        CompareOptions(usages=USAGES[options["role"]], include_docs=options["docs"]),
        ignore_file,
    )
    outcome = check_compatibility(request)
    show_outcome(outcome, options["form"])
    fail_on = options["fail_on"] or compat.fail_on
    if options["write_ignore"]:
        _write_ignore_entries(ignore_file, outcome.report, fail_on)
    raise SystemExit(should_fail(outcome.report, fail_on))


def _read_compat() -> Compat:
    try:
        return find_project(Path.cwd()).compat
    except ProjectError:
        # Two folders, or an explicit baseline, need no project.
        return Compat()


def find_schema_folder() -> Path:
    """Return the folder of an agent project, or the folder of the schemas of any other."""
    return _find_agent() or find_project(Path.cwd()).schema


def has_plain_schemas() -> bool:
    """Return true if this project is a folder of plain schemas, which may be YAML too."""
    return _find_agent() is None and find_project(Path.cwd()).kind == "models"


def _find_agent() -> Path | None:
    """Find the folder of an agent project; its other tables may be wrong, or still missing."""
    root = find_root(Path.cwd())
    if root is not None and (root / "a2a.toml").is_file():
        return root
    return None


def show_outcome(outcome: CompareOutcome, form: str) -> None:
    """Print a report, and its notes on stderr."""
    for note in outcome.notes:
        click.echo(f"note: {note}", err=True)
    text = FORMATS[form](outcome.report)
    if form == "text" and sys.stdout.isatty():
        console.show_report(text)
    else:
        click.echo(text, nl=False)


def _write_ignore_entries(file: Path, report: Report, fail_on: str) -> None:
    level = {"error": ChangeLevel.ERROR, "warning": ChangeLevel.WARNING}.get(
        fail_on, ChangeLevel.INFO
    )
    entries = render_ignore_entries(report.findings_at_least(level))
    if entries:
        before = "# Accepted changes. Every entry needs a reason.\n"
        if file.exists():
            before = file.read_text(encoding="utf-8")
        file.write_text(before + entries, encoding="utf-8")
        click.echo(
            f"{file}: {entries.count('[[ignore]]')} entries added; fill in the reasons", err=True
        )
