"""Command group of ``a2a-gen``: the table of commands, each loaded on first use.

Other distributions add commands (``serve``, ``worker``, …) under the entry-point group
``a2a_gen.commands``: a name and a click command, imported only when it runs.
"""

from __future__ import annotations

import ast
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

import click

from a2a_gen import __version__
from a2a_gen.problems import MissingExtraError

ENTRY_POINTS = "a2a_gen.commands"
OWN_COMMANDS = {
    "build": "Generate the package from the schemas.",
    "check": "Check that generated code is up to date and the schemas pass all rules.",
    "client": "Generate a typed client for a remote agent.",
    "completion": "Print the completion script of a shell.",
    "diff": "Report breaking changes between two contracts.",
    "dev": "Serve this project's agent with auto-reload.",
    "init": "Create a new agent project.",
    "ir": "Print the intermediate representation as JSON.",
    "lint": "Check schemas and tables against the lint rules.",
    "version": "Print the version.",
}
BUILDING_COMMANDS = frozenset({"build", "check", "client", "dev"})
BUILD_PACKAGES = {
    "datamodel_code_generator": "datamodel-code-generator",
    "httpx": "httpx",
    "jinja2": "jinja2",
    "ruff": "ruff",
}
"""What these commands need of the extra ``build``: names of imports and of packages."""
EXAMPLES = """\b
Examples:
  a2a-gen init hello       create an agent project
  a2a-gen build            generate its package
  a2a-gen check            for CI: exit 1 if generated code is stale
  a2a-gen build --help     help of one command

\b
Exit codes: 0 success, 1 findings or stale output, 2 usage error or invalid
schema, 3 missing baseline."""


class CommandGroup(click.Group):
    """A group that lists commands from a table and loads them on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List all commands, including those of other distributions."""
        del ctx
        return sorted({*OWN_COMMANDS, *_find_other_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name in OWN_COMMANDS:
            command = _load_own(cmd_name)
        elif cmd_name in _find_other_commands():
            command = _find_other_commands()[cmd_name].load()
        else:
            return super().get_command(ctx, cmd_name)
        if not isinstance(command, click.Command):
            raise click.ClickException(
                f"{cmd_name}: the entry point in {ENTRY_POINTS} is not a click command"
            )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a command for one that is misspelled."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if similar := get_close_matches(args[0], self.list_commands(ctx), 1):
                raise click.UsageError(
                    f"{error.message} Did you mean '{similar[0]}'?", ctx
                ) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading those of other distributions."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(
                sorted(
                    {
                        **{
                            name: _describe(point) for name, point in _find_other_commands().items()
                        },
                        **OWN_COMMANDS,
                    }.items()
                )
            )


def _load_own(name: str) -> object:
    if name in BUILDING_COMMANDS and (
        missing := [
            package for module, package in BUILD_PACKAGES.items() if not _is_installed(module)
        ]
    ):
        return _build_placeholder(name, MissingExtraError(missing[0]))
    return import_module(f"a2a_gen.commands.{name}").command


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        # A program has set the module to None in sys.modules.
        return False


def _build_placeholder(name: str, error: MissingExtraError) -> click.Command:
    """Build a command for one whose packages are not installed: it has help, and raises the error
    when run.
    """

    def refuse(args: tuple[str, ...]) -> None:
        del args
        raise error

    words = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name,
        {"ignore_unknown_options": True},
        refuse,
        [words],
        help=f"{OWN_COMMANDS[name]}\n\n{error}",
    )


def _describe(point: EntryPoint) -> str:
    """Read the first docstring line of a command from its source; an import may be slow or fail."""
    try:
        found = find_spec(point.module)
        if found and found.origin:
            source = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
        else:
            source = ast.Module([], [])
    except (ImportError, OSError, SyntaxError, ValueError):
        source = ast.Module([], [])
    said = next(
        (
            ast.get_docstring(each)
            for each in source.body
            if isinstance(each, ast.FunctionDef) and each.name == point.attr
        ),
        None,
    )
    return (said or f"From {point.module.partition('.')[0]}.").partition("\n")[0]


def _find_other_commands() -> dict[str, EntryPoint]:
    return {
        point.name: point
        for point in entry_points(group=ENTRY_POINTS)
        if point.name not in OWN_COMMANDS
    }


@click.group(
    cls=CommandGroup,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="a2a-gen %(version)s")
def cli() -> None:
    """Contract-first toolkit for A2A agents: JSON Schemas in, a typed Python package out."""
