"""User names and passwords."""

from __future__ import annotations

from base64 import b64encode

import pytest
from unit.auth.conftest import build_credentials

from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError
from a2a_runtime.auth.authenticators import BasicAuthenticator, User, hash_password
from a2a_runtime.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

ADA = User(hash_password("pässword:with colon"), Identity("ada"))


def build_basic_header(text: str) -> tuple[str, str]:
    """Build the header."""
    return "Authorization", f"Basic {b64encode(text.encode()).decode()}"


async def authenticate(users: BasicAuthenticator, *headers: tuple[str, str]) -> Identity | None:
    """Authenticate a request."""
    answer = users.authenticate(build_credentials(*headers))
    if isinstance(answer, Identity) or answer is None:
        return answer
    return await answer


async def test_a_correct_password_is_accepted_and_remembered() -> None:
    """The slow check runs once in five minutes."""
    clock = FakeClock()
    users = BasicAuthenticator({"ada": ADA}, clock=clock)
    header = build_basic_header("ada:pässword:with colon")
    assert await authenticate(users, header) == Identity("ada")
    assert users.authenticate(build_credentials(header)) == Identity("ada")
    with pytest.raises(InvalidCredentialsError, match="wrong"):
        await authenticate(users, build_basic_header("ada:another"))
    clock.advance(301)
    assert not isinstance(again := users.authenticate(build_credentials(header)), Identity | None)
    assert await again == Identity("ada")


@pytest.mark.parametrize(
    "header",
    [
        build_basic_header("ada:wrong"),
        build_basic_header("eve:x"),
        build_basic_header("nothing"),
        ("Authorization", "Basic %%%"),
        build_basic_header(f"ada:{'x' * 1001}"),
    ],
)
async def test_a_wrong_password_is_rejected(header: tuple[str, str]) -> None:
    """The error does not reveal which users exist."""
    with pytest.raises(InvalidCredentialsError, match="name"):
        await authenticate(BasicAuthenticator({"ada": ADA}), header)


async def test_a_request_without_a_password_is_not_rejected() -> None:
    """The stored text must be a hash."""
    assert await authenticate(BasicAuthenticator({"ada": ADA})) is None
    with pytest.raises(ValueError, match="a2a-gen auth password"):
        BasicAuthenticator({"ada": User("hunter2", Identity("ada"))})
