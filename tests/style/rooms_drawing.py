"""The rooms of the runtime, from the contract of imports and the docstrings of the packages.

    PYTHONPATH=tests python tests/style/rooms_drawing.py     # writes the pages

A page has the tables between two marks. The order is that of the layers in pyproject.toml.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

from style.density import CORE
from style.source_files import ROOT

PAGES = (ROOT / "docs" / "architecture.md", ROOT / "runtime" / "README.md")
BEGIN = "<!-- rooms: made from pyproject.toml by tests/style/rooms_drawing.py -->\n"
END = "<!-- /rooms -->"
RUNTIME = ROOT / "runtime" / "a2a_runtime"


def draw_rooms() -> str:
    """Draw the rooms from top to bottom, and the features."""
    lines = ["| room | core | what it is |", "|---|---|---|"]
    for rooms in read_layers():
        for room in rooms:
            mark = "core" if room in CORE else ""
            lines.append(f"| `{room}` | {mark} | {describe(room)} |")
    lines += ["", "| feature | what it adds |", "|---|---|"]
    for feature in list_features():
        lines.append(f"| `{feature}` | {describe(f'features/{feature}')} |")
    return "\n".join([*lines, ""])


def list_features() -> list[str]:
    """List the features: packages, and modules that stand alone."""
    folder = RUNTIME / "features"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}
    return sorted(packages | modules)


def read_layers() -> Iterator[list[str]]:
    """Read the rooms, those of one layer together."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["name"] == "Rooms of the runtime, top to bottom":
            for layer in contract["layers"]:
                yield re.split(r"\s*[:|]\s*", layer)


def describe(room: str) -> str:
    """Give the first sentence of a module or package."""
    module = RUNTIME / f"{room}.py"
    if not module.is_file():
        module = RUNTIME / room / "__init__.py"
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    summary = docstring.partition("\n\n")[0]
    return " ".join(summary.split()).replace("``", "`")


def page_with_rooms(text: str) -> str:
    """Put the tables into a page, between its marks."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}{draw_rooms()}{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the pages."""
    for page in PAGES:
        page.write_text(page_with_rooms(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
