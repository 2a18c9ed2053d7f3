"""References in documents: files, symbols and targets exist."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from style.lifecycle_drawing import PAGE, page_with_drawing
from style.rooms_drawing import PAGES as PAGES_WITH_ROOMS
from style.rooms_drawing import page_with_rooms
from style.source_files import ROOT

from a2a_contract.config_schema import check_values

FOLDERS = ("docs", "codegen", "runtime", "schema", "tests", "bench", "examples")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
)
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_TOML = [path for path in DOCUMENTS if BLOCK.search(path.read_text(encoding="utf-8"))]
PROJECT = json.loads((ROOT / "schema" / "meta" / "project.schema.json").read_bytes())
TARGET = re.compile(r"^([a-z-]+):.*## ", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    """Every relative link of a document leads to a file that exists."""
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_exist(document: Path) -> None:
    """Every `make something` of a document is a target with a help text."""
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    mentioned = set(
        re.findall(
            r"`make ([a-z-]+)`|^make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert {name for pair in mentioned for name in pair if name} <= targets


@pytest.mark.parametrize("document", WITH_TOML, ids=lambda path: str(path.relative_to(ROOT)))
def test_settings_of_documents_exist(document: Path) -> None:
    """A block of an a2a.toml has no key that would be refused; what it leaves out stands
    elsewhere.
    """
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        data = tomllib.loads(block.replace("…", "x"))
        known = data.keys() & PROJECT["properties"].keys()
        problems = [str(each) for each in check_values({key: data[key] for key in known}, PROJECT)]
        assert [each for each in problems if "unknown" in each] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tables_of_documents_exist(document: Path) -> None:
    """Each table that a sentence puts something under is one of a project file."""
    places = re.findall(
        r"under `\[+([a-z_]+)(?:\.([a-z_]+))?\]+`", document.read_text(encoding="utf-8")
    )
    members = {table: find_members(PROJECT["properties"].get(table, {})) for table, _ in places}
    others = {"compat", "tool"}
    unknown = [
        f"{table}.{member}"
        for table, member in places
        if member and table not in others and member not in members[table]
    ]
    assert [
        table for table, _ in places if table not in PROJECT["properties"] and table not in others
    ] == []
    assert unknown == []


def find_members(schema: dict[str, Any]) -> set[str]:
    """Find the keys of a table, which may stand behind a reference."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return {*PROJECT["$defs"].get(name, schema).get("properties", ())}


def test_drawings_need_no_script() -> None:
    """The site loads nothing from elsewhere, so it would print the source of a diagram in another
    language.
    """
    assert [
        str(each.relative_to(ROOT))
        for each in DOCUMENTS
        if "```mermaid" in each.read_text(encoding="utf-8")
    ] == []


def test_the_index_lists_a_page_once() -> None:
    """A second row for the same pages hides which one is complete."""
    rows = re.findall(
        r"^\| ([^|]+?)[:\]]",
        (ROOT / "docs" / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [row for row, number in Counter(rows).items() if number > 1] == []


def test_the_life_of_a_task_is_drawn_from_its_table() -> None:
    """The drawing in the architecture page is what the table of states says; run
    tests/style/lifecycle_drawing.py to update it.
    """
    text = PAGE.read_text(encoding="utf-8")
    assert text == page_with_drawing(text)


@pytest.mark.parametrize("page", PAGES_WITH_ROOMS, ids=lambda page: page.parent.name)
def test_the_tables_of_rooms_are_made_from_the_contract_of_imports(page: Path) -> None:
    """The order is that of the layers, the sentences are those of the packages.

    `make build` updates them.
    """
    text = page.read_text(encoding="utf-8")
    assert text == page_with_rooms(text)
