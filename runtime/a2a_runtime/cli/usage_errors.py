"""Commands whose usage errors end with 1, like every configuration that cannot be used."""

from __future__ import annotations

from typing import Any

import click


class CommandUsageError(click.UsageError):
    """Arguments or a configuration that cannot be used."""

    exit_code = 1


class StrictCommand(click.Command):
    """A command whose usage errors have the exit code of an invalid configuration."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:  # noqa: ANN401 - passed on
        """Parse the arguments."""
        try:
            return super().make_context(*args, **options)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise CommandUsageError(error.format_message(), error.ctx) from None
