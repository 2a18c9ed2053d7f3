"""Sizes of the core and of every feature, for docs/what-an-agent-loads.md.

    PYTHONPATH=tests python tests/style/loaded_page.py     # writes the page

Sizes are tokens of code, as in ``density.py``. What the first block of the README loads is found by
running it, in a process of its own and an empty folder. What loads a room stands in its docstring:
"Loaded where …".
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from style.density import CORE, count, find_docstring_lines, name_room
from style.rooms_drawing import RUNTIME, list_features, read_layers
from style.source_files import ROOT, Source, sources

PAGE = ROOT / "docs" / "what-an-agent-loads.md"
BEGIN = "<!-- sizes: made from the code by tests/style/loaded_page.py -->\n"
END = "<!-- /sizes -->"
TOLERANCE = 0.1
"""A number of the page may differ from the code by this part."""

_NUMBER = re.compile(r"\d[\d,]*")
_PROGRAM = """
{code}
import sys
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "a2a_runtime" and getattr(module, "__file__", None):
        print(module.__file__)
"""


def page_with_sizes(text: str) -> str:
    """Put the tables into the page, between its marks."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}{draw_sizes()}{END}{rest.partition(END)[2]}"


def draw_sizes() -> str:
    """Draw what the ten lines load, and the size of everything else."""
    rooms = measure_rooms()
    core = sum((rooms[room] for room in CORE), Counter[str]())
    whole = sum(rooms.values(), Counter[str]())
    loaded = measure_ten_lines()
    total = sum(loaded.values(), Counter[str]())
    share = round(100 * total["tokens"] / whole["tokens"])
    summary = (
        f"The ten lines load {draw_size(total)}: {share} % of the runtime, which has "
        f"{draw_size(whole)}. The core has {draw_size(core)}."
    )
    lines = [
        summary,
        "",
        "| the ten lines load | modules | tokens |",
        "|---|--:|--:|",
    ]
    for room, size in sorted(loaded.items(), key=lambda each: -each[1]["tokens"]):
        if size["tokens"]:
            lines.append(f"| `{room}` | {size['modules']} | {to_text(size['tokens'])} |")
    lines += ["", "| beyond the core | loaded | modules | tokens |", "|---|---|--:|--:|"]
    for room in list_rooms():
        size = f"{rooms[room]['modules']} | {to_text(rooms[room]['tokens'])}"
        lines.append(f"| `{room}` | {find_reason(room)} | {size} |")
    return "\n".join([*lines, ""])


def list_rooms() -> list[str]:
    """List the rooms beyond the core, with each feature as one."""
    rooms = {room for layer in read_layers() for room in layer} - CORE - {"features", "testing"}
    return [*(f"features.{each}" for each in list_features()), *sorted(rooms)]


def find_reason(room: str) -> str:
    """Find the sentence of a docstring that names what loads a room; empty without one."""
    path = RUNTIME / room.replace(".", "/")
    module = path.with_suffix(".py")
    if not module.is_file():
        module = path / "__init__.py"
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    words = " ".join(docstring.split()).replace("``", "`")
    found = re.search(r"Loaded (.+?)\.(?: |$)", words)
    return "" if found is None else found[1]


def draw_size(size: Mapping[str, int]) -> str:
    """Write the size of several modules."""
    return f"{size['modules']} modules with {to_text(size['tokens'])} tokens of code"


def to_text(tokens: int) -> str:
    """Write a number of tokens, rounded to hundreds."""
    return f"{max(round(tokens, -2), 100):,}"


def measure_rooms() -> Mapping[str, Counter[str]]:
    """Measure the rooms of the runtime; a feature is a room."""
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for source in sources("runtime"):
        if "testing" not in source.path.parts:
            rooms[name_room(source.path)] += measure(source)
    return rooms


def measure_ten_lines() -> Mapping[str, Counter[str]]:
    """Measure what the first Python block of the README loads, by rooms."""
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    files = set(list_loaded_files())
    for source in sources("runtime"):
        if source.path.resolve() in files:
            rooms[name_room(source.path)] += measure(source)
    return rooms


def list_loaded_files() -> Iterator[Path]:
    """Run the block, and list the modules of the runtime that it has loaded."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block is not None, "README.md has no Python block"
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM.format(code=block[1])],
            check=True,
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=60,
        )
    yield from (Path(line).resolve() for line in done.stdout.splitlines())


def measure(source: Source) -> Counter[str]:
    """Measure a module."""
    return count(source, find_docstring_lines(source.tree))


def find_stale(page: str, now: str) -> list[str]:
    """List the lines that a page has not, or with numbers that are too far off; in any order."""
    before = {_NUMBER.sub("0", line): line for line in page.splitlines()}
    after = {_NUMBER.sub("0", line): line for line in now.splitlines()}
    removed = [line for words, line in before.items() if words not in after]
    return removed + [
        line for words, line in after.items() if not is_close(before.get(words, ""), line)
    ]


def is_close(old: str, new: str) -> bool:
    """Tell whether the numbers of two lines are close."""
    numbers = [
        [int(each.replace(",", "")) for each in _NUMBER.findall(line)] for line in (old, new)
    ]
    return bool(old or not new) and all(map(are_close, *numbers))


def are_close(old: int, new: int) -> bool:
    """Tell whether a number of the page is right enough."""
    slack = 200 if new >= 100 else 3
    return abs(old - new) <= max(TOLERANCE * new, slack)


def main() -> None:
    """Write the page, unless it is right enough: small changes of the code do not touch it."""
    text = PAGE.read_text(encoding="utf-8")
    page = page_with_sizes(text)
    if find_stale(text, page):
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
