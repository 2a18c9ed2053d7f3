"""The garbage collector while an app runs, and after it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from integration.outcome_agent import build_test_agent
from litestar import Litestar
from litestar.testing import TestClient

from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.http.garbage_collection import GcTuningPlugin
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings

USUAL = 700, 10, 10


class Ring:
    """A cycle, which only the collector frees."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _usual_collector() -> Iterator[None]:
    """Begin and end with an untuned collector, whatever apps of other tests are running."""
    before = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(*USUAL)
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def build_app(settings: Settings | None = None) -> Litestar:
    """Build an app as a project does."""
    return create_app(build_test_agent(), settings=settings)


def build_host_app(*plugins: GcTuningPlugin, tune_gc: bool = True) -> Litestar:
    """Build an app of a host with an agent in it."""
    return Litestar(
        plugins=[
            A2APlugin(build_test_agent(), gate=OpenGate(), settings=Settings(tune_gc=tune_gc)),
            *plugins,
        ]
    )


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        pytest.param(build_app(), (True, True), id="of create_app"),
        pytest.param(
            build_app(Settings(tune_gc=False)), (False, False), id="of create_app, switched off"
        ),
        pytest.param(build_host_app(), (True, False), id="of a host"),
        pytest.param(build_host_app(tune_gc=False), (False, False), id="of a host, switched off"),
        pytest.param(
            build_host_app(GcTuningPlugin()), (True, True), id="of a host, with the plugin"
        ),
    ],
)
def test_the_collector_is_tuned_while_an_app_runs(
    app: Litestar, expected: tuple[bool, bool]
) -> None:
    """Objects that are there at start are frozen, and the collector of our own apps runs less
    often; after the app it is as before.
    """
    with TestClient(app):
        assert (gc.get_freeze_count() > 0, gc.get_threshold() != USUAL) == expected
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, USUAL)


def test_apps_that_come_and_go_leave_no_garbage_behind() -> None:
    """Frozen objects that became garbage while an app ran are collected after it."""
    gc.collect()
    gc.disable()
    try:
        ring = Ring()
        gone = weakref.ref(ring)
        with TestClient(build_app()):
            del ring
            gc.collect()
            assert gone() is not None
        gc.collect()
        assert gone() is None
    finally:
        gc.enable()


def test_new_cycles_are_collected_while_an_app_runs() -> None:
    """Garbage of handlers is found, since it was not frozen."""
    with TestClient(build_app()):
        gone = weakref.ref(Ring())
        gc.collect()
        assert gone() is None


def test_a_collector_that_is_tuned_already_is_left_alone() -> None:
    """A second app in the process, or one in a process that has tuned it, changes nothing, not even
    when it stops.
    """
    gc.freeze()
    gc.set_threshold(5000, 5, 5)
    frozen = gc.get_freeze_count()
    with TestClient(build_app()):
        assert (
            0 < gc.get_freeze_count() <= frozen
        )  # a frozen object is still freed with its last reference
        assert gc.get_threshold() == (5000, 5, 5)
    assert 0 < gc.get_freeze_count() <= frozen
    assert gc.get_threshold() == (5000, 5, 5)
