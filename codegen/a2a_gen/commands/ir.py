"""``a2a-gen ir``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.agent import build as agent
from a2a_gen.agent import ir as show_agent
from a2a_gen.contract.build import read_contract
from a2a_gen.ir import dump
from a2a_gen.plain import build as plain

EXAMPLES = """\b
Examples:
  a2a-gen ir                       whole contract
  a2a-gen ir --family v1_0/task    types of one schema file"""


@click.command(epilog=EXAMPLES)
@click.option("--family", metavar="DIALECT/FILE", help="Schema file to print.  [default: all]")
def command(family: str | None) -> None:
    """Print the intermediate representation as JSON.

    The intermediate representation is the input of templates and rules, with every name and type
    resolved: the contract, or the skills of an agent with their types.
    """
    project = pipeline.open_project(Path.cwd())
    if project.kind == "agent":
        if family is not None:
            raise click.BadParameter(
                "an agent has no schema families; omit the option", param_hint="--family"
            )
        click.echo(show_agent.to_json(agent.read_agent(project).agent), nl=False)
        return
    if project.kind == "models":
        if family is not None:
            raise click.BadParameter(
                "plain schemas have no families; omit the option", param_hint="--family"
            )
        click.echo(plain.to_json(plain.read_package(project)), nl=False)
        return
    contract = read_contract(project).contract
    if family is None:
        click.echo(dump.to_json(contract), nl=False)
        return
    found = {each.file.removesuffix(".json"): each for each in contract.families}
    if family not in found:
        raise click.BadParameter(
            f"{family!r} does not exist; choose one of {', '.join(found)}", param_hint="--family"
        )
    click.echo(dump.to_json(found[family]), nl=False)
