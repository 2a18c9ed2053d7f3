"""What the runtime adds to ``a2a-gen``: one file per command, loaded only when it is named."""

from __future__ import annotations

import click

# Why a command cannot do what it is asked for, although it is asked in the right way.


class CommandError(click.ClickException):
    """Something cannot be used: a setting, a store, a package that is not installed."""

    exit_code = 2
