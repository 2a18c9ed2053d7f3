"""What people see: results on stdout, everything else on stderr; progress and colours only on a terminal, and no colours where NO_COLOR is set."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from a2a_gen.problems import ContractError, GeneratorError, Level, Problem

_COLOURS = {"error": "red", "fix": "cyan", "warning": "yellow", "+": "green", "-": "red", "@": "cyan"}


def show_progress(text: str) -> None:
    """Tell what happened to somebody who watches; says nothing in a script or a pipe."""
    if sys.stderr.isatty():
        click.echo(text, err=True, color=_has_colours())


def show_problems(problems: Iterable[Problem]) -> None:
    """Show what does not stop a command."""
    for problem in problems:
        click.echo(_paint(str(problem), "yellow" if problem.level is Level.WARNING else "red"), err=True, color=_has_colours())


def show_error(error: GeneratorError) -> None:
    """Show why a command ended without a result."""
    if isinstance(error, ContractError):
        show_problems(error.problems)
        files = {problem.place.file for problem in error.problems}
        text = f"{_pluralize(len(error.problems), 'problem')} in {_pluralize(len(files), 'file')}"
    else:
        text = str(error)
    click.echo(f"{_paint('error:', 'red')} {text}", err=True, color=_has_colours())


def show_usage_error(error: click.ClickException) -> None:
    """Show what click, or a command of another distribution, says is wrong; with how to use the command, where that is what is wrong."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
    click.echo(f"{_paint('error:', 'red')} {error.format_message()}", err=True, color=_has_colours())


def show_diff(lines: Iterable[str]) -> None:
    """Print a unified diff on stdout, coloured on a terminal."""
    for line in lines:
        click.echo(_paint(line, _COLOURS.get(line[:1], "")), color=sys.stdout.isatty() and _has_colours())


def show_report(text: str) -> None:
    """Print a report on stdout with its levels in colour; only for a terminal."""
    colours = {"error": "red", "warning": "yellow", "fix": "cyan", "was accepted": "magenta", "was never sent": "magenta"}
    for line in text.splitlines():
        colour = next((colour for word, colour in colours.items() if line.lstrip().startswith(word)), "")
        click.echo(_paint(line, colour), color=_has_colours())


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _paint(text: str, colour: str) -> str:
    return click.style(text, fg=colour) if colour else text


def _has_colours() -> bool | None:
    """``None`` lets click ask whether the stream is a terminal."""
    return False if os.environ.get("NO_COLOR") else None
