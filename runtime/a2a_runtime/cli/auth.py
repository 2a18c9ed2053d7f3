"""``a2a-gen auth``: API keys and password hashes for the gates of an ``a2a.toml``, which stores
neither keys nor passwords.
"""

from __future__ import annotations

import sys

import click

from a2a_runtime.auth.authenticators import digest_key, generate_key, hash_password

_MIN_PASSWORD_CHARS = 8
_EXAMPLES = """\b
Examples:
  a2a-gen auth key                          generate a key and its digest
  a2a-gen auth digest < key.txt             print the digest of a key
  a2a-gen auth password                     prompt for a password and print its hash"""


@click.group(epilog=_EXAMPLES)
def command() -> None:
    """Create API keys and password hashes."""


@command.command()
def key() -> None:
    """Generate an API key, and print it with its digest for a2a.toml."""
    created = generate_key()
    click.echo(f"for the caller:  {created}")
    click.echo(f'for a2a.toml:    keys = {{ {digest_key(created)} = "name-of-the-caller" }}')


@command.command()
def digest() -> None:
    """Print the digest of an API key that is typed or piped in."""
    click.echo(digest_key(_read_secret("Key", is_new=False)))


@command.command()
def password() -> None:
    """Print the hash of a password that is typed or piped in."""
    typed = _read_secret("Password", is_new=True)
    if len(typed) < _MIN_PASSWORD_CHARS:
        raise click.UsageError(
            f"password: too short; use at least {_MIN_PASSWORD_CHARS} characters"
        )
    click.echo(hash_password(typed))


def _read_secret(name: str, *, is_new: bool) -> str:
    """Read a secret without an echo; never as an argument, which other users of the machine can
    see.
    """
    if sys.stdin.isatty():
        secret = str(click.prompt(name, hide_input=True, confirmation_prompt=is_new))
    else:
        secret = sys.stdin.buffer.readline().decode(errors="surrogateescape").rstrip("\r\n")
    if not secret or not secret.isprintable():
        raise click.UsageError(
            f"{name.lower()}: not one line of printable text; type or pipe one in"
        )
    return secret
