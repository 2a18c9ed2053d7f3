"""``a2a-gen auth``: keys and passwords for the gates of an ``a2a.toml``, which keeps none of them itself."""

from __future__ import annotations

import sys

import click

from a2a_runtime.auth.authenticators import digest_key, generate_key, hash_password

_MIN_PASSWORD_CHARS = 8
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
    made = generate_key()
    click.echo(f"for the caller:  {made}")
    click.echo(f'for a2a.toml:    keys = {{ {digest_key(made)} = "name-of-the-caller" }}')


@command.command("digest")
def digest_of() -> None:
    """Print what a2a.toml keeps of a key that is typed or piped in."""
    click.echo(digest_key(_read_secret("Key", is_new=False)))


@command.command()
def password() -> None:
    """Print what a2a.toml keeps of a password that is typed or piped in."""
    typed = _read_secret("Password", is_new=True)
    if len(typed) < _MIN_PASSWORD_CHARS:
        raise click.UsageError(f"a password has at least {_MIN_PASSWORD_CHARS} characters; take a longer one")
    click.echo(hash_password(typed))


def _read_secret(name: str, *, is_new: bool) -> str:
    """Read a secret without showing it; it is never a word of the command, which other users of the machine can see."""
    if sys.stdin.isatty():
        secret = str(click.prompt(name, hide_input=True, confirmation_prompt=is_new))
    else:
        secret = sys.stdin.buffer.readline().decode(errors="surrogateescape").rstrip("\r\n")
    if not secret or not secret.isprintable():
        raise click.UsageError(f"a {name.lower()} is one line of printable text; type one, or pipe one in")
    return secret
