"""``a2a-gen lint``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console
from a2a_gen.problems import has_errors

EXAMPLES = """\b
Examples:
  a2a-gen lint             report every problem with its place and cure
  a2a-gen lint && a2a-gen build"""


@click.command(epilog=EXAMPLES)
def command() -> None:
    """Check schemas and tables against the lint rules.

    A lint rule finds what would fail silently: a keyword that generated code cannot enforce, two
    names that become one in Python. Exits with 1 on an error; warnings are only printed.
    """
    problems = pipeline.find_problems(pipeline.open_project(Path.cwd()))
    console.show_problems(problems)
    raise SystemExit(has_errors(problems))
