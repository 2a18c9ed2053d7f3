"""The documentation site: it builds without a warning, every link in it leads somewhere, and its
search and references have what they should.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from peers.environments import interpreter
from style.agent_pages import list_commands, list_documents
from style.source_files import ROOT

pytestmark = [pytest.mark.peer, pytest.mark.slow]


class Page(HTMLParser):
    """Links, anchors and sources of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag leads to, loads or names."""
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in {"script", "img", "link"} and given.get("rel") != "canonical":
            self.loads.append(given.get("src") or given.get("href") or "")
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "docs/site/build.py", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """All pages, parsed."""
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def find_dead_links(pages: dict[Path, Page]) -> Iterator[str]:
    """Find links inside of the site without a page or an anchor."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            is_found = target.exists() and (
                not parts.fragment
                or target not in pages
                or unquote(parts.fragment) in pages[target].anchors
            )
            if not is_found:
                yield f"{path.name}: {link}"


def test_every_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    """To a page that exists, and to an anchor that the page has."""
    assert len(pages) > 40
    assert list(find_dead_links(pages)) == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    """Neither fonts nor scripts: a reader without a network sees the same."""
    assert {
        load for page in pages.values() for load in page.loads if urlsplit(load).netloc
    } == set()


def test_the_search_finds_every_page(site: Path) -> None:
    """Its index has all pages of the documentation."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {urlsplit(each["location"]).path for each in index["docs"]}
    listed = {
        f"docs/{path.partition('#')[0].removesuffix('.md')}.html"
        for _, _, path in list_documents()
        if not path.startswith("..") and path.endswith(".md")
    }
    assert listed - found == set()


def test_references_are_made_from_the_code(site: Path) -> None:
    """Every command with its options, and the Python API with its docstrings."""
    commands = (site / "docs" / "cli.html").read_text(encoding="utf-8")
    assert [name for name, _ in list_commands() if f"a2a-gen {name}" not in commands] == []
    assert "--forwarded-allow-ips" in commands
    api = (site / "docs" / "python.html").read_text(encoding="utf-8")
    assert [
        name
        for name in ("A2AClient", "SkillClient", "TaskContext", "ClientOptions", "run_agent")
        if f">{name}<" not in api and name not in api
    ] == []


@pytest.mark.soak
def test_a_dead_link_fails_the_build(site: Path, tmp_path: Path) -> None:
    """A link to a page that does not exist is refused before anything is published."""
    shutil.copytree(site.parent / "source", tmp_path / "source")
    shutil.copy(site.parent / "mkdocs.yml", tmp_path)
    with (tmp_path / "source" / "README.md").open("a") as page:
        page.write("\n[x](docs/lost.md)\n")
    command = [
        str(interpreter("docs-site")),
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(tmp_path / "mkdocs.yml"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "docs/lost.md" in done.stdout + done.stderr
