"""Fixtures of the browser tests: one browser for a worker, one page for a test, and the servers
that pages are opened at.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from browser.chromium import BrowserThread, open_browser
from browser.explorer import Explorer, open_explorer, read_problems
from browser.servers import Agency, serve_show_agent

UPDATE_SCREENSHOTS = Path(__file__).parents[2] / "docs" / "explorer"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserThread]:
    """The browser of this worker."""
    with open_browser(tmp_path_factory.mktemp("chromium")) as thread:
        yield thread


@pytest.fixture(scope="module")
def agency() -> Iterator[Agency]:
    """The travel agency, served with the explorer in its app."""
    with serve_show_agent() as agent:
        yield agent


@pytest.fixture
def explorer(browser: BrowserThread) -> Iterator[Explorer]:
    """A page of its own, without cookies; it must end without an error of a script or of the
    policy.
    """
    opened = browser.run(lambda: open_explorer(browser.browser))
    yield opened
    problems = browser.run(lambda: read_problems(opened))
    browser.run(opened.page.context.close)
    assert problems == []


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests with a page in the thread of the browser."""
    thread = pyfuncitem.funcargs.get("browser")
    if not isinstance(thread, BrowserThread):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    thread.run(partial(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names}))
    return True
