"""Limits on failed attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from unit.auth.conftest import build_credentials
from unit.auth.test_basic import build_basic_header

from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate, ChallengeError
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter, RateLimit, TooManyRequestsError
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.token_issuer import TokenIssuer

pytestmark = pytest.mark.anyio

HERE = "192.0.2.1"
ELSEWHERE = "198.51.100.7"
ADA = User(hash_password("ada's"), Identity("ada"))
EVE = User(hash_password("eve's"), Identity("eve"))
ISSUER = TokenIssuer()


class AttemptSetup:
    """A gate for keys, passwords and tokens, and a clock."""

    def __init__(self, per_name: int | None = 3, per_address: int | None = 5) -> None:
        self.clock = FakeClock()
        name, address = (
            None if each is None else RateLimit(each, 60) for each in (per_name, per_address)
        )
        keys = ApiKeyAuthenticator(
            {digest_key("good"): Identity("box"), digest_key("other"): Identity("jar")},
            failed_attempts=FailedAttemptLimiter(name, address, self.clock),
        )
        users = BasicAuthenticator(
            {"ada": ADA, "eve": EVE},
            failed_attempts=FailedAttemptLimiter(name, address, self.clock),
            clock=self.clock,
        )
        self.gate = AuthGate(keys, users, JwtAuthenticator(ISSUER.keys(), ISSUER.validation()))

    async def attempt(self, *headers: tuple[str, str], client: str = HERE) -> str | int:
        """Return the subject, or the status of the rejection."""
        try:
            answer = self.gate.admit(build_credentials(*headers, client=client))
            return (answer if isinstance(answer, Caller) else await answer).subject
        except ChallengeError:
            return 401
        except TooManyRequestsError as error:
            if 1 <= error.retry_after_seconds <= 61:
                return 429
            return "never again"

    async def attempt_keys(self, *keys: str, client: str = HERE) -> Sequence[str | int]:
        """Try keys one after the other."""
        return [await self.attempt(("x-api-key", key), client=client) for key in keys]

    async def attempt_passwords(self, *words: str, client: str = HERE) -> Sequence[str | int]:
        """Try names with passwords one after the other."""
        return [await self.attempt(build_basic_header(word), client=client) for word in words]


async def test_failed_keys_block_an_address() -> None:
    """Even for the valid key, until the window has passed; another address is not blocked."""
    setting = AttemptSetup()
    assert await setting.attempt_keys("a", "b", "c", "d", "good") == [401, 401, 401, 429, 429]
    assert await setting.attempt_keys("good", client=ELSEWHERE) == ["apiKey:box"]
    setting.clock.advance(61)
    assert await setting.attempt_keys("good", "a") == ["apiKey:box", 401]


async def test_failed_passwords_are_counted_by_name_and_by_address() -> None:
    """Three for one name; five for all names, existing or not."""
    setting = AttemptSetup()
    assert await setting.attempt_passwords("ada:1", "ada:2", "ada:3", "ada:4", "ada:ada's") == [
        401,
        401,
        401,
        429,
        429,
    ]
    assert await setting.attempt_passwords("eve:eve's", "unknown:1", "eve:1", "eve:2") == [
        "basic:eve",
        401,
        401,
        429,
    ]
    assert await setting.attempt_passwords("ada:ada's", client=ELSEWHERE) == ["basic:ada"]
    setting.clock.advance(61)
    assert await setting.attempt_passwords("ada:ada's") == ["basic:ada"]


async def test_concurrent_attempts_are_counted() -> None:
    """Only the attempts that are being checked already pass the limit."""
    setting = AttemptSetup(per_name=3, per_address=None)
    found = await asyncio.gather(
        *(setting.attempt(build_basic_header(f"ada:{number}")) for number in range(20))
    )
    assert found.count(429) >= 20 - 3 - 4


async def test_accepted_credentials_stay_accepted() -> None:
    """Callers behind one address do not lock out each other."""
    setting = AttemptSetup()
    assert await setting.attempt_keys("good", "a", "b", "c", "good", "other") == [
        "apiKey:box",
        401,
        401,
        401,
        "apiKey:box",
        429,
    ]
    assert await setting.attempt_passwords("ada:ada's", "ada:1", "ada:2", "ada:3", "ada:ada's") == [
        "basic:ada",
        401,
        401,
        401,
        "basic:ada",
    ]
    setting.clock.advance(
        301
    )  # the password is checked again, although the failed attempts are as recent
    assert await setting.attempt_passwords("ada:4", "ada:5", "ada:6", "ada:ada's", "ada:7") == [
        401,
        401,
        401,
        "basic:ada",
        429,
    ]


async def test_a_repeated_wrong_key_counts_once() -> None:
    """A client with an outdated key does not lock out others at its address."""
    setting = AttemptSetup()
    assert await setting.attempt_keys(*["old"] * 20, "good") == [*[401] * 20, "apiKey:box"]


async def test_tokens_are_not_counted() -> None:
    """Valid ones are accepted from a blocked address, even together with a wrong key."""
    setting = AttemptSetup()
    assert {
        await setting.attempt(("authorization", f"Bearer {number}")) for number in range(20)
    } == {401}
    token = ("authorization", f"Bearer {ISSUER.issue_token('ada')}")
    await setting.attempt_keys("a", "b", "c")
    assert [await setting.attempt(token), await setting.attempt(token, ("x-api-key", "d"))] == [
        "bearer:ada"
    ] * 2


@pytest.mark.parametrize(
    ("first", "second", "are_one"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("unix:", "", False),
    ],
)
async def test_an_ipv6_network_is_one_address(
    first: str,
    second: str,
    are_one: bool,  # noqa: FBT001 - a table
) -> None:
    """Its owner has all addresses of it."""
    setting = AttemptSetup()
    await setting.attempt_keys("a", "b", "c", client=first)
    assert await setting.attempt_keys("d", client=second) == [429 if are_one else 401]


async def test_attempts_may_be_unlimited() -> None:
    """A project can leave limits to another system."""
    setting = AttemptSetup(None, None)
    assert set(await setting.attempt_keys(*map(str, range(100)))) == {401}


async def test_attempts_are_limited_by_default() -> None:
    """By default attempts have a limit that honest clients never reach."""
    gate = AuthGate(ApiKeyAuthenticator({digest_key("good"): Identity("box")}))
    for number in range(10):
        with pytest.raises(ChallengeError):
            gate.admit(build_credentials(("x-api-key", str(number))))
    with pytest.raises(TooManyRequestsError):
        gate.admit(build_credentials(("x-api-key", "x")))


async def test_remembered_credentials_are_bounded() -> None:
    """The gate remembers a bounded number of credentials, whatever callers send."""
    limiter = FailedAttemptLimiter(RateLimit(3, 60), RateLimit(5, 60), FakeClock())
    for number in range(10_100):
        mark = number.to_bytes(4, "big")
        limiter.record_success(build_credentials(), mark)
        limiter.record_failure(
            build_credentials(client=f"192.0.{number // 250}.{number % 250}"), "", mark
        )
    assert (len(limiter._accepted), len(limiter._rejected)) == (10_000, 10_000)
