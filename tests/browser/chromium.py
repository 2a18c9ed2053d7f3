"""Chromium for the tests of the page: the one of the machine, or that of the peers, driven by
Playwright in a thread of its own.

Playwright's synchronous interface keeps an event loop in its thread. Other tests of a worker run
loops of their own, so the browser has its own thread, and the tests of this folder run there.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from peers.environments import environment
from playwright.sync_api import Browser, Playwright, sync_playwright

PEER = "browser-153.0.0"
DEADLINE_MILLISECONDS = 30_000
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = (
    "--no-sandbox",
    "--headless=shell",
    "--disable-gpu",
    "--hide-scrollbars",
    "--font-render-hinting=none",
)
_FONTS = """<?xml version="1.0"?>
<fontconfig>
  {folders}
  <cachedir>{cache}</cachedir>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""

T = TypeVar("T")


@dataclass
class BrowserThread:
    """A browser and the thread that it belongs to."""

    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "browser"))
    _playwright: Playwright | None = None
    _browser: Browser | None = None

    def run(self, function: Callable[[], T]) -> T:
        """Run a function in the thread of the browser."""
        return self._pool.submit(function).result()

    @property
    def browser(self) -> Browser:
        """The browser, for functions in its thread."""
        assert self._browser is not None, "the browser has not been started"
        return self._browser

    def start(self, fonts: Path) -> None:
        """Start the browser; in its thread."""
        self._playwright = sync_playwright().start()
        path, variables = find_chromium(fonts)
        self._browser = self._playwright.chromium.launch(
            executable_path=path, args=[*_ARGUMENTS], env=variables, timeout=DEADLINE_MILLISECONDS
        )

    def stop(self) -> None:
        """Stop it; in its thread."""
        if self._browser is not None:
            self._browser.close()
        if self._playwright is not None:
            self._playwright.stop()

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


@contextmanager
def open_browser(folder: Path) -> Iterator[BrowserThread]:
    """Start a browser that keeps its files in a folder."""
    thread = BrowserThread()
    try:
        thread.run(lambda: thread.start(folder))
        yield thread
    finally:
        thread.run(thread.stop)
        thread.close()


def find_chromium(folder: Path) -> tuple[str, dict[str, str | float | bool]]:
    """Find an executable, with the environment that it needs."""
    peer = environment(PEER)
    if not (peer.folder / ".installed").exists():
        found = next((path for name in _NAMES if (path := shutil.which(name))), None)
        if found is not None:
            return found, {}
    home = peer.interpreter.parent
    binaries = home / "chromium" / "package" / "bin"
    folders = (binaries / "fonts" / "fonts", home / "dejavu-fonts-ttf" / "package" / "ttf")
    fonts = folder / "fonts.conf"
    fonts.write_text(
        _FONTS.format(
            folders="".join(f"<dir>{each}</dir>" for each in folders), cache=folder / "fonts"
        ),
        encoding="utf-8",
    )
    return str(binaries / "chromium"), {
        "LD_LIBRARY_PATH": str(binaries / "al2023" / "lib"),
        "FONTCONFIG_FILE": str(fonts),
        "HOME": str(folder),
    }


def read_axe() -> str:
    """Read the accessibility checker that runs in the page."""
    return (environment(PEER).interpreter.parent / "axe-core" / "package" / "axe.min.js").read_text(
        encoding="utf-8"
    )
