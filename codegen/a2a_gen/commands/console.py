"""Terminal output: results on stdout, everything else on stderr.

Colors only on a terminal, and none with NO_COLOR.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from a2a_gen.problems import ContractError, GeneratorError, Level, Problem, pluralize

_COLORS = {
    "error": "red",
    "fix": "cyan",
    "warning": "yellow",
    "+": "green",
    "-": "red",
    "@": "cyan",
}


def show_result(text: str) -> None:
    """Print the result of a command that has no output of its own, in one line."""
    click.echo(text, err=True, color=_has_colors())


def show_problems(problems: Iterable[Problem]) -> None:
    """Print problems."""
    for problem in problems:
        click.echo(
            _paint(str(problem), "yellow" if problem.level is Level.WARNING else "red"),
            err=True,
            color=_has_colors(),
        )


def show_error(error: GeneratorError) -> None:
    """Print the error that ended a command."""
    if isinstance(error, ContractError):
        show_problems(error.problems)
        files = {problem.place.file for problem in error.problems}
        text = f"{pluralize(len(error.problems), 'problem')} in {pluralize(len(files), 'file')}"
    else:
        text = str(error)
    click.echo(f"{_paint('error:', 'red')} {text}", err=True, color=_has_colors())


def show_usage_error(error: click.ClickException) -> None:
    """Print an error of click or of another distribution's command, with the usage if that is the
    problem.
    """
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(
            f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True
        )
    click.echo(f"{_paint('error:', 'red')} {error.format_message()}", err=True, color=_has_colors())


def show_diff(lines: Iterable[str]) -> None:
    """Print a unified diff on stdout, colored on a terminal."""
    for line in lines:
        click.echo(
            _paint(line, _COLORS.get(line[:1], "")), color=sys.stdout.isatty() and _has_colors()
        )


def show_report(text: str) -> None:
    """Print a report on stdout with colored levels; only for a terminal."""
    colours = {
        "error": "red",
        "warning": "yellow",
        "fix": "cyan",
        "was accepted": "magenta",
        "was never sent": "magenta",
    }
    for line in text.splitlines():
        colour = next(
            (colour for word, colour in colours.items() if line.lstrip().startswith(word)), ""
        )
        click.echo(_paint(line, colour), color=_has_colors())


def _paint(text: str, colour: str) -> str:
    if colour:
        return click.style(text, fg=colour)
    return text


def _has_colors() -> bool | None:
    """Return ``False`` if NO_COLOR is set; ``None`` lets click detect a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return None
