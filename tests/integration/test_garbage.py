"""Python's garbage collector while an app runs, and after it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from integration.serving import build_test_agent
from litestar import Litestar
from litestar.testing import TestClient

from a2a_runtime.app import create_app
from a2a_runtime.plugin import A2APlugin, GcTuningPlugin
from a2a_runtime.settings import Settings

USUAL = 700, 10, 10


class Ring:
    """Something that only the collector frees."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _usual_collector() -> Iterator[None]:
    """Begin and end with a collector that nobody has set, whatever apps of other tests are running."""
    before = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(*USUAL)
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def made_app(settings: Settings | None = None) -> Litestar:
    """Make an app as a project does."""
    return create_app(build_test_agent(), settings=settings)


def hosting_app(*plugins: GcTuningPlugin) -> Litestar:
    """Make somebody's own app with an agent in it."""
    return Litestar(plugins=[A2APlugin(build_test_agent()), *plugins])


@pytest.mark.parametrize(
    ("app", "is_steady"),
    [
        pytest.param(made_app(), True, id="of create_app"),
        pytest.param(made_app(Settings(tune_gc=False)), False, id="of create_app, switched off"),
        pytest.param(hosting_app(), False, id="somebody's own"),
        pytest.param(hosting_app(GcTuningPlugin()), True, id="somebody's own that asks for it"),
    ],
)
def test_the_collector_is_set_for_apps_of_ours_while_they_run(app: Litestar, is_steady: bool) -> None:  # noqa: FBT001 - a row of a table
    """An app of ours takes what was there at start out of the collector's sight, and leaves the collector as it was."""
    with TestClient(app):
        assert (gc.get_freeze_count() > 0) is is_steady
        assert (gc.get_threshold() != USUAL) is is_steady
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, USUAL)


def test_apps_that_come_and_go_leave_no_garbage_behind() -> None:
    """What was garbage while an app ran is collected after it, although it was there when the app started."""
    gc.collect()
    gc.disable()
    try:
        ring = Ring()
        gone = weakref.ref(ring)
        with TestClient(made_app()):
            del ring
            gc.collect()
            assert gone() is not None
        gc.collect()
        assert gone() is None
    finally:
        gc.enable()


def test_what_handlers_leave_in_cycles_is_collected_while_an_app_runs() -> None:
    """The collector goes on: what comes after the start is found."""
    with TestClient(made_app()):
        gone = weakref.ref(Ring())
        gc.collect()
        assert gone() is None


def test_an_app_leaves_a_collector_alone_that_somebody_else_has_set() -> None:
    """A second app in the process, or one in a process that has seen to it, changes nothing, not even when it stops."""
    gc.freeze()
    gc.set_threshold(5000, 5, 5)
    frozen = gc.get_freeze_count()
    with TestClient(made_app()):
        assert 0 < gc.get_freeze_count() <= frozen  # what is frozen may still be let go by its last reference
        assert gc.get_threshold() == (5000, 5, 5)
    assert 0 < gc.get_freeze_count() <= frozen
    assert gc.get_threshold() == (5000, 5, 5)
