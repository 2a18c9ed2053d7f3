"""``a2a-gen lint``."""

from __future__ import annotations

from pathlib import Path

import click

from a2a_gen import pipeline
from a2a_gen.commands import console
from a2a_gen.problems import Level
from a2a_gen.source.project import find_project

EXAMPLES = """\b
Examples:
  a2a-gen lint             every problem at once, with its place and its cure"""


@click.command(epilog=EXAMPLES)
def command() -> None:
    """Check the schemas and tables against the rules.

    A rule is about what would go wrong silently: a keyword that the generated code cannot keep, two names that become one in Python. Exits with 1
    when an error is found; warnings are only shown.
    """
    problems = pipeline.find_problems(find_project(Path.cwd()))
    console.show_problems(problems)
    raise SystemExit(any(problem.level is Level.ERROR for problem in problems))
