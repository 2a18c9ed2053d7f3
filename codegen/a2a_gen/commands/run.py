"""Running one command, and the one way in which all of them, of ours and of other distributions, say that they cannot.

0   fine
1   findings: stale output, broken promises, nothing of what was asked for; of serve, that it could not start or broke down
2   wrong use, or something there that cannot be used: a schema, a setting, a file
3   the baseline to compare with is not there
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from a2a_gen.commands import cli, console
from a2a_gen.problems import GeneratorError, ProjectError

_INTERRUPTED = 130


def run_command(words: Sequence[str]) -> int:
    """Run a command, and give its exit code."""
    try:
        done: object = cli.cli.main(words, prog_name="a2a-gen", standalone_mode=False)
    except GeneratorError as error:
        console.show_error(error)
        return error.exit_code
    except click.ClickException as error:
        console.show_usage_error(error)
        return error.exit_code
    except click.Abort:
        return _INTERRUPTED
    except OSError as error:
        if error.filename is None:
            raise
        reason = (error.strerror or type(error).__name__).lower()
        wrong = ProjectError(f"{error.filename} cannot be read or written: {reason}", "move what stands in the way, or name another place")
        console.show_error(wrong)
        return wrong.exit_code
    return done if isinstance(done, int) else 0
