"""Runs one command and converts its errors to messages and exit codes, for our commands and those
of other distributions.

0   success
1   findings: stale output, breaking changes, no result
2   usage error, or an invalid input: a schema, a setting, a file
3   the baseline to compare with is missing

``serve`` has codes of its own: 1 for an invalid configuration, 2 for a failed start or a crash.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from a2a_gen.commands import cli, console
from a2a_gen.problems import GeneratorError, ProjectError

_MISSING_EXTRA = 2
_INTERRUPTED = 130


def run_command(words: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        result: object = cli.cli.main(words, prog_name="a2a-gen", standalone_mode=False)
    except GeneratorError as error:
        console.show_error(error)
        return error.exit_code
    except click.ClickException as error:
        console.show_usage_error(error)
        return error.exit_code
    except ModuleNotFoundError as error:
        # The class itself comes from the user's code. Its subclasses are ours, and say how to
        # install what is missing.
        if type(error) is ModuleNotFoundError:
            raise
        console.show_usage_error(click.ClickException(str(error)))
        return _MISSING_EXTRA
    except click.Abort:
        return _INTERRUPTED
    except OSError as error:
        if error.filename is None:
            raise
        return _report_file(error)
    return result if isinstance(result, int) else 0


def _report_file(error: OSError) -> int:
    reason = (error.strerror or type(error).__name__).lower()
    failure = ProjectError(
        f"{error.filename}: cannot be read or written: {reason}",
        "correct the path or its permissions",
    )
    console.show_error(failure)
    return failure.exit_code
