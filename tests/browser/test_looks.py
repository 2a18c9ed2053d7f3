"""The looks of the page: light, dark and narrow, for all readers.

With `--update` the pictures of the documentation are made.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.chromium import BrowserThread
from browser.explorer import NARROW, WIDE, Explorer, open_explorer, read_problems
from browser.servers import Agency
from playwright.sync_api import expect

IN_DOCUMENTS = frozenset(
    (
        "card-light.png",
        "try-light.png",
        "try-dark.png",
        "tasks-light.png",
        "wire-dark.png",
        "watch-narrow.png",
    )
)
PICTURES = Path(__file__).parents[2] / "docs" / "explorer"
MAX_PICTURE_BYTES = 150_000
MOVE = (
    "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', "
    "{bubbles: true})); }"
)


@pytest.mark.parametrize(
    ("look", "size", "scheme"),
    [("light", WIDE, "light"), ("dark", WIDE, "dark"), ("narrow", NARROW, "light")],
    ids=["light", "dark", "narrow"],
)
def test_each_area_is_for_all_readers(
    browser: BrowserThread,
    agency: Agency,
    look: str,
    size: tuple[int, int],
    scheme: str,
    *,
    update: bool,
) -> None:
    """Axe finds nothing in any area, nothing is wider than the screen; the pictures are of here."""
    explorer = open_explorer(browser.browser, size, scheme)
    try:
        explorer.open(agency.page)
        for area in ("Card", "Try", "Watch", "Tasks", "Wire", "Sign in"):
            _fill(explorer, area)
            assert explorer.find_accessibility_problems() == [], area
            assert explorer.page.evaluate("document.documentElement.scrollWidth") <= size[0], area
            if update and (picture := f"{area.lower()}-{look}.png") in IN_DOCUMENTS:
                _take_picture(explorer, picture)
    finally:
        explorer.page.context.close()
    assert read_problems(explorer) == []


def _fill(explorer: Explorer, area: str) -> None:
    """Show something in an area."""
    panel = explorer.show(area)
    if area == "Try":
        panel.get_by_label("Destination").fill("Lisbon")
        panel.get_by_role("textbox", name="Name", exact=True).fill("Ada")
        explorer.submit()
        explorer.expect_state("Completed")
        if explorer.page.locator("#view-try").is_visible():
            explorer.watch.locator("summary", has_text="result").click()
        else:
            explorer.show("Try")
    elif area == "Watch":
        if panel.locator("details", has_text="result").first.get_attribute("open") is not None:
            panel.locator("summary", has_text="result").click()
        panel.locator(".event", has_text="Planning day 2").click()
        expect(panel.locator(".event-detail")).not_to_be_empty()
    elif area == "Tasks":
        panel.locator(".task-row").first.click()
        panel.locator(".task-detail summary", has_text="result").click()
        panel.get_by_label("The task as it was").evaluate(MOVE, 9)
    elif area == "Wire":
        panel.locator(".wire-row", has_text="SendStreamingMessage").click()
        expect(panel.locator(".exchange")).to_contain_text("Answer")
    explorer.page.evaluate("window.scrollTo(0, 0)")


def _take_picture(explorer: Explorer, name: str) -> None:
    path = PICTURES / name
    explorer.page.screenshot(path=path, animations="disabled")
    assert path.stat().st_size < MAX_PICTURE_BYTES, f"{name}: {path.stat().st_size} bytes"
