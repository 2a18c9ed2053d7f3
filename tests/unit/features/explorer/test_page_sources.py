"""The page of the explorer: built from its sources, small, and made of modules that put no text of
agents into markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from a2a_runtime.features.explorer.build_page import SOURCES, PageError, build_page, sort_modules

MAX_BYTES = 400_000
MODULES = sorted(SOURCES.glob("*.js"))
_MARKUP = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment"
    r"|DOMParser|srcdoc|setHTMLUnsafe|eval|new Function)\b"
)
_IMPORTS = re.compile(r"^import \{ ([\w, ]+) \} from ", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?:export )?(?:async )?function\*? ?\*? ?(\w+).*?^}", re.MULTILINE | re.DOTALL
)


def test_the_page_is_small() -> None:
    """It has less than 400 kB."""
    assert len(build_page().encode()) < MAX_BYTES


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """One style and one script, both inline; no address of another place, no handler in an
    attribute.
    """
    page = build_page()
    assert (page.count("<script"), page.count("<style")) == (1, 1)
    frame = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r"\b(?:src|style|on\w+)=", frame) == []
    assert re.findall(r"url\(|@import", page) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_are_short_and_safe(path: Path) -> None:
    """A module has at most 400 lines and its functions 50; it imports what it uses, and never
    parses markup.
    """
    assert [*_find_problems(path.read_text(encoding="utf-8"))] == []


def _find_problems(text: str) -> Iterator[str]:
    if text.count("\n") > 400:
        yield f"{text.count(chr(10))} lines"
    for found in _FUNCTION.finditer(text):
        if found.group().count("\n") >= 50:
            yield f"{found[1]} has {found.group().count(chr(10)) + 1} lines"
    yield from (f"{found.group()} takes markup" for found in _MARKUP.finditer(text))
    for name in (name for found in _IMPORTS.finditer(text) for name in found[1].split(", ")):
        if len(re.findall(rf"\b{name}\b", text)) == 1:
            yield f"{name} is imported and not used"


@pytest.mark.parametrize(
    ("modules", "problem"),
    [
        ({"a": 'import { b } from "./b.js";\n'}, "a.js: imports b.js, which is not there"),
        (
            {"a": 'import { b } from "./b.js";\n', "b": 'import { a } from "./a.js";\n'},
            "modules import each other",
        ),
    ],
    ids=["missing", "circle"],
)
def test_modules_that_cannot_be_sorted_are_refused(modules: dict[str, str], problem: str) -> None:
    """An import of a missing module, or a circle of imports, is an error with its place."""
    with pytest.raises(PageError, match=re.escape(problem)):
        sort_modules(modules)


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        ('import * as b from "./b.js";\n', "a.js: 'import * as b from"),
        ("export default 1;\n", "a.js: 'export default 1;' is an import or export"),
        ('import { c } from "./b.js";\nc();\n', "a.js: b.js does not export c"),
        ('const text = "</script>";\n', "script: '</script' would end it"),
    ],
    ids=["namespace", "default", "unknown", "closing"],
)
def test_sources_that_cannot_be_joined_are_refused(
    tmp_path: Path, module: str, problem: str
) -> None:
    """Each import and export that joining does not know is an error with its place."""
    (tmp_path / "index.html").write_text(
        "<style>/* styles */</style><script>/* modules */</script>", encoding="utf-8"
    )
    (tmp_path / "a.js").write_text(module, encoding="utf-8")
    (tmp_path / "b.js").write_text("export const b = 1;\n", encoding="utf-8")
    with pytest.raises(PageError, match=re.escape(problem)):
        build_page(tmp_path)
