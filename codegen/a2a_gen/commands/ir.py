"""``a2a-gen ir``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.agent import build as agent
from a2a_gen.agent import ir as show_agent
from a2a_gen.ir import dump
from a2a_gen.source.project import find_project

EXAMPLES = """\b
Examples:
  a2a-gen ir                       the whole contract
  a2a-gen ir --family v1_0/task    the types of one schema file"""


@click.command(epilog=EXAMPLES)
@click.option("--family", metavar="DIALECT/FILE", help="Show one schema file only.")
def command(family: str | None) -> None:
    """Show what the generator understood, as JSON on stdout.

    This is the intermediate form: everything that templates and rules see, with every name and type decided. Of an agent, its skills and their types.
    """
    project = find_project(Path.cwd())
    if project.kind == "agent":
        if family is not None:
            raise click.BadParameter("an agent has no such files; leave it out to see all of it", param_hint="--family")
        click.echo(show_agent.to_json(agent.read_agent(project).agent), nl=False)
        return
    contract = pipeline.load(project).contract
    if family is None:
        click.echo(dump.to_json(contract), nl=False)
        return
    found = {each.file.removesuffix(".json"): each for each in contract.families}
    if family not in found:
        raise click.BadParameter(f"there is no {family}; there is {', '.join(found)}", param_hint="--family")
    click.echo(dump.to_json(found[family]), nl=False)
