"""``a2a-gen pull``: the contract of a source of skills, as a project, for typed clients and the
compatibility check.

A source is a folder of apcore modules, an MCP server, or an object in Python. It is opened once and
asked for what it offers now.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import click

from a2a_runtime.agent import Agent
from a2a_runtime.cli import CommandError
from a2a_runtime.cli.schema import check_option, import_argument, output_option, write_contract
from a2a_runtime.cli.serve_sources import build_server_source, find_modules
from a2a_runtime.features.sources import SkillSource

_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_EXAMPLES = """\b
Examples:
  a2a-gen pull ./extensions                        a folder of apcore modules
  a2a-gen pull https://tools.example/mcp           an MCP server over HTTP
  a2a-gen pull "python -m tools"                   an MCP server that this command starts
  a2a-gen pull app:source -o contract --check      for CI: exit 1 if the files are stale
  cd contract && a2a-gen build                     a typed client in Python

\b
Exit codes: 0 success, 1 the files are stale or a configuration cannot be used, \
2 usage error or a source that cannot be read."""


@click.command(epilog=_EXAMPLES)
@click.argument("source")
@output_option
@click.option("--name", help="Name of the agent in a2a.toml. [default: from the source]")
@click.option(
    "--mcp-env",
    multiple=True,
    metavar="NAME",
    help="Variable of this environment that the command of an MCP server gets; may be repeated.",
)
@check_option
@click.pass_context
def command(
    context: click.Context,
    source: str,
    output: Path,
    name: str | None,
    mcp_env: tuple[str, ...],
    *,
    check: bool,
) -> None:
    """Write the skills of a SOURCE and their schemas to a2a.toml and files: a folder, URL, command,
    or module:attribute.
    """
    agent = _build_agent(source, name, mcp_env)
    write_contract(context, agent, output, f"a2a-gen pull {shlex.quote(source)}", check=check)


def _build_agent(source: str, name: str | None, variables: tuple[str, ...]) -> Agent:
    """Build the agent that has the skills of a source, and nothing else."""
    is_folder = Path(source).is_dir()
    is_url = source.startswith(("http://", "https://"))
    if variables and (is_folder or is_url or _ATTRIBUTE.fullmatch(source)):
        raise click.UsageError(
            f"--mcp-env: {source} is no command, and only the command of an MCP server gets "
            "variables; remove the option"
        )
    if is_folder:
        registry = find_modules(Path(source), source)
        if not registry.module_ids:
            raise CommandError(
                f"{source}: no apcore modules in this folder; name the folder that holds them"
            )
        from a2a_runtime.features.apcore import ApcoreSource  # noqa: PLC0415 - an extra

        return Agent(name or Path(source).resolve().name, sources=[ApcoreSource(registry)])
    if not _ATTRIBUTE.fullmatch(source):
        server = build_server_source(source, variables, source)
        if not is_url and shutil.which(shlex.split(source)[0]) is None:
            raise click.UsageError(
                f"{source}: no folder, no URL, no module:attribute, and no program of this "
                "name; correct it"
            )
        return Agent(name or "mcp-agent", sources=[server])
    found = import_argument(source)
    if not isinstance(found, SkillSource):
        raise click.UsageError(
            f"{source}: not a source of skills; name a SkillSource, or run a2a-gen schema "
            "for an agent"
        )
    return Agent(name or source.partition(":")[2], sources=[found])
