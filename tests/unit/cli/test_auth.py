"""``a2a-gen auth``: its output is accepted by gates."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from unit.auth.conftest import build_credentials
from unit.auth.test_basic import authenticate, build_basic_header

from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, BasicAuthenticator, User
from a2a_runtime.cli.auth import command

pytestmark = pytest.mark.anyio


def run(*words: str, typed: str = "") -> str:
    """Run the command."""
    done = CliRunner().invoke(command, list(words), input=typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_new_key_matches_its_digest() -> None:
    """The key is for the caller, the digest for the file; `digest` prints the same for the key."""
    made, kept = re.findall(
        r"for the caller:\s+(\S+)\nfor a2a.toml:\s+keys = { (\w+) = ", run("key")
    )[0]
    assert ApiKeyAuthenticator({kept: Identity("ada")}).authenticate(
        build_credentials(("x-api-key", made))
    ) == Identity("ada")
    assert run("digest", typed=f"{made}\n").strip() == kept


async def test_a_password_matches_its_hash() -> None:
    """The password itself is not printed."""
    output = run("password", typed="correct horse\n")
    assert "correct" not in output
    users = BasicAuthenticator({"ada": User(output.strip(), Identity("ada"))})
    assert await authenticate(users, build_basic_header("ada:correct horse")) == Identity("ada")


def test_a_short_password_is_rejected() -> None:
    """The error for a short password has the minimum length."""
    done = CliRunner().invoke(command, ["password"], input="short\n")
    assert (done.exit_code, "at least 8 characters" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("what", "typed"),
    [
        ("digest", b""),
        ("digest", b"\n"),
        ("digest", b"\xff\n"),
        ("password", b"correct\x07 horse\n"),
    ],
)
def test_unprintable_secrets_are_rejected(what: str, typed: bytes) -> None:
    """An empty pipe is an error, not an empty key."""
    done = CliRunner().invoke(command, [what], input=typed)
    assert (done.exit_code, "one line of printable text" in done.output) == (2, True)
