"""Fixtures and settings of all tests: hypothesis profiles, budgets, official SDKs, and a PostgreSQL
for each worker.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import fields

import pytest
from budgets import Budgets, read
from hypothesis import HealthCheck, settings
from imported_modules import forget_modules_below
from peers.peer import Peer
from soak_shares import PROFILE, Soak, is_soak, read_shares

from a2a_runtime.settings import PREFIX, Settings
from a2a_runtime.testing.postgres import postgres_databases, postgres_url

# The same examples in every run, so that a failure in CI is one everywhere; `make soak` looks for
# new ones. The loaded modules matter too: hypothesis sometimes uses a constant of the code.
settings.register_profile(
    "default",
    max_examples=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    PROFILE,
    max_examples=1000,
    derandomize=False,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Settings for agents on the developer's machine do not apply to the agents of the tests.
for setting in fields(Settings):
    os.environ.pop(PREFIX + setting.name.upper(), None)

# Tests start programs beside gRPC servers of the same process, whose fork handlers would run in the
# child and can end it before its program begins.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


_LOGGERS = ("a2a_runtime", "uvicorn")

# A run in the background of a script ignores interrupts, and so would the processes that tests
# start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    parser.addoption(
        "--update", action="store_true", help="rewrite what the cases of the generator expect"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use one worker more than cores: tests wait for servers, databases and other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Add up what suites take, in the process that hears of every test."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Budgets(config, read()), "budgets")
    if is_soak():
        config.pluginmanager.register(Soak(config, read_shares()), "soak")


@pytest.fixture(scope="module", autouse=True)
def forget_modules_of_temporary_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget what a file of tests has imported from its folders: the next one may have another
    ``handlers.py``.
    """
    paths = [*sys.path]
    loaded = {*sys.modules}
    folder = tmp_path_factory.getbasetemp()
    yield
    sys.path[:] = [each for each in sys.path if each in paths or not each.startswith(str(folder))]
    forget_modules_below(folder, kept=loaded)


@pytest.fixture(autouse=True)
def restore_the_process() -> Iterator[None]:
    """Restore the environment and the loggers, which commands change that run in the process of the
    tests.
    """
    environment = dict(os.environ)
    loggers = [
        (each, [*each.handlers], each.propagate, each.level)
        for each in map(logging.getLogger, _LOGGERS)
    ]
    yield
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    for logger, handlers, propagate, level in loggers:
        logger.handlers[:] = handlers
        logger.propagate = propagate
        logger.setLevel(level)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Return whether expected outputs are rewritten instead of compared."""
    return bool(request.config.getoption("--update"))


__all__ = ["postgres_databases", "postgres_url", "sdk_0_3", "sdk_1_0", "update"]
