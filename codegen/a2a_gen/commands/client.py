"""``a2a-gen client``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen.agent import foreign
from a2a_gen.agent.remote import read_remote
from a2a_gen.commands import console
from a2a_gen.output.stage import stage
from a2a_gen.output.tidy import tidy
from a2a_gen.output.trial import trial
from a2a_gen.problems import ProjectError

EXAMPLES = """\b
Examples:
  a2a-gen client https://agent.example.com -o src/app/reports
  a2a-gen client card.json -o reports
  a2a-gen client https://agent.example.com -o src/app/reports --check      exit 1 if the agent has changed since"""


@click.command(epilog=EXAMPLES)
@click.argument("where", metavar="URL|CARD")
@click.option("-o", "--out", "folder", required=True, type=click.Path(path_type=Path), help="The folder of the package to write.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say what has changed since the client was made.")
def command(where: str, folder: Path, only_check: bool) -> None:  # noqa: FBT001 - click passes options by name
    """Make a typed client for an agent that runs somewhere else.

    Everything comes from its card: the skills, and the schemas that the card names or holds. A skill without schemas takes and gives text. What was
    seen is written down beside the code, so that ``--check`` can compare.
    """
    remote = read_remote(where)
    if only_check:
        found = list(foreign.drift(foreign.read_seen(folder), foreign.seen(remote, where)))
        for line in found:
            click.echo(line)
        raise SystemExit(bool(found))
    if folder.exists() and any(folder.iterdir()) and not (folder / foreign.LOCK).is_file():
        raise ProjectError(f"{folder} is no client that was made by this command", "choose another folder, or empty this one")
    if not folder.name.isidentifier():
        raise click.BadParameter(f"{folder.name!r} is no name of a Python package", param_hint="--out")
    _write(folder.absolute(), foreign.emit(remote, where))
    console.say(f"{folder}: a client with {len(list(remote.skills))} skills")


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Replace what is there, once everything was tried."""
    with trial() as waiting, stage(folder, files) as staged:
        tidy(staged)
        waiting.run(staged)
        made = {file.relative_to(staged).as_posix(): file for file in staged.rglob("*") if file.is_file()}
        for old in [each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts]:
            if old.relative_to(folder).as_posix() not in made:
                old.unlink()
        for path, file in made.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if not (folder / path).is_file() or (folder / path).read_bytes() != file.read_bytes():
                file.replace(folder / path)
