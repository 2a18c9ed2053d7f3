"""The commands that the runtime adds to ``a2a-gen``: one module each, imported only when the
command is named.

Loaded where a command of ``a2a-gen`` runs.
"""

from __future__ import annotations

import click


class CommandError(click.ClickException):
    """A command with valid arguments that cannot be run: an invalid setting, an unusable store, a
    package that is not installed.
    """

    exit_code = 2
