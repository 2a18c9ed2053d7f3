"""Names and passwords."""

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
    """Make the header."""
    return "Authorization", f"Basic {b64encode(text.encode()).decode()}"


async def authenticate(users: BasicAuthenticator, *headers: tuple[str, str]) -> Identity | None:
    """Check a request."""
    answer = users.authenticate(build_credentials(*headers))
    return answer if isinstance(answer, Identity) or answer is None else await answer


async def test_a_right_password_is_taken_and_known_again_for_a_while() -> None:
    """The slow check happens once in five minutes."""
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
async def test_a_wrong_one_is_refused(header: tuple[str, str]) -> None:
    """Nobody learns whether there is somebody of that name."""
    with pytest.raises(InvalidCredentialsError, match="name"):
        await authenticate(BasicAuthenticator({"ada": ADA}), header)


async def test_no_password_is_nobodys() -> None:
    """Who sends none is not refused here; what is kept must be a hash."""
    assert await authenticate(BasicAuthenticator({"ada": ADA})) is None
    with pytest.raises(ValueError, match="a2a-gen auth password"):
        BasicAuthenticator({"ada": User("hunter2", Identity("ada"))})
