"""The drawing of a task's life, made from the table of states."""

from __future__ import annotations

import json
from pathlib import Path

from style.source_files import ROOT

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- lifecycle: made from schema/lifecycle.json by tests/style/lifecycle_drawing.py -->\n", "<!-- /lifecycle -->"


def draw_lifecycle(table: Path = ROOT / "schema" / "lifecycle.json") -> str:
    """Draw the states in boxes by their kind, and the steps between the boxes, as a Mermaid diagram."""
    data = json.loads(table.read_bytes())
    kinds = {state["name"]: state["kind"] for state in data["states"]}
    steps = dict.fromkeys((state["kind"], kinds[name]) for state in data["states"] for name in state["next"] if kinds[name] != state["kind"])
    final = dict.fromkeys(state["kind"] for state in data["states"] if not state["next"])
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {data['initial']}"]
    for kind in dict.fromkeys(kinds.values()):
        lines += [f"    state {kind} {{", *(f"        {name}" for name, each in kinds.items() if each == kind), "    }"]
    lines += [f"    {old} --> {new}" for old, new in steps]
    return "\n".join([*lines, *(f"    {kind} --> [*]" for kind in final), "```", ""])


def page_with_drawing(text: str) -> str:
    """Put the drawing into a page, between its marks."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}{draw_lifecycle()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_drawing(PAGE.read_text()))
