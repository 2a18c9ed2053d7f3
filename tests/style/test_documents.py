"""References in documents: files, symbols and targets exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from style.lifecycle_drawing import PAGE, page_with_drawing
from style.source_files import ROOT

FOLDERS = ("docs", "codegen", "runtime", "schema", "tests", "bench", "examples")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
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
    mentioned = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE))
    assert {name for pair in mentioned for name in pair if name} <= targets


def test_the_life_of_a_task_is_drawn_from_its_table() -> None:
    """The drawing in the architecture page is what the table of states says; run tests/style/lifecycle_drawing.py to update it."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == page_with_drawing(text)
