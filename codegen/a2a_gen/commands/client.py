"""``a2a-gen client``."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

import click

from a2a_gen.agent import remote_client
from a2a_gen.agent.remote import read_remote_agent, strip_credentials
from a2a_gen.commands import console, diff
from a2a_gen.diff import run
from a2a_gen.diff.formats import FORMATS
from a2a_gen.diff.report import CompareOptions
from a2a_gen.diff.run import compare_sides, should_fail
from a2a_gen.diff.sides import side_from_remote
from a2a_gen.output.publish import make_plan, publish, refuse_edited
from a2a_gen.output.staging import format_package, stage, start_import_check
from a2a_gen.problems import ProjectError
from a2a_gen.source.project import explain_invalid_name

EXAMPLES = """\b
Examples:
  a2a-gen client https://agent.example.com -o src/app/reports
  a2a-gen client card.json -o reports
  a2a-gen client https://agent.example.com -o src/app/reports --check      what has changed since, and whom it breaks

\b
Exit codes of --check: 0 nothing that bad, 1 findings, 2 the agent cannot be
read, 3 there is no client to compare with."""


class _Options(TypedDict):
    """How to show what a check finds, where else schemas may come from, and whether edits are thrown away."""

    form: str
    fail_on: str
    schemas_from: tuple[str, ...]
    force: bool


@click.command(epilog=EXAMPLES)
@click.argument("where", metavar="URL|CARD")
@click.option("-o", "--out", "folder", required=True, type=click.Path(path_type=Path), help="The folder of the package to write.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say what has changed since, by the rules of a2a-gen diff.")
@click.option("--force", is_flag=True, help="Overwrite files of the client that were edited by hand.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="How to show what a check finds.")
@click.option(
    "--fail-on", type=click.Choice(diff.FAIL_ON), default="error", show_default=True, help="The mildest finding of a check that ends with 1."
)
@click.option("--schemas-from", metavar="URL", multiple=True, help="Another origin that schemas may be read from; unasked, only that of the card is.")
def command(where: str, folder: Path, only_check: bool, **options: Unpack[_Options]) -> None:  # noqa: FBT001 - click passes options by name
    """Make a typed client for an agent that runs somewhere else.

    Everything comes from its card: the skills, and the schemas that the card names or holds. A skill without schemas takes and gives text. What was
    seen is kept beside the code, so that ``--check`` can compare it with what the agent shows now.
    """
    again = _build_command_line(where, folder, options["schemas_from"])
    if only_check:
        raise SystemExit(_check(where, folder, again, options))
    if folder.exists() and any(folder.iterdir()) and not (folder / remote_client.LOCK).is_file():
        raise ProjectError(f"{folder} is no client that was made by this command", "choose another folder, or empty this one")
    if why := explain_invalid_name(folder.name):
        raise click.BadParameter(f"{folder} cannot be imported: {why}", param_hint="--out")
    remote = read_remote_agent(where, options["schemas_from"])
    with start_import_check() as waiting, stage(folder.absolute(), remote_client.emit(remote, again)) as staged:
        format_package(staged)
        waiting.run(staged)
        made = {file.relative_to(staged).as_posix(): file for file in sorted(staged.rglob("*")) if file.is_file()}
        files = {path: file.read_bytes() for path, file in made.items()}
        plan = make_plan(folder.absolute(), files, remote_client.find_leftovers(folder))
        if not options["force"]:
            refuse_edited(plan, again, "a subclass, or what calls it,")
        publish(folder.absolute(), made, plan, (remote_client.LOCK, remote_client.lock(remote, strip_credentials(where), files)))
    console.show_progress(f"{folder}: a client with {len(list(remote.skills))} skills")


def _check(where: str, folder: Path, again: str, options: _Options) -> bool:
    """Say what has changed at the agent and in the package, and whether that is too much."""
    touched = [*remote_client.find_edited(folder)]
    old, new = remote_client.read_snapshot(folder), read_remote_agent(where, options["schemas_from"])
    outcome = compare_sides(
        side_from_remote(old, folder.as_posix(), new),
        side_from_remote(new, strip_credentials(where), old),
        CompareOptions("WIRE"),
        Path(run.IGNORE_FILE),
    )
    diff.show_outcome(outcome, options["form"])
    for path, why in touched:
        click.echo(f"{(folder / path).as_posix()}: {why}", err=True)
    if touched:
        click.echo(f"the client is not what was made\n    fix: {again} --force", err=True)
    is_broken = should_fail(outcome.report, options["fail_on"])
    if is_broken:
        click.echo(f"the agent is not what {folder} was made for\n    fix: {again}, and follow where mypy complains", err=True)
    return bool(touched) or is_broken


def _build_command_line(where: str, folder: Path, schemas_from: tuple[str, ...]) -> str:
    """Write the command as others can repeat it."""
    words = ["a2a-gen client", strip_credentials(where), "-o", folder.name if folder.is_absolute() else folder.as_posix()]
    return " ".join([*words, *(f"--schemas-from {strip_credentials(each)}" for each in schemas_from)])
