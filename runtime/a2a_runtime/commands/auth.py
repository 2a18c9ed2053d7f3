"""``a2a-gen auth``: keys and passwords for the gates of an ``a2a.toml``, which keeps none of them itself."""

from __future__ import annotations

import click

from a2a_runtime.auth.api_keys import digest, new_key
from a2a_runtime.auth.passwords import hash_password

_SHORTEST = 8
_EXAMPLES = """\b
Examples:
  a2a-gen auth key                          a new key, and what a2a.toml keeps of it
  a2a-gen auth digest < key.txt             what a2a.toml keeps of a key that is there
  a2a-gen auth password                     asks for a password, and prints what a2a.toml keeps of it"""


@click.group(epilog=_EXAMPLES)
def command() -> None:
    """Make keys and passwords for callers."""


@command.command()
def key() -> None:
    """Make a key for a caller: it is shown once, and a2a.toml keeps its digest."""
    made = new_key()
    click.echo(f"for the caller:  {made}")
    click.echo(f'for a2a.toml:    keys = {{ {digest(made)} = "name-of-the-caller" }}')


@command.command("digest")
@click.password_option("--key", "known", prompt="Key", confirmation_prompt=False, help="The key; better typed or piped in than written here.")
def digest_of(known: str) -> None:
    """Print what a2a.toml keeps of a key that is there already."""
    click.echo(digest(known.strip()))


@command.command()
@click.password_option(help="The password; better typed or piped in than written here.")
def password(password: str) -> None:
    """Print what a2a.toml keeps of a password."""
    if len(password) < _SHORTEST:
        raise click.UsageError(f"a password has at least {_SHORTEST} characters; take a longer one")
    click.echo(hash_password(password))
