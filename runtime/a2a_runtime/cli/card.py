"""``a2a-gen card``: show the card of an agent, sign cards and verify signatures.

Each subcommand needs the libraries of its own extra only: one that is missing is named when the
subcommand runs.
"""

from __future__ import annotations

from importlib import import_module

import click

from a2a_runtime.base.importing import MissingLibraryError, explain_missing
from a2a_runtime.cli.terminal.address import is_address

_SIGNING = "a2a_runtime.cli.card_signing"
_SHOWING = "a2a_runtime.cli.terminal.card"
_MODULES = {
    "keygen": (_SIGNING, "auth"),
    "show": (_SHOWING, "client"),
    "sign": (_SIGNING, "auth"),
    "verify": (_SIGNING, "auth"),
}
_SHOW = "show"
_EXAMPLES = """\b
Examples:
  a2a-gen card show https://agent.example         what the agent offers, and how it is called
  a2a-gen card https://agent.example --json       the same as JSON
  a2a-gen card keygen card.pem > keys.json
  a2a-gen card sign card.json --key card.pem > signed.json
  a2a-gen card verify signed.json --keys keys.json
  a2a-gen card verify https://agent.example/.well-known/agent-card.json \\
    --keys https://agent.example/keys.json

\b
Exit codes: 0 success, 1 the card is not signed by a trusted key, 2 usage
error; those of `show` are on its --help."""


class CardGroup(click.Group):
    """A group that loads each subcommand on first use; a URL in place of one is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the subcommands."""
        del ctx
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one subcommand."""
        del ctx
        if cmd_name not in _MODULES:
            return None
        module, extra = _MODULES[cmd_name]
        try:
            with explain_missing(f"a2a-gen card {cmd_name}", extra):
                found: object = getattr(import_module(module), cmd_name)
        except MissingLibraryError as error:
            return _build_placeholder(cmd_name, error)
        # asserted for the types: a fact of this package
        assert isinstance(found, click.Command), "of our own module"  # noqa: S101
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take a URL as that of an agent to show."""
        if is_address(args[0]):
            args = [_SHOW, *args]
        return super().resolve_command(ctx, args)


def _build_placeholder(name: str, error: MissingLibraryError) -> click.Command:
    """Build a command that raises the error of a missing extra when it runs."""

    def refuse(args: tuple[str, ...]) -> None:
        del args
        raise error

    words = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(name, {"ignore_unknown_options": True}, refuse, [words], help=str(error))


@click.group(cls=CardGroup, epilog=_EXAMPLES)
def command() -> None:
    """Show the card of an agent, sign cards and verify signatures."""
