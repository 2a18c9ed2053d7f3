"""What every kind of test shares: how many examples hypothesis tries, and the official SDKs as judges."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, settings
from peers.peer import Peer

from a2a_runtime.settings import PREFIX, Settings

# The same examples in every run, so that a failure in CI is one everywhere; `make soak` looks for new ones.
settings.register_profile("default", max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# What the machine of whoever runs the tests has set up for agents of theirs is nothing to ours.
for setting in fields(Settings):
    os.environ.pop(PREFIX + setting.name.upper(), None)


@pytest.fixture(scope="session")
def sdk_1_0() -> Iterator[Peer]:
    """The official SDK for A2A 1.0."""
    with Peer("a2a-sdk-1.3.0") as peer:
        yield peer


@pytest.fixture(scope="session")
def sdk_0_3() -> Iterator[Peer]:
    """The official SDK for A2A 0.3."""
    with Peer("a2a-sdk-0.3.26") as peer:
        yield peer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update`."""
    parser.addoption("--update", action="store_true", help="rewrite what the cases of the generator expect")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether to rewrite what is expected instead of comparing."""
    return bool(request.config.getoption("--update"))
