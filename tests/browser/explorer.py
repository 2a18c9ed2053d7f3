"""The page as its readers see it: areas, fields and buttons by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from browser.chromium import DEADLINE_MILLISECONDS, read_axe
from playwright.sync_api import Browser, Dialog, Locator, Page, Request, expect

WIDE = (1360, 900)
NARROW = (390, 844)
expect.set_options(timeout=DEADLINE_MILLISECONDS)


@dataclass
class Explorer:
    """An open page."""

    page: Page
    problems: list[str] = field(default_factory=list)
    """Errors of scripts, violations of the policy, and requests to other places."""
    _url: str = ""

    def open(self, url: str) -> None:
        """Open the explorer at an address, and wait for the card."""
        self._url = url
        self.page.goto(url)
        expect(self.page.get_by_role("tab", name="Card")).to_be_visible()

    def show(self, area: str) -> Locator:
        """Show an area, and return its panel."""
        self.page.get_by_role("tab", name=area, exact=True).click()
        return self.page.get_by_role("tabpanel", name=area, exact=True)

    def choose_skill(self, skill: str) -> Locator:
        """Choose a skill in Try, and return the form."""
        panel = self.show("Try")
        panel.get_by_label("Skill", exact=True).select_option(label=skill)
        return panel

    def send(self, skill: str, text: str) -> Locator:
        """Send a text to a skill, and return the panel where it is watched."""
        self.choose_skill(skill).get_by_role("textbox", name="Message", exact=True).fill(text)
        return self.submit()

    def submit(self) -> Locator:
        """Send the message, and return the panel where it is watched."""
        self.page.get_by_role("button", name="Send", exact=True).click()
        return self.watch

    @property
    def watch(self) -> Locator:
        """The panel of the run."""
        return self.page.locator("#view-watch")

    def expect_state(self, state: str) -> None:
        """Wait until the watched task has a state."""
        expect(self.watch.locator(".task-head .state")).to_have_text(state)

    def find_accessibility_problems(self) -> list[str]:
        """Let axe look for what readers with a screen reader, a keyboard or weak eyes cannot
        use.
        """
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(read_axe())
        found: Mapping[str, Any] = self.page.evaluate(
            "axe.run(document, {resultTypes: ['violations']})"
        )
        return [
            f"{each['id']}: {each['help']}: {node['html'][:200]}"
            for each in found["violations"]
            for node in each["nodes"]
        ]

    def note_request(self, request: Request) -> None:
        """Note a request to any other place than that of the page."""
        if self._url and not request.url.startswith(
            ("blob:", "data:", "about:", "/".join(self._url.split("/")[:3]) + "/")
        ):
            self.problems.append(f"request: {request.url}")

    def note_dialog(self, dialog: Dialog) -> None:
        """Note a dialog: the page has none of its own."""
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def open_explorer(
    browser: Browser, size: tuple[int, int] = WIDE, scheme: str = "light"
) -> Explorer:
    """Open an empty page; in the thread of the browser."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if scheme == "dark" else "light",
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
        accept_downloads=True,
    )
    context.set_default_timeout(DEADLINE_MILLISECONDS)
    explorer = Explorer(context.new_page())
    page = explorer.page
    page.on("pageerror", lambda error: explorer.problems.append(f"script: {error}"))
    page.on(
        "console",
        lambda message: (
            explorer.problems.append(f"console: {message.text}")
            if is_problem(message.type, message.text)
            else None
        ),
    )
    page.on("request", explorer.note_request)
    page.on("dialog", explorer.note_dialog)
    return explorer


def is_problem(kind: str, text: str) -> bool:
    """Tell whether a line of the console is an error of the page; an error status of a request is
    none.
    """
    return kind == "error" and "Failed to load resource: the server responded" not in text


def read_problems(explorer: Explorer) -> list[str]:
    """Read what went wrong in a page."""
    return explorer.problems
