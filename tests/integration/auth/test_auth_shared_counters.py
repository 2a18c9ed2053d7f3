"""Rate limits that several processes count together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from conformance.security.guarded_apps import (
    ISSUER,
    AuthenticatedClient,
    build_gate,
    build_guarded_agent,
)
from integration.dialect_client import DialectBinding
from litestar.testing import TestClient

from a2a_contract.dialects import V1_0
from a2a_contract.operations import GET_TASK
from a2a_contract.v1_0 import GetTaskRequest
from a2a_runtime.app import create_app
from a2a_runtime.auth.rate_limit import ANY_OPERATION, RateLimit, RateLimiter, TooManyRequestsError
from a2a_runtime.stores.factory import create_store
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio

SENT = 400
ALLOWED = 150


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path}/tasks.db"


@pytest.fixture
async def pair(database: str) -> AsyncIterator[list[RateLimiter]]:
    """The rate limiters of two processes on one database."""
    async with AsyncExitStack() as stack:
        found = []
        for visits in (False, True):
            store = create_store(database, attach=visits)
            await store.open()
            stack.push_async_callback(store.close)
            found.append(
                RateLimiter({ANY_OPERATION: RateLimit(ALLOWED, 3600)}, shared=True).with_store(
                    store
                )
            )
        yield found


async def test_concurrent_requests_are_counted_exactly(pair: list[RateLimiter]) -> None:
    """However they are spread over processes."""

    async def is_let_in(number: int) -> bool:
        try:
            await pair[number % 2].check_operation("/agent", "ada", GET_TASK.name)
        except TooManyRequestsError:
            return False
        return True

    assert sum(await asyncio.gather(*map(is_let_in, range(SENT)))) == ALLOWED


def test_shared_limits_are_counted_in_the_store(tmp_path: Path) -> None:
    """An agent continues the count of the one before on the same file."""
    for expected in ([404, 404, 429], [429]):
        surface = Surface(
            build_guarded_agent(),
            gate=build_gate(),
            rate_limiter=RateLimiter({ANY_OPERATION: RateLimit(2, 3600)}, shared=True),
        )
        with TestClient(
            create_app(surface, store=f"sqlite:///{tmp_path}/tasks.db", settings=FAST_SETTINGS)
        ) as client:
            ada = AuthenticatedClient(
                client,
                DialectBinding(V1_0.name, is_jsonrpc=False),
                token=ISSUER.issue_token("ada", org="acme"),
            )
            assert [
                ada.call_raw(GET_TASK, GetTaskRequest(id="nope")).status_code for _ in expected
            ] == expected


def test_a_limiter_has_one_counter() -> None:
    """A counter of its own and the store exclude each other; a local limiter ignores the store."""
    rates = RateLimiter({})
    store = create_store("memory")
    with pytest.raises(ValueError, match="leave out count or shared=True"):
        RateLimiter({}, store.count, shared=True)
    assert rates.with_store(store) is rates
