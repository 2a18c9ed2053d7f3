"""``a2a-gen auth``: what it prints is what a gate takes."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from unit.auth.conftest import build_credentials
from unit.auth.test_passwords import authenticate, build_basic_header

from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, BasicAuthenticator, User
from a2a_runtime.commands.auth import command

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


def said(*words: str, typed: str = "") -> str:
    """Run the command."""
    done = CliRunner().invoke(command, list(words), input=typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_new_key_opens_what_its_digest_is_written_into() -> None:
    """The key is for the caller, the digest for the file; and the digest of a key that is there is the same."""
    made, kept = re.findall(r"for the caller:\s+(\S+)\nfor a2a.toml:\s+keys = { (\w+) = ", said("key"))[0]
    assert ApiKeyAuthenticator({kept: Identity("ada")}).authenticate(build_credentials(("x-api-key", made))) == Identity("ada")
    assert said("digest", typed=f"{made}\n").strip() == kept


async def test_a_password_opens_what_its_hash_is_written_into() -> None:
    """And the password itself is not shown."""
    output = said("password", typed="correct horse\n")
    assert "correct" not in output
    users = BasicAuthenticator({"ada": User(output.strip(), Identity("ada"))})
    assert await authenticate(users, build_basic_header("ada:correct horse")) == Identity("ada")


def test_a_short_password_is_refused() -> None:
    """With what would do."""
    done = CliRunner().invoke(command, ["password"], input="short\n")
    assert (done.exit_code, "at least 8 characters" in done.output) == (2, True)


@pytest.mark.parametrize(("what", "typed"), [("digest", b""), ("digest", b"\n"), ("digest", b"\xff\n"), ("password", b"correct\x07 horse\n")])
def test_what_nobody_could_send_is_refused(what: str, typed: bytes) -> None:
    """A pipe that was empty makes no key of nothing."""
    done = CliRunner().invoke(command, [what], input=typed)
    assert (done.exit_code, "one line of printable text" in done.output) == (2, True)
